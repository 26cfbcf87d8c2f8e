"""DataFrames of rows that tasks make from state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice
from typing import Any, Protocol

from millrace.common.types.inferred_type import NULL, inferred_type, merged
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.record_fields import named_fields
from millrace.common.types.row import named_row
from millrace.common.types.type_information import TypeInformation
from millrace.state.serialization.payload import decode, encode
from millrace.state_processor.arrow_columns import Column, arrow_batches, column_type

__all__ = ["SAMPLE", "StateQuery", "frame_of", "frame_of_values"]

SAMPLE = 1000
"""So many entries are looked at to find the types of columns that are not declared."""

Row = Sequence[Any]
Types = dict[str, LogicalType]


class StateQuery(Protocol):
    """Makes rows in tasks; travels to them."""

    @property
    def tasks(self) -> int:
        """How many tasks there are."""

    def rows(self, task: int) -> Iterator[Row]:
        """The rows of a task."""


def frame_of(
    spark: Any, query: StateQuery, names: Sequence[str], known: Types, sample: int | None
) -> Any:
    """A DataFrame of a query's rows.

    Args:
        spark: the session.
        names: of the columns.
        known: types of some of them. The others are found out by looking at rows.
        sample: at so many of them; None: at all, in a Spark job of its own.

    Raises:
        StateError: the rows cannot be looked at.
    """
    types = dict(known)
    if not types.keys() >= set(names):
        found = _looked_at(spark, query, len(names), sample)
        types = {name: known.get(name, kind) for name, kind in zip(names, found, strict=True)}
    return _frame(spark, query, [Column(name, types[name]) for name in names])


def frame_of_values(
    spark: Any, query: StateQuery, output_type: TypeInformation[Any] | None, sample: int | None
) -> Any:
    """A DataFrame of a query whose rows hold one value each: its fields (of a dict, its entries)
    become the columns, a value without fields the column ``value``."""
    query = _Records(query)
    kind = None if output_type is None else column_type(output_type)
    if kind is None:
        (kind,) = _looked_at(spark, query, 1, sample)
    if not isinstance(kind, RowType):
        return _frame(spark, query, [Column("value", kind)])
    columns = [Column(field.name, field.type) for field in kind]
    return _frame(spark, _Fields(query, kind.names), columns)


class _Records:
    """A query whose dicts are records."""

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
    """A query that takes values apart."""

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


def _frame(spark: Any, query: StateQuery, columns: list[Column]) -> Any:
    from millrace.spark.state_frames import frame_from_tasks

    ddl = ", ".join(column.ddl for column in columns)

    def make(task: int) -> Iterator[Any]:
        return arrow_batches(columns, query.rows(task))

    return frame_from_tasks(spark, query.tasks, make, ddl)


def _looked_at(spark: Any, query: StateQuery, width: int, sample: int | None) -> list[LogicalType]:
    if sample is not None:
        rows = (row for task in range(query.tasks) for row in query.rows(task))
        return _types(width, islice(rows, sample))
    from millrace.spark.state_frames import collect_from_tasks

    def look(task: int) -> bytes:
        return encode(_types(width, query.rows(task)))

    answers = map(decode, collect_from_tasks(spark, query.tasks, look))
    return reduce(_merged, answers, [NULL] * width)


def _types(width: int, rows: Iterable[Row]) -> list[LogicalType]:
    found = [NULL] * width
    for row in rows:
        found = _merged(found, map(inferred_type, row))
    return found


def _merged(one: Iterable[LogicalType], other: Iterable[LogicalType]) -> list[LogicalType]:
    return [merged(a, b) for a, b in zip(one, other, strict=True)]
