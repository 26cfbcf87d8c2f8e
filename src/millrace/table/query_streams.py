"""Queries as streams of a program, with the query's time attribute as event time.

Flink docs: "DataStream API Integration" (``toDataStream``, ``toChangelogStream``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from millrace.common.config import table_options
from millrace.common.errors import JobDefinitionError
from millrace.common.similar_names import did_you_mean
from millrace.common.types.logical.logical_type import (
    LocalZonedTimestampType,
    LogicalType,
    RowField,
    RowType,
)
from millrace.common.types.row import Row
from millrace.datastream.stream import DataStream
from millrace.job_graph.transformation import Input
from millrace.planner.catalog_reader import ColumnKind
from millrace.planner.execution.sink import constraints_on
from millrace.planner.inference.time_attributes import time_attributes
from millrace.planner.relational.stream_rel_nodes import TimeAttribute
from millrace.table.expression import Expression
from millrace.table.expressions import col
from millrace.table.schema import Schema, UnresolvedColumn
from millrace.table.table import Table
from millrace.table_runtime.query_output import EventTimeColumn, with_query_output

__all__ = ["query_stream"]

_ROWTIME = "rowtime"
"""The only metadata of a record: its event time."""
_EVENT_TIME = LocalZonedTimestampType(3)
"""Type of the metadata."""


def query_stream(table: Table, schema: Schema | None) -> DataStream[Row]:
    """The rows of a query as a stream, with the event times that its time attribute gives.

    Args:
        schema: columns of the stream's rows; None for the columns of the query.

    Raises:
        JobDefinitionError: the schema does not fit the query, or the query has several time
            attributes.
    """
    target = _Target.of_query(table) if schema is None else _Target.of_schema(table, schema)
    rows = table if schema is None else table.select(*target.columns)
    column = _event_time(rows, target)
    table._session.share_mode()
    [made] = table._session.transformations([rows.node])
    fields = tuple(map(_declared, rows.node.row_type.fields, target.types))
    constraints = constraints_on(RowType(fields), table._session.node_options())
    made.factory = with_query_output(made.factory, constraints, column)
    if column is not None and not column.in_row:
        fields = fields[: column.position] + fields[column.position + 1 :]
    made.row_type = RowType(fields)
    return DataStream(table._session.env, [Input(made)])


def _event_time(rows: Table, target: _Target) -> EventTimeColumn | None:
    """The column of the rows' event times; None if there is none."""
    session, times = rows._session, target.times
    disabled = session.config.get_configuration().get(table_options.ROWTIME_INSERTER) == "DISABLED"
    if len(times) > 1 and session.streaming and not disabled:
        names = [rows.node.row_type.names[index] for index in times]
        raise JobDefinitionError(
            f"the query contains more than one rowtime attribute column ({', '.join(names)}), and "
            "a record of a stream has one event time: cast the others to TIMESTAMP or "
            f"TIMESTAMP_LTZ, as in CAST({names[-1]} AS {rows.node.row_type.fields[times[-1]].type}"
            f"), or set {table_options.ROWTIME_INSERTER.key!r} to DISABLED"
        )
    if target.metadata is not None:
        return EventTimeColumn(target.metadata, in_row=False)
    return EventTimeColumn(times[0]) if len(times) == 1 and not disabled else None


@dataclass(frozen=True)
class _Target:
    """Columns for the rows of the resulting stream.

    Attributes:
        times: positions of columns that are rowtime attributes of the query.
        types: types that the schema declares; None for the types of the query.
        columns: arguments for `Table.select` that make the columns; empty for the query's own.
        metadata: position of the column that becomes the event time and not part of the rows; None
            if there is none.
    """

    times: tuple[int, ...]
    types: tuple[LogicalType | None, ...]
    columns: tuple[Expression, ...] = ()
    metadata: int | None = None

    @staticmethod
    def of_query(table: Table) -> _Target:
        """The columns of a query."""
        # a window is an aggregate like any other before the rules have seen it
        [node] = table._session.optimized([table.node])
        kinds = time_attributes(node).items()
        times = sorted(index for index, kind in kinds if kind is TimeAttribute.ROWTIME)
        return _Target(tuple(times), (None,) * len(table.node.row_type.fields))

    @staticmethod
    def of_schema(table: Table, schema: Schema) -> _Target:
        """The columns of a schema, made of those of a query.

        Raises:
            JobDefinitionError: a column is missing, or is metadata that records do not have.
        """
        targets = [column for column in schema.columns if _is_written(column)]
        fields = table.node.row_type.fields
        names = _sources(table.node.row_type.names, targets)
        rowtimes = {
            fields[index].name: fields[index].type for index in _Target.of_query(table).times
        }
        metadata = [place for place, column in enumerate(targets) if _is_rowtime(column)]
        if len(metadata) > 1:
            raise JobDefinitionError(
                "a stream has one event time: declare only one metadata column"
            )
        columns, times = [], []
        for place, (name, target) in enumerate(zip(names, targets, strict=True)):
            columns.append(_cast_column(name, target))
            if name in rowtimes and _keeps_type(target, rowtimes[name]):
                times.append(place)
        types = tuple(column.type for column in targets)
        return _Target(tuple(times), types, tuple(columns), metadata[0] if metadata else None)


def _declared(field: RowField, kind: LogicalType | None) -> RowField:
    """The column, NOT NULL exactly if the schema declares so."""
    return (
        field if kind is None else replace(field, type=field.type.with_nullable(kind.is_nullable))
    )


def _sources(names: tuple[str, ...], targets: Sequence[UnresolvedColumn]) -> tuple[str, ...]:
    """Names of the query's columns that become the target columns: by name if the query has all
    names, else by position."""
    wanted = tuple(target.name for target in targets)
    if set(wanted) <= set(names):
        return wanted
    if len(names) != len(wanted):
        missing = next(name for name in wanted if name not in names)
        raise JobDefinitionError(
            f"the query has no column {missing!r}{did_you_mean(missing, names)}, and "
            f"{len(names)} columns for {len(wanted)}, so that it cannot be meant by position; the "
            f"query has {', '.join(names)}"
        )
    return names


def _is_written(column: UnresolvedColumn) -> bool:
    return column.kind is not ColumnKind.COMPUTED and not column.virtual


def _is_rowtime(column: UnresolvedColumn) -> bool:
    """Whether the column is the event time of the records, as metadata.

    Raises:
        JobDefinitionError: the column is other metadata.
    """
    if column.kind is not ColumnKind.METADATA:
        return False
    key = column.metadata_key or column.name
    if key != _ROWTIME:
        raise JobDefinitionError(
            f"the only metadata of a stream is {_ROWTIME!r}: {column.name!r} is declared "
            f"FROM {key!r}"
        )
    return True


def _keeps_type(target: UnresolvedColumn, given: LogicalType) -> bool:
    """Whether a column of a type needs no cast; nullability needs none."""
    kind = target.type
    return kind is None or kind.with_nullable(True) == given.with_nullable(True)


def _cast_column(name: str, target: UnresolvedColumn) -> Expression:
    column = col(name)
    if target.type is not None:
        column = column.cast(target.type)
        if _is_rowtime(target) and not _keeps_type(target, _EVENT_TIME):
            column = column.cast(_EVENT_TIME)
    return column if name == target.name and target.type is None else column.alias(target.name)
