"""`show`: the rows of a query below a cell, drawn again as they change."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import MillraceError
from millrace.common.types.row import RowKind
from millrace.notebook.output_area import OutputArea
from millrace.table.html_table import MOST_ROWS, html_rows, html_table
from millrace.table.materialized_rows import MaterializedRows
from millrace.table.table import Table
from millrace.table.table_picture import ends
from millrace.table.table_result import TableResult

__all__ = ["display_table", "show", "show_result"]

_MOST_KEPT = 1_000_000
"""Number of rows of a query that are kept, as in Flink's SQL client."""


def show(table: Any) -> None:
    """Run a query, and show its last rows until it ends. Interrupting the kernel cancels it.

    Args:
        table: a `Table`, or the `TableResult` of a query.
    """
    show_result(table if isinstance(table, TableResult) else table.execute())


def display_table(table: Table) -> None:
    """Show a table at the end of a cell: its first rows if it is bounded, else the last rows,
    refreshed."""
    if ends(table.node):
        OutputArea(table._repr_html_())
    else:
        show(table)


def show_result(result: TableResult) -> None:
    """Show the rows of a result. If the statement started no job, they are shown immediately."""
    if result.get_job_client() is None:
        OutputArea(result._repr_html_() or "")
        return
    picture = _Picture(result)
    left = MaterializedRows(_MOST_KEPT)
    area = OutputArea(picture.html(left, "waits for rows"))
    try:
        with result.collect() as rows:
            for row in rows:
                left.add(row)
                # between both halves of an update the table is not what it ever was
                if area.is_due() and row.get_row_kind() is not RowKind.UPDATE_BEFORE:
                    area.draw(picture.html(left, "so far; interrupt the kernel to end it"))
    except KeyboardInterrupt:
        area.draw(picture.html(left, "when the query was cancelled"))
        return
    except MillraceError:
        area.draw(picture.html(left, "when the query failed"))
        raise
    area.draw(picture.html(left, "in the end"))


class _Picture:
    """The last rows of a result."""

    def __init__(self, result: TableResult) -> None:
        self._type = result.get_table_schema().to_row_data_type()
        self._time_zone = result.time_zone

    def html(self, rows: MaterializedRows, when: str) -> str:
        shown = html_rows(rows.last(MOST_ROWS), self._type, self._time_zone)
        last = f", the last {MOST_ROWS} of them here" if len(rows) > MOST_ROWS else ""
        note = f"{len(rows)} {'row' if len(rows) == 1 else 'rows'} {when}{last}"
        types = [str(field.type) for field in self._type.fields]
        return html_table(self._type.names, shown, note, types)
