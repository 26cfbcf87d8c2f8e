"""`TablePicture`: display of a query in a notebook, as an HTML table of its first rows."""

from __future__ import annotations

from millrace.planner.relational.rel_node import RelNode, TableScan
from millrace.table.html_table import MOST_ROWS, html_rows, html_table
from millrace.table.operation_tree_builder import OperationTreeBuilder
from millrace.table.table_session import TableSession
from millrace.table_runtime.row_text import python_rows

__all__ = ["TablePicture", "ends"]


class TablePicture:
    """A query that a notebook displays: the first rows of a bounded query, which runs for this,
    or a note for a stream."""

    _session: TableSession
    node: RelNode

    def _repr_html_(self) -> str:
        row_type = self.node.row_type
        types = [str(field.type) for field in row_type.fields]
        if not ends(self.node):
            note = "a stream: millrace.notebook.show(table) draws its rows as they come"
            return html_table(row_type.names, [], note, types)
        first = OperationTreeBuilder(self._session, self.node).limit(0, MOST_ROWS + 1)
        arrow_table = self._session.collect(first).to_arrow()
        [batch] = arrow_table.combine_chunks().to_batches() or [None]
        rows = [] if batch is None else python_rows(batch, None, row_type)
        shown = html_rows(rows[:MOST_ROWS], row_type, self._session.config.get_local_timezone())
        count = len(shown)
        note = f"{count} row{'' if count == 1 else 's'}"
        if len(rows) > MOST_ROWS:
            note = f"the first {count} rows; to_pandas() has all"
        return html_table(row_type.names, shown, note, types)


def ends(node: RelNode) -> bool:
    """Whether all tables that a query reads are bounded, so that the query ends."""
    if isinstance(node, TableScan):
        return bool(node.table.bounded)
    return all(map(ends, node.inputs))
