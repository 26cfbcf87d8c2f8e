"""Spark DataFrames of a state's entries, read by Spark tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice
from typing import Any, Protocol

from millrace.common.types.inferred_type import NULL, common_type, inferred_type
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.record_fields import named_fields
from millrace.common.types.row import named_row
from millrace.common.types.type_information import TypeInformation
from millrace.state.serialization.payload import decode, encode
from millrace.state_processor.arrow_columns import FrameColumn, arrow_batches, column_type

__all__ = ["SAMPLE", "StateQuery", "frame_of", "frame_of_values"]

SAMPLE = 1000
"""The number of entries from which the types of undeclared columns are inferred, by default."""

Row = Sequence[Any]
Types = dict[str, LogicalType]


class StateQuery(Protocol):
    """Query of rows of state, which is serialized and sent to Spark tasks."""

    @property
    def tasks(self) -> int:
        """Number of Spark tasks that read the rows."""

    def rows(self, task: int) -> Iterator[Row]:
        """The rows that task number ``task`` reads."""


def frame_of(
    spark: Any, query: StateQuery, names: Sequence[str], known: Types, sample: int | None
) -> Any:
    """A DataFrame of the rows that a query reads.

    Args:
        spark: the Spark session.
        names: the names of the columns.
        known: the types of some of the columns, by name. The others are inferred from rows.
        sample: number of rows from which types are inferred; None for all, in an additional Spark
            job.

    Raises:
        StateError: the rows cannot be read.
    """
    types = dict(known)
    if not types.keys() >= set(names):
        inferred = _inferred_types(spark, query, len(names), sample)
        types = {name: known.get(name, kind) for name, kind in zip(names, inferred, strict=True)}
    return _frame(spark, query, [FrameColumn(name, types[name]) for name in names])


def frame_of_values(
    spark: Any, query: StateQuery, output_type: TypeInformation[Any] | None, sample: int | None
) -> Any:
    """A DataFrame of a query whose rows hold one value each.

    The fields of the value (the entries of a dict) become the columns; a value without fields
    becomes the column ``value``.
    """
    query = _Records(query)
    kind = None if output_type is None else column_type(output_type)
    if kind is None:
        (kind,) = _inferred_types(spark, query, 1, sample)
    if not isinstance(kind, RowType):
        return _frame(spark, query, [FrameColumn("value", kind)])
    columns = [FrameColumn(field.name, field.type) for field in kind]
    return _frame(spark, _Fields(query, kind.names), columns)


class _Records:
    """A query whose dicts with string keys are converted to rows with named fields."""

    def __init__(self, query: StateQuery) -> None:
        self._query = query

    @property
    def tasks(self) -> int:
        return self._query.tasks

    def rows(self, task: int) -> Iterator[Row]:
        for (value,) in self._query.rows(task):
            is_record = type(value) is dict and value and all(type(n) is str for n in value)
            yield (named_row(tuple(value), value.values()) if is_record else value,)


class _Fields:
    """A query that splits each value into its fields, in the order of ``names``."""

    def __init__(self, query: StateQuery, names: Sequence[str]) -> None:
        self._query = query
        self._names = names

    @property
    def tasks(self) -> int:
        return self._query.tasks

    def rows(self, task: int) -> Iterator[Row]:
        for (value,) in self._query.rows(task):
            named = named_fields(value)
            fields = {} if named is None else dict(zip(*named, strict=True))
            yield [fields.get(name) for name in self._names]


def _frame(spark: Any, query: StateQuery, columns: list[FrameColumn]) -> Any:
    from millrace.spark.state_frames import frame_from_tasks

    ddl = ", ".join(column.ddl for column in columns)

    def make(task: int) -> Iterator[Any]:
        return arrow_batches(columns, query.rows(task))

    return frame_from_tasks(spark, query.tasks, make, ddl)


def _inferred_types(
    spark: Any, query: StateQuery, width: int, sample: int | None
) -> list[LogicalType]:
    """The types of columns, inferred from their values.

    Args:
        width: number of columns.
        sample: number of rows from which types are inferred; None for all, in a Spark job.
    """
    if sample is not None:
        rows = (row for task in range(query.tasks) for row in query.rows(task))
        return _types_of_rows(width, islice(rows, sample))
    from millrace.spark.state_frames import collect_from_tasks

    def infer(task: int) -> bytes:
        return encode(_types_of_rows(width, query.rows(task)))

    types_of_tasks = map(decode, collect_from_tasks(spark, query.tasks, infer))
    return reduce(_common_types, types_of_tasks, [NULL] * width)


def _types_of_rows(width: int, rows: Iterable[Row]) -> list[LogicalType]:
    types = [NULL] * width
    for row in rows:
        types = _common_types(types, map(inferred_type, row))
    return types


def _common_types(one: Iterable[LogicalType], other: Iterable[LogicalType]) -> list[LogicalType]:
    return [common_type(a, b) for a, b in zip(one, other, strict=True)]
