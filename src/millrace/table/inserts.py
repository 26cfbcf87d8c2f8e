"""Sinks of queries that are written to tables: columns, casts and static partitions.

Semantics: Flink docs, "INSERT Statement".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from millrace.common.types.logical.logical_type import LogicalType, NullType, VarCharType
from millrace.expressions.parameters import implicit_cast
from millrace.expressions.resolved import Cast, ResolvedExpression, ValueLiteral
from millrace.planner.catalog_reader import ColumnKind, NameKind, ResolvedTable, ResolvedView
from millrace.planner.relational.rel_node import Project, RelNode
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.sql.position import StatementPosition
from millrace.sql.statements import Insert
from millrace.table.catalog.errors import CatalogError, not_found
from millrace.table.catalog.object_path import parts_of
from millrace.table.schema import Schema, UnresolvedColumn
from millrace.table.table_descriptor import TableDescriptor, described_table
from millrace.table.table_session import TableSession

__all__ = ["arranged", "insert_sink", "literal_text", "sink_of", "sink_to", "written_table"]


def insert_sink(session: TableSession, statement: Insert) -> LogicalSink:
    """The sink of an INSERT.

    Raises:
        CatalogError: there is no such table or column, or types do not fit.
    """
    node = session.bind_query(statement.query, statement.text)
    table = written_table(session, statement.path)
    static = {
        name: literal_text(value)
        for name, value in statement.partition.items()
        if value is not None
    }
    columns = [".".join(path) for path in statement.columns]
    at = statement.position
    return LogicalSink(
        arranged(node, table, columns, static),
        table,
        tuple(statement.hints.items()),
        statement.overwrite,
        tuple(static.items()),
        place=None if at is None else StatementPosition(statement.text, at),
    )


def sink_of(
    session: TableSession,
    path: tuple[str, ...],
    node: RelNode,
    overwrite: bool = False,
    columns: Sequence[str] = (),
) -> LogicalSink:
    """The sink of a query that writes to a table: to some columns, or to all by position."""
    table = written_table(session, path)
    return LogicalSink(arranged(node, table, columns, {}), table, overwrite=overwrite)


def sink_to(
    session: TableSession,
    target: str | TableDescriptor,
    node: RelNode,
    overwrite: bool = False,
) -> LogicalSink:
    """The sink of a query that writes to a named table or to a table descriptor. A descriptor
    without columns gets the columns of the query."""
    if isinstance(target, str):
        return sink_of(session, parts_of(target), node, overwrite)
    described = described_table(_with_columns(target, node))
    table = session.resolved((session.anonymous_name("sink"),), described)
    return LogicalSink(arranged(node, table, (), {}), table, overwrite=overwrite)


def _with_columns(descriptor: TableDescriptor, node: RelNode) -> TableDescriptor:
    schema = descriptor.schema or Schema()
    if any(column.kind is ColumnKind.PHYSICAL for column in schema.columns):
        return descriptor
    columns = tuple(
        UnresolvedColumn(field.name, ColumnKind.PHYSICAL, field.type)
        for field in node.row_type.fields
    )
    return replace(descriptor, schema=replace(schema, columns=(*columns, *schema.columns)))


def written_table(session: TableSession, path: tuple[str, ...]) -> ResolvedTable:
    """The table with the given name, to which rows are written.

    Raises:
        CatalogError: the table does not exist, or is a view.
    """
    table = session.reader.resolve_table(path)
    if isinstance(table, ResolvedView):
        raise CatalogError(f"{'.'.join(path)} is a view: rows can be inserted into tables only")
    if not isinstance(table, ResolvedTable):
        raise not_found("table", ".".join(path), session.reader.names(NameKind.TABLE))
    return table


def literal_text(value: exp.Expr) -> str:
    """The literal of a partition as text: a number with its sign."""
    return f"-{value.this.name}" if isinstance(value, exp.Neg) else str(value.name)


def arranged(
    node: RelNode, table: ResolvedTable, columns: Sequence[str], static: dict[str, str]
) -> RelNode:
    """The rows with exactly the columns of the sink, in the sink's order and types.

    Raises:
        CatalogError: a type does not fit, or a column gets nothing or two values.
    """
    wanted = table.sink_type
    for name in (*columns, *static):
        if name not in wanted.names:
            raise not_found("column", name, wanted.names)
    twice = [name for place, name in enumerate(columns) if name in columns[:place]]
    if twice:
        raise CatalogError(f"the column {twice[0]!r} is written more than once", table.path[-1])
    given = list(columns) or [name for name in wanted.names if name not in static]
    if len(given) != len(node.row_type):
        number = f"{len(node.row_type)} column{'s' * (len(node.row_type) != 1)}"
        advice = (
            "name the columns that it fills behind the table, or give a value for each column of"
        )
        raise _misfit(node, table, f"{number} for {len(given)}", advice)
    made: list[ResolvedExpression] = []
    for field in wanted.fields:
        if field.name in given:
            source: ResolvedExpression = node.field(given.index(field.name))
        elif field.name in static:
            text = static[field.name]
            source = ValueLiteral(text, LITERAL)
        else:
            if not field.type.is_nullable:
                why = f"no value for {field.name}, which is NOT NULL"
                raise _misfit(node, table, why, "give a value for each such column of")
            source = ValueLiteral(None, field.type)
        made.append(_as(source, field.type, field.name, node, table, field.name in static))
    if [str(expression) for expression in made] == [
        str(node.field(i)) for i in range(len(node.row_type))
    ] and (len(made) == len(node.row_type)):
        return node
    return Project(node, tuple(made), wanted.names)


def _as(
    source: ResolvedExpression,
    kind: LogicalType,
    name: str,
    node: RelNode,
    table: ResolvedTable,
    any_cast: bool,
) -> ResolvedExpression:
    given = source.output_type
    if given.with_nullable(True) == kind.with_nullable(True):
        return source
    if isinstance(given, NullType):
        return ValueLiteral(None, kind.with_nullable(True))
    if not any_cast and implicit_cast(given, kind) is None:
        why = f"{given} for {name}, which is of type {kind}"
        raise _misfit(node, table, why, "cast its columns to those of")
    return Cast(source, kind.with_nullable(given.is_nullable))


def _misfit(node: RelNode, table: ResolvedTable, why: str, advice: str) -> CatalogError:
    given = ", ".join(f"{field.name} {field.type}" for field in node.row_type.fields)
    wanted = ", ".join(f"{field.name} {field.type}" for field in table.sink_type.fields)
    return CatalogError(
        f"the query gives {why}; {advice} table {'.'.join(table.path)}\n"
        f"  query: {given}\n  table: {wanted}",
        table.path[-1],
    )


LITERAL = VarCharType(nullable=False)
"""Type of the values of static partitions, which are cast to their column's type."""
