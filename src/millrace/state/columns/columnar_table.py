"""Common base of columnar tables: the open epoch, deltas of Arrow columns, and restoring.

A restore uses only the Arrow types. The schemas of the entries also have the names and types of the
query's columns, for display.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.errors import JobDefinitionError, StateMigrationError
from millrace.common.types.logical.arrow_type import logical_type_of
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.record_fields import positions
from millrace.state.budget import Budget
from millrace.state.columns.column_entries import OBJECT, ColumnEntries, ColumnKeys, array_of
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.positions import PositionSpace, ValueColumn
from millrace.state.flat_table import FlatTable
from millrace.state.key_group_filter import KeyGroupFilter
from millrace.state.serialization.schema import ANY, Schema
from millrace.state.table import KeyFilter, Scan, StateTable, TableDelta

__all__ = ["ColumnarTable", "ColumnsOf", "entry_schemas"]


class ColumnsOf(NamedTuple):
    """Description of the columns in which a table's entries are stored.

    Attributes:
        key: types of the stream's key.
        inner: types of the columns that distinguish the entries of one key.
        row: types of values that do not change once they are set.
        values: columns of values that change in place.
        key_names: display names of the key's columns, from the query; empty if they are unknown.
        row_names: the same for ``row``.
    """

    key: tuple[pa.DataType, ...]
    inner: tuple[pa.DataType, ...] = ()
    row: tuple[pa.DataType, ...] = ()
    values: tuple[ValueColumn, ...] = ()
    key_names: tuple[str, ...] = ()
    row_names: tuple[str, ...] = ()

    def schema(self) -> pa.Schema:
        """Arrow schema of the record batches in deltas."""
        fields = _fields("key", self.key, self.key_names)
        fields += _fields("inner", self.inner)
        fields += _fields("row", self.row, self.row_names)
        for number, column in enumerate(self.values):
            kind = pa.binary() if column.dtype == np.object_ else pa.from_numpy_dtype(column.dtype)
            metadata = {"python": OBJECT} if column.dtype == np.object_ else None
            name = f"value{_SHOWN}{column.name}" if column.name else f"value{number}"
            fields.append(pa.field(name, kind, metadata=metadata))
        return pa.schema(fields)

    def entry_schemas(self) -> tuple[str, str, str]:
        """Schemas of key, inner key and value, with their display names."""
        columns = [(field.name.partition(_SHOWN)[2], field) for field in self.schema()]
        end = len(self.key) + len(self.inner)
        return entry_schemas(columns[: len(self.key)], columns[len(self.key) : end], columns[end:])


_SHOWN = ":"
"""Separator of a column's name and the display name."""


def _fields(word: str, kinds: Sequence[pa.DataType], names: Sequence[str] = ()) -> list[pa.Field]:
    shown = [f"{_SHOWN}{name}" for name in names] or [""] * len(kinds)
    return [
        pa.field(f"{word}{number}{name}", kind)
        for number, (kind, name) in enumerate(zip(kinds, shown, strict=True))
    ]


def columns_in(entries: ColumnEntries, rows: bool) -> ColumnsOf:
    """Columns with which the entries were written. With ``rows``, only the columns of rows, whose
    names begin with ``row``.
    """
    fields = list(entries.batch.schema)
    start = entries.key + entries.inner
    is_row = [rows and field.name.startswith("row") for field in fields[start:]]
    row = [field for field, yes in zip(fields[start:], is_row, strict=True) if yes]
    values = [
        ValueColumn(
            np.dtype(object) if field.metadata else np.dtype(field.type.to_pandas_dtype()),
            name=field.name.partition(_SHOWN)[2] or field.name,
        )
        for field, yes in zip(fields[start:], is_row, strict=True)
        if not yes
    ]
    types = [field.type for field in fields]
    return ColumnsOf(
        tuple(types[: entries.key]),
        tuple(types[entries.key : start]),
        tuple(field.type for field in row),
        tuple(values),
        _names(fields[: entries.key]),
        _names(row),
    )


def _names(fields: Sequence[pa.Field]) -> tuple[str, ...]:
    """Display names of the fields; empty if they are not known."""
    names = tuple(field.name.partition(_SHOWN)[2] for field in fields)
    return names if all(names) else ()


