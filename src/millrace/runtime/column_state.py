"""State of `KeyedStream.process_batch`: columns with one slot per key, aligned with the rows of a
batch.

Each state has a `SlotTable` of its own, so a program may add a state and keep the existing ones. A
key without state has no slot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.errors import StateError
from millrace.common.state.column_descriptors import (
    AggregatePart,
    AggregatingColumnDescriptor,
    ColumnDescriptor,
    ReducingColumnDescriptor,
    ValueColumnDescriptor,
)
from millrace.runtime.stable_groups import StableGroups, running
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.hash_index import Positions, distinct
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.slot_table import SlotTable
from millrace.state.columns.time_to_live import LAST_USED, TimeToLive

__all__ = ["ColumnState", "column_state", "column_values"]

_UFUNCS: dict[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}
_Rows = npt.NDArray[np.int64] | None
"""Rows of the batch. None for all rows."""


def column_state(descriptor: ColumnDescriptor, table: SlotTable) -> ColumnState:
    """State for a descriptor."""
    if isinstance(descriptor, ValueColumnDescriptor):
        return ValueColumnState(descriptor, table)
    if isinstance(descriptor, ReducingColumnDescriptor):
        return ReducingColumnState(descriptor, table)
    if isinstance(descriptor, AggregatingColumnDescriptor):
        return AggregatingColumnState(descriptor, table)
    raise StateError(
        f"states of process_batch() are described by ValueColumnDescriptor, "
        f"ReducingColumnDescriptor or AggregatingColumnDescriptor, got {descriptor!r}"
    )


def column_values(values: Any, count: int, what: str) -> pa.Array:
    """A function's result as a column of ``count`` rows. The result may be an array of any library,
    or one value.

    Raises:
        StateError: the result has another length.
    """
    if isinstance(values, pa.ChunkedArray):
        column = values.combine_chunks()
    elif isinstance(values, pa.Array):
        column = values
    elif hasattr(values, "__len__") and not isinstance(values, str | bytes):
        column = pa.array(values, from_pandas=True)
    else:
        return pa.repeat(values, count)
    if len(column) != count:
        raise StateError(
            f"{what} got a column of {len(column)} values for a batch of {count} rows; "
            "each row needs one, null where there is nothing to do"
        )
    return column


class ColumnState:
    """Common base of states in columns.

    Args:
        descriptor: descriptor with the name and time to live.
        table: table of this state.
        columns: columns stored per key.
    """

    def __init__(
        self, descriptor: ColumnDescriptor, table: SlotTable, columns: list[ValueColumn]
    ) -> None:
        self.name = descriptor.name
        self.table = table
        self._values = (*columns, LAST_USED)
        self._used = len(columns)
        self._life = TimeToLive(table, self._used, descriptor.ttl_millis())

    def bind(self, key: tuple[pa.DataType, ...]) -> None:
        """Set the types of the keys."""
        self.table.bind(ColumnsOf(key, values=self._values))

    def attach(self, keys: list[pa.Array], count: int) -> None:
        """Set the keys that the columns are aligned with from now on."""
        self._keys, self._count = keys, count
        self._slots: Positions | None = None

    def begin_epoch(self, now: int) -> None:
        """Begin an epoch at a new time."""
        self._life.begin_epoch(now)

    def end_epoch(self) -> None:
        """Remove some of the expired entries at the end of an epoch."""
        self._remove(self._life.swept())

    def clear(self, mask: Any = None) -> None:
        """Clear the state of some rows' keys."""
        slots = self._found()
        if mask is not None:
            kept = column_values(mask, self._count, f"clear() of state {self.name!r}")
            slots = slots[kept.fill_null(False).to_numpy(zero_copy_only=False).astype(np.bool_)]
        self._remove(distinct(slots[slots >= 0]))

    def _remove(self, slots: Positions) -> None:
        if slots.size:
            self.table.remove(slots)
            self._slots = None

    def _found(self) -> Positions:
        """Slots of the rows' keys. -1 if a key has no state."""
        slots = self._slots
        if slots is None:
            slots = self.table.slots_of(self._keys, create=False)
            if self._life:
                slots[~self._alive(slots)] = -1
            self._slots = slots
        return slots

    def _at(self, slots: Positions) -> npt.NDArray[Any]:
        """Values of the first column at the slots. Undefined where the slot is -1."""
        values = self.table.column(0)
        if not values.size:
            return np.zeros(slots.size, values.dtype)
        values_at: npt.NDArray[Any] = values.take(slots, mode="clip")
        return values_at

    def _alive(self, slots: Positions) -> npt.NDArray[np.bool_]:
        alive = slots >= 0
        alive[alive] = self._life.alive(slots[alive])
        return alive

    def _written(self, rows: _Rows) -> Positions:
        """Slots of rows' keys, which are about to be written. Missing slots are created."""
        keys = self._keys if rows is None else [key.take(pa.array(rows)) for key in self._keys]
        if self._life:
            old = self.table.slots_of(keys, create=False)
            self._remove(distinct(old[(old >= 0) & ~self._alive(old)]))
        slots = self.table.slots_of(keys, create=True)
        self._slots = slots if rows is None else None
        self.table.touch(slots)
        self._life.renew(slots)
        return slots


