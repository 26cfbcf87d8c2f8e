"""Streams of a program as tables, with declared columns or the columns of the records' type.

Flink docs: "DataStream API Integration" (``fromDataStream``, ``fromChangelogStream``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.similar_names import did_you_mean
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.row import RowKind
from millrace.datastream.stream import DataStream
from millrace.planner.binder.tables import table_rows
from millrace.planner.catalog_reader import SOURCE_WATERMARK, ColumnKind
from millrace.planner.execution.table_factory import DataStreamAccess, TableFactory
from millrace.planner.relational.rel_node import Project, RelNode
from millrace.table.calls.temporal import WindowProperty
from millrace.table.catalog.catalog_objects import CatalogTable
from millrace.table.expression import Expression
from millrace.table.schema import Schema
from millrace.table.table_session import TableSession

__all__ = ["declared_rows", "schema_of_fields", "stream_rows"]

_UNKNOWN = (
    "the types of the stream's columns are unknown: pass a Schema to from_data_stream(), or "
    "declare the stream's type, as in map(f, output_type=Types.ROW([Types.LONG()]))"
)


def stream_rows(
    session: TableSession,
    stream: DataStream[Any],
    schema: Schema | None,
    changes: frozenset[RowKind],
    only_declared: bool = False,
) -> RelNode:
    """The records of a stream as rows.

    Args:
        schema: columns, or only additions to the columns of the records' type. Computed columns may
            read columns of the records that the schema leaves out. None for the columns of the
            records' type.
        changes: short names of the row kinds in the stream.
        only_declared: whether the table has only the columns of the schema, even if these are all
            computed.

    Raises:
        JobDefinitionError: the columns are not known, or the schema is wrong.
    """
    declared = schema or Schema()
    known = known_columns(stream)
    if not known and not _physical(declared):
        raise JobDefinitionError(_UNKNOWN)
    _check_names(dict(known), declared)
    access = DataStreamAccess(stream._inputs, changes)
    only_declared = only_declared or bool(_physical(declared))
    bounded = not session.streaming
    return declared_rows(session, known, declared, access, "datastream", bounded, only_declared)


def declared_rows(
    session: TableSession,
    known: Sequence[tuple[str, LogicalType]],
    declared: Schema,
    access: DataStreamAccess | TableFactory,
    kind: str,
    bounded: bool,
    only_declared: bool = False,
) -> RelNode:
    """The rows of an unnamed table with known columns and a declared schema.

    Args:
        known: known columns, which precede the columns that are only declared.
        access: makes the source.
        kind: kind of table, for the generated name.
        only_declared: see `stream_rows`.

    Raises:
        JobDefinitionError: the schema is wrong.
    """
    physical = _physical(declared)
    builder = Schema.new_builder()
    for name, of_column in known:
        if name not in physical:
            builder.column(name, of_column)
    whole = builder.from_schema(declared).build()
    table = CatalogTable(whole, access=access, bounded=bounded)
    rows = table_rows(session.resolved((session.anonymous_name(kind),), table))
    names = rows.row_type.names
    shown = declared.names if only_declared else whole.names
    if shown == names:
        return rows
    return Project(rows, tuple(rows.field(names.index(name)) for name in shown), shown)


def _check_names(known: Mapping[str, LogicalType], declared: Schema) -> None:
    """Check that the columns of a schema are fields of the records, if those are known."""
    for name in _physical(declared):
        if known and name not in known:
            raise JobDefinitionError(
                f"the schema declares a column {name!r}, but the stream's records have the "
                f"fields {', '.join(known)}{did_you_mean(name, known)}"
            )


def _physical(schema: Schema) -> list[str]:
    return [column.name for column in schema.columns if column.kind is ColumnKind.PHYSICAL]


def known_columns(stream: DataStream[Any]) -> list[tuple[str, LogicalType]]:
    """The columns of a stream's declared record type, or of the query that makes the stream; empty
    if the stream has neither."""
    declared = stream.declared_type()
    kind = _query_type(stream) if declared is None else declared.logical_type
    if kind is None:
        return []
    if isinstance(kind, RowType):
        return [(field.name, field.type) for field in kind.fields]
    return [("f0", kind)]


def _query_type(stream: DataStream[Any]) -> RowType | None:
    """Columns of the queries that make the stream; None if others make it."""
    types = {source.tag or source.transformation.row_type for source in stream._inputs}
    [kind] = types if len(types) == 1 else [None]
    return kind if isinstance(kind, RowType) else None


def schema_of_fields(stream: DataStream[Any], fields: Sequence[Any]) -> Schema:
    """The schema for a list of fields: columns by name, or by position if some names are unknown.
    ``col("t").rowtime`` is the event time of the records, and ``col("p").proctime`` the processing
    time.

    Raises:
        JobDefinitionError: there is no such column.
    """
    known, builder = known_columns(stream), Schema.new_builder()
    if not known:
        raise JobDefinitionError(_UNKNOWN)
    nodes = [field.node if isinstance(field, Expression) else field for field in fields]
    names = [_named(node) for node in nodes if not isinstance(node, WindowProperty)]
    by_name = all(old in dict(known) for old, _ in names)
    if len(names) > len(known):
        raise JobDefinitionError(f"{len(names)} names were given for {len(known)} columns")
    position = 0
    for node in nodes:
        if isinstance(node, WindowProperty):
            _time_attribute(builder, str(node.this.name), str(node.args["kind"]))
            continue
        old, new = _named(node)
        if not by_name and new != old:
            raise JobDefinitionError(f"there is no column {old!r}{did_you_mean(old, dict(known))}")
        source = old if by_name else known[position][0]
        position += 1
        if source == new:
            builder.column(new, dict(known)[source])
        else:
            builder.column_by_expression(new, f"`{source}`")
    return builder.build()


def _time_attribute(builder: Schema.Builder, name: str, kind: str) -> None:
    if kind == "PROCTIME":
        builder.column_by_expression(name, "PROCTIME()")
    else:
        builder.column_by_metadata(name, "TIMESTAMP_LTZ(3)", "rowtime")
        builder.watermark(name, f"{SOURCE_WATERMARK.name}()")


def _named(node: Any) -> tuple[str, str]:
    """The column's name in the stream, and in the table."""
    if isinstance(node, str):
        return node, node
    if isinstance(node, exp.Alias):
        return str(node.this.name), str(node.alias)
    if not isinstance(node, exp.Column):
        raise JobDefinitionError("from_data_stream() takes a Schema, or columns: col('a')")
    return str(node.name), str(node.name)