class ColumnarTable(StateTable):
    """Base of `SlotTable` and `RowLog`.

    The columns are known once the operator declares them (`bind`), or once the first delta with
    columns is applied. Until then, entries of a canonical savepoint wait as Python objects.
    """

    has_rows = False

    def __init__(self, key_of: Callable[[Any], Any] = lambda key: key) -> None:
        self._key_of = key_of
        self.columns: ColumnsOf | None = None
        self._schemas: tuple[str, str, str] | None = None
        self.generation = 0
        """Number that grows when entries change other than by the open epoch. Data derived from
        the entries must then be derived again."""
        self.space = PositionSpace()
        self._waiting = FlatTable(key_of)
        self._waiting_filter: KeyFilter | None = None
        """Filter for the keys of the waiting entries. It is applied once the columns are known."""

    def bind(self, columns: ColumnsOf) -> None:
        """Declare the columns of the table's entries.

        Raises:
            StateMigrationError: the restored entries have other columns.
        """
        self._bind(columns)
        self._schemas = columns.entry_schemas()

    def _bind(self, columns: ColumnsOf) -> None:
        if self.columns is None:
            self.columns = columns
            self._make(columns)
            self._take_waiting()
            return
        if _unlike(self.columns, columns):
            raise StateMigrationError(
                f"the state was written with columns [{_described(self.columns)}], but this "
                f"program needs [{_described(columns)}]: the query's keys or aggregates "
                "have changed. Start the query without this state, or use the former query"
            )
        self.columns = columns
        self.space.columns = list(columns.values)

    @property
    def entry_schemas(self) -> tuple[str, str, str] | None:
        return self._schemas

    def _bind_to(self, entries: ColumnEntries) -> None:
        columns = columns_in(entries, self.has_rows)
        if self.columns is None or _unlike(self.columns, columns):
            self._bind(columns)

    def _take_waiting(self) -> None:
        waiting, self._waiting = self._waiting, FlatTable(self._key_of)
        if waiting.data and self.columns is not None:
            entries = _entries_of(waiting.data, self.columns)
            self._put(_admitted(entries, self._waiting_filter))
        self._waiting_filter = None

    # -- the open epoch ----------------------------------------------------------------

    def change_count(self) -> int:
        return self.space.touched

    def changes(self) -> TableDelta | None:
        put, removed = self.space.changed()
        if not put.size and not removed.size:
            return None
        return self._delta(put, removed)

    def changes_by(self, budget: Budget) -> Iterator[tuple[TableDelta, int]]:
        put, removed = self.space.changed()
        both = np.concatenate([put, removed])
        for start in range(0, both.size, max(1, budget.entries)):
            end = min(start + max(1, budget.entries), both.size)
            middle = min(max(put.size, start), end)
            yield self._delta(both[start:middle], both[middle:end]), end - start

    def _delta(self, put: Positions, removed: Positions) -> TableDelta:
        inner = 0 if self.columns is None else len(self.columns.inner)
        keys = 0 if self.columns is None else len(self.columns.key)
        gone = self._keys_batch(removed)
        return {
            "put": ColumnEntries(self._batch(put), keys, inner) if put.size else {},
            "del": ColumnKeys(gone, keys, inner) if removed.size else [],
        }

    def _batch(
        self, positions: Positions, values: Sequence[npt.NDArray[Any]] | None = None
    ) -> pa.RecordBatch:
        """Entries at ``positions``, with the present values or other ``values`` by position."""
        assert self.columns is not None
        arrays = self._arrays(positions)
        columns = self.space.values if values is None else values
        arrays += [array_of(column.take(positions)) for column in columns]
        return pa.record_batch(arrays, self.columns.schema())

    def _keys_batch(self, positions: Positions) -> pa.RecordBatch:
        assert self.columns is not None
        count = len(self.columns.key) + len(self.columns.inner)
        if not count:  # a batch without columns would not know how many rows it has
            return pa.record_batch([pa.nulls(positions.size)], ["none"])
        fields = list(self.columns.schema())[:count]
        return pa.record_batch(self._arrays(positions)[:count], pa.schema(fields))

    @property
    def data(self) -> dict[Any, Any]:
        """All entries as new Python objects, for readers that follow a state from outside."""
        return dict(self.scan(None, sys.maxsize).table_delta["put"])

    # -- all of it ---------------------------------------------------------------------

    def entry_count(self) -> int:
        return self.space.count + self._waiting.entry_count()

    def scan(self, cursor: Any, budget: int) -> Scan:
        if self.columns is None or self._waiting.data:
            return self._waiting.scan(cursor, budget)
        start = cursor or 0
        end = min(start + max(1, budget), self.space.end)
        positions = start + np.flatnonzero(self.space.live[start:end])
        size = max(1, end - start)
        return Scan(
            self._delta(positions, positions[:0]), size, None if end >= self.space.end else end
        )

    def former_entries(self) -> TableDelta:
        if self.columns is None or not self.space.touched:
            return self.scan(None, sys.maxsize).table_delta
        former = self.space.former()
        live = self.space.live[: self.space.end].copy()
        live[former.positions] = former.live
        values = [column.copy() for column in self.space.values]
        for column, old in zip(values, former.values, strict=True):
            column[former.positions] = old
        put = ColumnEntries(
            self._batch(np.flatnonzero(live), values),
            len(self.columns.key),
            len(self.columns.inner),
        )
        return {"put": put, "del": []}

    def clear(self) -> None:
        self._waiting.clear()
        self.generation += 1
        if self.columns is not None:
            self._make(self.columns)

    def apply(self, table_delta: TableDelta, keep: KeyFilter | None = None) -> None:
        put, gone = table_delta["put"], table_delta["del"]
        self.generation += 1
        if isinstance(put, ColumnEntries):
            self._bind_to(put)
            self._put(_admitted(put, keep))
        elif self.columns is None:
            self._waiting.apply({"put": put, "del": gone})
            self._waiting_filter = keep or self._waiting_filter
        elif put:
            self._put(_admitted(_entries_of(put, self.columns), keep))
        if len(gone) and self.columns is not None:
            self._delete(gone.key_columns() if isinstance(gone, ColumnKeys) else self._of(gone))

    def _of(self, keys: list[Any]) -> list[pa.Array]:
        assert self.columns is not None
        return _key_arrays(keys, self.columns)

    @abstractmethod
    def _make(self, columns: ColumnsOf) -> None:
        """Set up the table without entries."""

    @abstractmethod
    def _arrays(self, positions: Positions) -> list[pa.Array]:
        """Columns of the keys, and of the values that do not change in place, at ``positions``."""

    @abstractmethod
    def _put(self, entries: ColumnEntries) -> None:
        """Set entries while no epoch is open."""

    @abstractmethod
    def _delete(self, keys: list[pa.Array]) -> None:
        """Remove existing entries while no epoch is open."""