class ValueColumnState(ColumnState):
    """One value per key."""

    def __init__(self, descriptor: ValueColumnDescriptor, table: SlotTable) -> None:
        self._type = descriptor.type
        self._stored = _stored_type(descriptor.type)
        kind = np.dtype(object if self._stored is None else self._stored.to_pandas_dtype())
        super().__init__(descriptor, table, [ValueColumn(kind, name="value")])

    def get(self) -> pa.Array:
        """Values of the rows' keys. NULL if a key has none."""
        slots = self._found()
        missing = slots < 0
        values_at = self._at(slots)
        if self._stored is None:
            values_at[missing] = None
            return pa.array(values_at.tolist(), self._type)
        return pa.array(values_at, self._stored, mask=missing).cast(self._type)

    def put(self, values: Any) -> None:
        """Set the values of the rows' keys. NULL clears the value."""
        column = column_values(values, self._count, f"put() of state {self.name!r}")
        column = column.cast(self._type)
        rows: _Rows = None
        if column.null_count:
            rows = self._last_set(column)
            column = column.take(pa.array(rows))
        slots = self._written(rows)
        # of rows with one key the last one stays
        self.table.column(0)[slots] = self._numbers(column)

    def _last_set(self, column: pa.Array) -> npt.NDArray[np.int64]:
        """Last row of each key whose last value is not NULL. The state of the other keys is
        cleared."""
        last = StableGroups.of(self._written(None)).last
        valid = column.is_valid().to_numpy(zero_copy_only=False).take(last)
        assert self._slots is not None
        self._remove(self._slots.take(last[~valid]))
        kept: npt.NDArray[np.int64] = last[valid]
        return kept

    def _numbers(self, column: pa.Array) -> npt.NDArray[Any]:
        if self._stored is None:
            numbers = np.empty(len(column), np.object_)
            numbers[:] = column.to_pylist()
            return numbers
        values: npt.NDArray[Any] = column.cast(self._stored).to_numpy(zero_copy_only=False)
        return values


class ReducingColumnState(ColumnState):
    """One number per key, which is reduced with each added number."""

    def __init__(self, descriptor: ReducingColumnDescriptor, table: SlotTable) -> None:
        self._type = descriptor.type
        self._ufunc = _UFUNCS[descriptor.reduction]
        column = _part_column(AggregatePart(descriptor.type, descriptor.reduction), "value")
        super().__init__(descriptor, table, [column])

    def add(self, values: Any) -> None:
        """Add values to the rows' keys. NULLs are skipped."""
        column, rows = _present(self, values, "add")
        numbers = column.cast(self._type).to_numpy(zero_copy_only=False)
        slots = self._written(rows)
        self._ufunc.at(self.table.column(0), slots, numbers)

    def accumulate(self, values: Any) -> pa.Array:
        """Add values to the rows' keys, and return the value of each row's key after that row."""
        column = column_values(values, self._count, f"accumulate() of state {self.name!r}")
        if column.null_count:
            raise StateError(
                f"accumulate() of state {self.name!r} got nulls; fill them first, or use add()"
            )
        numbers = column.cast(self._type).to_numpy(zero_copy_only=False)
        slots = self._written(None)
        groups = StableGroups.of(slots)
        kept, last = self.table.column(0), groups.last
        totals = running(self._ufunc, groups, kept.take(slots.take(last)), numbers)
        kept[slots.take(last)] = totals.take(last)
        return pa.array(totals, self._type)

    def get(self) -> pa.Array:
        """Values of the rows' keys. NULL if no value was added."""
        slots = self._found()
        values_at = self._at(slots)
        return pa.array(values_at, self._type, mask=slots < 0)


class AggregatingColumnState(ColumnState):
    """One aggregate per key."""

    def __init__(self, descriptor: AggregatingColumnDescriptor, table: SlotTable) -> None:
        self._aggregate = descriptor.aggregate
        parts = descriptor.aggregate.parts()
        self._ufuncs = [_UFUNCS[part.reduction] for part in parts]
        columns = [_part_column(part, f"part{number}") for number, part in enumerate(parts)]
        super().__init__(descriptor, table, columns)

    def add(self, values: Any) -> None:
        """Add values to the rows' keys. NULLs are skipped."""
        column, rows = _present(self, values, "add")
        lifted = self._aggregate.lift(column.to_numpy(zero_copy_only=False))
        slots = self._written(rows)
        for number, (ufunc, part) in enumerate(zip(self._ufuncs, lifted, strict=True)):
            kept = self.table.column(number)
            ufunc.at(kept, slots, np.asarray(part).astype(kept.dtype))

    def get(self) -> pa.Array:
        """Results of the rows' keys. NULL if no value was added."""
        slots = self._found()
        there = np.flatnonzero(slots >= 0)
        parts = [self.table.column(number).take(slots[there]) for number in range(self._used)]
        results = pa.array(self._aggregate.result(*parts), from_pandas=False)
        places = np.full(slots.size, -1)
        places[there] = np.arange(there.size)
        return results.take(pa.array(places, mask=places < 0))


def _present(state: ColumnState, values: Any, method: str) -> tuple[pa.Array, _Rows]:
    """Values that are not NULL, and their rows."""
    column = column_values(values, state._count, f"{method}() of state {state.name!r}")
    if not column.null_count:
        return column, None
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    return column.drop_null(), rows


def _stored_type(kind: pa.DataType) -> pa.DataType | None:
    """Type in which NumPy stores values of a type. None if they are stored as Python objects."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return kind
    if pa.types.is_temporal(kind) and kind != pa.month_day_nano_interval():
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    return None


def _part_column(part: AggregatePart, name: str) -> ValueColumn:
    if not (pa.types.is_integer(part.type) or pa.types.is_floating(part.type)):
        raise StateError(f"only numbers can be reduced in columns, not {part.type}")
    dtype = np.dtype(part.type.to_pandas_dtype())
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    if part.reduction == "sum":
        initial: Any = 0
    elif part.reduction == "min":
        initial = np.inf if limits is None else limits.max
    else:
        initial = -np.inf if limits is None else limits.min
    return ValueColumn(dtype, initial, name)
