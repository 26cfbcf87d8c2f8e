"""Tables of the catalog in FROM: scan, computed columns and watermark; also views."""

from __future__ import annotations

from sqlglot import exp

from millrace.common.similar_names import did_you_mean
from millrace.expressions.resolved import FieldReference, ResolvedExpression, SqlPosition
from millrace.planner.binder.context import BindingContext, CommonTables
from millrace.planner.binder.errors import SqlValidationError
from millrace.planner.binder.hints import table_options
from millrace.planner.catalog_reader import NameKind, ResolvedTable, ResolvedView
from millrace.planner.relational.rel_node import Project, RelNode, TableScan
from millrace.planner.relational.stream_rel_nodes import WatermarkAssigner

__all__ = ["bind_table", "path_of", "renamed", "table_rows"]


def path_of(node: exp.Table) -> tuple[str, ...]:
    """Name of a table, in the parts that the query writes."""
    return tuple(part.name for part in node.parts)


def bind_table(context: BindingContext, node: exp.Table, common: CommonTables) -> RelNode:
    """The rows of a table, of a view or of a query in WITH.

    Raises:
        SqlValidationError: no table has this name.
    """
    path = path_of(node)
    if len(path) == 1 and path[0] in common:
        return common[path[0]]
    table = context.catalog.resolve_table(path)
    if table is None:
        known = [*common, *context.catalog.names(NameKind.TABLE)]
        hint = did_you_mean(path[-1], known)
        raise context.refusal(node, f"there is no table or view called {'.'.join(path)!r}{hint}")
    if isinstance(table, ResolvedView):
        return _view(context, node, table)
    return table_rows(table, table_options(context, node), context.place(node))


def table_rows(
    table: ResolvedTable,
    options: tuple[tuple[str, str], ...] = (),
    place: SqlPosition | None = None,
) -> RelNode:
    """All columns of a table: physical and computed ones, and its watermark.

    Args:
        options: options of an OPTIONS hint.
        place: position of the table in a statement.
    """
    rows: RelNode = TableScan(table.path, table, table.scan_type, options, place=place)
    if any(column.expression is not None for column in table.columns):
        positions = {name: i for i, name in enumerate(table.scan_type.names)}
        expressions: list[ResolvedExpression] = [
            column.expression or FieldReference(positions[column.name], column.type, column.name)
            for column in table.columns
        ]
        rows = Project(rows, tuple(expressions), table.row_type.names)
    if table.watermark is not None:
        rows = WatermarkAssigner(rows, table.watermark.rowtime, table.watermark.expression)
    return rows


def _view(context: BindingContext, node: exp.Expr, view: ResolvedView) -> RelNode:
    query = view.query
    if isinstance(query, str):
        try:
            query = context.bind_view(query, view.catalog or context.catalog)
        except SqlValidationError as error:
            reason = f"the view {'.'.join(view.path)} is no longer valid: {error.reason}"
            raise context.refusal(node, reason) from None
    return renamed(query, view.names) if view.names else query


def renamed(rows: RelNode, names: tuple[str, ...]) -> RelNode:
    """The same rows under other column names."""
    if rows.row_type.names == names:
        return rows
    fields = tuple(rows.field(index) for index in range(len(rows.row_type)))
    return Project(rows, fields, names)