def _admitted(entries: ColumnEntries, keep: KeyFilter | None) -> ColumnEntries:
    if keep is None:
        return entries
    if isinstance(keep, KeyGroupFilter):
        keys = entries.key_columns()[: entries.key]
        return entries.where(keep.of_columns(keys, len(entries)))
    return entries.admitted(keep)


def _unlike(mine: ColumnsOf, other: ColumnsOf) -> bool:
    one, two = mine.schema(), other.schema()
    return one.types != two.types or len(mine.key) != len(other.key)


def _described(columns: ColumnsOf) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in columns.schema())


def _key_arrays(keys: list[Any], columns: ColumnsOf) -> list[pa.Array]:
    inner: list[pa.Array] = []
    if columns.inner:
        inner = _split([key[1] for key in keys], columns.inner)
        keys = [key[0] for key in keys]
    return _split(keys, columns.key) + inner


def _split(keys: list[Any], kinds: tuple[pa.DataType, ...]) -> list[pa.Array]:
    """One column per part of the keys. If there is only one part, each key is this part rather
    than a tuple."""
    if len(kinds) == 1:
        return [pa.array(keys, kinds[0])]
    return [pa.array([key[number] for key in keys], kind) for number, kind in enumerate(kinds)]


def _entries_of(put: dict[Any, Any], columns: ColumnsOf) -> ColumnEntries:
    """Columns for entries given as Python objects."""
    arrays = _key_arrays(list(put), columns)
    rows = list(put.values())
    schema = columns.schema()
    for number in range(len(schema) - len(arrays)):
        field = schema.field(len(arrays))
        values = [row[number] for row in rows]
        if field.metadata:
            made = np.empty(len(values), np.object_)
            made[:] = values
            arrays.append(array_of(made))
        else:
            arrays.append(pa.array(values, field.type))
    batch = pa.record_batch(arrays, schema)
    return ColumnEntries(batch, len(columns.key), len(columns.inner))


Named = Sequence[tuple[str, pa.Field]]
"""Columns with their names, which may be empty."""


def entry_schemas(key: Named, inner: Named, value: Named) -> tuple[Schema, Schema, Schema]:
    """Schemas of the key, the inner key and the value of a table's entries. The inner key
    distinguishes entries with the same key.
    """
    return _part(key), _part(inner), str(_row(value)) if value else ANY


def _part(columns: Named) -> Schema:
    """Schema of a value, or of a row of several; without columns, the schema of no value."""
    if len(columns) == 1:
        return str(_type(columns[0][1]))
    return str(_row(columns)) if columns else ANY


def _row(columns: Named) -> LogicalType:
    places = zip(columns, positions(len(columns)), strict=True)
    names = [name or position for (name, _), position in places]
    return RowType.of(*zip(_distinct(names), (_type(field) for _, field in columns), strict=True))


def _type(field: pa.Field) -> LogicalType:
    try:
        return parse_type(ANY) if field.metadata else logical_type_of(field.type)
    except JobDefinitionError:
        return parse_type(ANY)


def _distinct(names: Iterable[str]) -> list[str]:
    """The names, with a number appended to each that has occurred before."""
    distinct: list[str] = []
    for name in names:
        number, made = 2, name
        while made in distinct:
            made, number = f"{name}_{number}", number + 1
        distinct.append(made)
    return distinct
