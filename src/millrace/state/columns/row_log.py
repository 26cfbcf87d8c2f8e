"""Row log: many rows per key, found by slot. Joins, rank and OVER keep their rows in it.

Rows are columns, appended batch at a time. A row is known by its number, which it keeps until it
is removed, and in deltas by its key and a sequence number, by which the rows of a key are ordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.state.columns.column_entries import ColumnEntries, values_of
from millrace.state.columns.columnar_table import ColumnarTable, ColumnsOf
from millrace.state.columns.growable_columns import column_of, grown
from millrace.state.columns.hash_index import HashIndex, Positions
from millrace.state.columns.multi_index import MultiIndex
from millrace.state.columns.positions import PositionSpace
from millrace.state.columns.slot_table import SlotTable

__all__ = ["RowLog"]


class RowLog(ColumnarTable):
    """Table of rows, in which a key may have many rows.

    The keys have slots of their own (`slots_of`). A key without rows loses its slot when the epoch
    is sealed; after a waiting epoch was accepted, when the open epoch ends. Columns of ``values``
    are numbers per row that may change (how many matches a row of an outer join has): see `touch`
    and `column`.

    Example:
        >>> log = RowLog()
        >>> log.bind(RowLog.columns_of([pa.int64()], [pa.string()]))
        >>> slots = log.slots_of([pa.array([1, 2, 1])], create=True)
        >>> _ = log.append(slots, pa.record_batch({"text": ["a", "b", "c"]}))
        >>> rows, owners = log.rows_of(log.slots_of([pa.array([1])], create=False))
        >>> log.take(rows).column(0).to_pylist()
        ['a', 'c']
    """

    has_rows = True

    @staticmethod
    def columns_of(
        key: Sequence[pa.DataType],
        row: Sequence[pa.DataType],
        values: Sequence[Any] = (),
        key_names: Sequence[str] = (),
        row_names: Sequence[str] = (),
    ) -> ColumnsOf:
        """Columns of a row log: the key, the rows, and numbers per row."""
        names = tuple(key_names), tuple(row_names)
        return ColumnsOf(tuple(key), (pa.int64(),), tuple(row), tuple(values), *names)

    def _make(self, columns: ColumnsOf) -> None:
        self.keys = SlotTable()
        self.keys.bind(ColumnsOf(columns.key))
        self.space = PositionSpace(columns.values)
        self._columns = [column_of(kind) for kind in columns.row]
        self._slot = np.zeros(0, np.int64)
        self._sequence = np.zeros(0, np.int64)
        self._index = MultiIndex()
        self._next = 0
        self._first_of_epoch = 0
        self._first_of_waiting: int | None = None
        self._emptied = np.zeros(0, np.int64)
        """Slots that may have lost their last rows when the waiting epoch was accepted or undone.
        """
        self._by_sequence: HashIndex | None = None

    # -- rows --------------------------------------------------------------------------

    def slots_of(
        self, keys: Sequence[pa.Array], create: bool, count: int | None = None
    ) -> Positions:
        """Slot of each row's key; if there is none, -1 or a new slot."""
        return self.keys.slots_of(keys, create, count)

    def append(self, slots: Positions, batch: pa.RecordBatch) -> Positions:
        """Add a row per slot; returns the numbers of the rows."""
        self._by_sequence = None
        rows = self.space.allocate(slots.size)
        sequence = np.arange(self._next, self._next + slots.size)
        self._next += slots.size
        self._set(rows, slots, sequence, batch.columns)
        return rows

    def counts(self, slots: Positions) -> Positions:
        """Number of rows in each slot."""
        if self.space.touched or self.space.waits:
            _, owners = self.rows_of(slots)
            return np.bincount(owners, minlength=slots.size)
        counts = self._index.counts(np.maximum(slots, 0))
        return np.where(slots < 0, 0, counts)

    def rows_of(self, slots: Positions) -> tuple[Positions, Positions]:
        """Rows of slots, in the order in which they were appended, and for each row the index of
        its slot in ``slots``. A slot of -1 has no rows."""
        known = np.flatnonzero(slots >= 0)
        rows = self._index.rows(slots.take(known))
        owners = np.repeat(known, self._index.counts(slots.take(known)))
        live = self.space.live.take(rows)
        return (rows, owners) if live.all() else (rows[live], owners[live])

    def former_rows_of(self, slots: Positions) -> tuple[Positions, Positions]:
        """The rows of slots, in the form of `rows_of`, as of the last `mark` of the open epoch.
        Without a mark, as of the beginning of the epoch. `take` can still read rows that the epoch
        has removed.
        """
        rows = self._index.rows(slots)
        owners = np.repeat(np.arange(slots.size), self._index.counts(slots))
        kept = self.space.live_at_mark(rows)
        return rows[kept], owners[kept]

    def mark(self) -> None:
        """Set a mark in the open epoch: `former_rows_of` then returns the rows at this mark."""
        self.space.mark()

    def remove(self, rows: Positions) -> None:
        """Remove the given rows. No row may occur twice."""
        self.space.remove(rows)

    def take(self, rows: Positions) -> pa.RecordBatch:
        """The rows as a record batch."""
        assert self.columns is not None
        names = [f"row{number}" for number in range(len(self._columns))]
        return pa.record_batch([column.take(rows) for column in self._columns], names)

    def take_column(self, number: int, rows: Positions) -> pa.Array:
        """One column of the rows."""
        return self._columns[number].take(rows)

    def slots_at(self, rows: Positions) -> Positions:
        """Slot of each of the given rows."""
        return self._slot.take(rows)

    def sequence_at(self, rows: Positions) -> npt.NDArray[np.int64]:
        """Sequence numbers of rows; a row appended later has a greater number."""
        return self._sequence.take(rows)

    def column(self, number: int) -> npt.NDArray[Any]:
        """Column of values by row number, which may be changed in place. The array is valid until
        the next `append`.
        """
        return self.space.values[number]

    def touch(self, rows: Positions) -> None:
        """Record that the values of the given rows are about to change; a row may occur
        repeatedly."""
        self.space.touch(rows)

    def live_rows(self) -> Positions:
        """Numbers of all rows in the log."""
        return np.flatnonzero(self.space.live[: self.space.end])

    # -- epochs ------------------------------------------------------------------------

    def seal(self) -> None:
        if self.columns is None:
            return
        self._by_sequence = None
        # a key that came and went within the epoch may have had no row at all
        touched = self.keys.space.changed()[0]
        slots = self._unlink(self.space.seal())
        self.keys.seal()
        self._remove_empty(np.union1d(slots, touched))
        self._remove_emptied()
        self._first_of_epoch = self._next

    def roll_back(self) -> None:
        if self.columns is None:
            return
        self._by_sequence = None
        if self.space.touched:
            self.generation += 1
            self._unlink(self.space.roll_back())
        self.keys.roll_back()
        self._next = self._first_of_epoch

    def begin_next(self) -> None:
        if self.columns is None:
            return
        self.space.begin_next()
        self.keys.begin_next()
        self._remove_emptied()
        self._first_of_waiting, self._first_of_epoch = self._first_of_epoch, self._next

    def accept(self) -> None:
        if self._first_of_waiting is None:
            return
        self._by_sequence = None
        touched = self.keys.space.waiting
        slots = self._unlink(self.space.accept())
        self.keys.accept()
        # the open epoch may be about to use them: they are removed when it ends
        self._emptied = np.union1d(slots, touched)
        self._first_of_waiting = None

    def roll_back_waiting(self) -> None:
        if self._first_of_waiting is None:
            return
        self._by_sequence = None
        if self.space.waits:
            self.generation += 1
            slots = self._unlink(self.space.roll_back_waiting())
            self._emptied = np.union1d(self._emptied, slots)
        self.keys.roll_back_waiting()
        self._next = self._first_of_epoch = self._first_of_waiting
        self._first_of_waiting = None

    def _unlink(self, rows: Positions) -> Positions:
        """Forget rows that were freed; returns their slots."""
        if not rows.size:
            return rows
        slots = np.unique(self._slot.take(rows))
        self._index.purge(slots, self.space.is_kept)
        for column in self._columns:
            column.free(rows)
        return slots

    def _remove_emptied(self) -> None:
        self._remove_empty(self._emptied)
        self._emptied = self._emptied[:0]

    def _remove_empty(self, slots: Positions) -> None:
        """Remove those of the distinct slots that have no rows."""
        if slots.size:
            empty = slots[self._index.counts(slots) == 0]
            self.keys.discard(empty[self.keys.space.is_settled(empty)])

    # -- restoring ---------------------------------------------------------------------

    def _arrays(self, positions: Positions) -> list[pa.Array]:
        keys = self.keys.keys_at(self._slot.take(positions))
        sequence = pa.array(self._sequence.take(positions))
        return [*keys, sequence, *(column.take(positions) for column in self._columns)]

    def _put(self, entries: ColumnEntries) -> None:
        arrays = entries.key_columns()
        sequence = np.ascontiguousarray(arrays.pop().to_numpy(zero_copy_only=False))
        slots = self.keys.slots_of(arrays, True, len(entries))
        self.keys.seal()
        rows = self._restored_rows().find([slots, sequence])
        new = np.flatnonzero(rows < 0)
        values = entries.value_columns()
        width = len(self._columns)
        if new.size:
            rows[new] = self.space.allocate(new.size, undoable=False)
            where = pa.array(new)
            taken = [array.take(where) for array in values[:width]]
            self._set(rows.take(new), slots.take(new), sequence.take(new), taken)
            self._restored_rows().insert([slots.take(new), sequence.take(new)], rows.take(new))
            self._next = self._first_of_epoch = max(self._next, int(sequence.max()) + 1)
        for mine, column in zip(self.space.values, values[width:], strict=True):
            mine[rows] = values_of(column, mine.dtype)

    def _delete(self, keys: list[pa.Array]) -> None:
        sequence = np.ascontiguousarray(keys[-1].to_numpy(zero_copy_only=False))
        slots = self.keys.slots_of(keys[:-1], False, sequence.size)
        rows = self._restored_rows().find([slots, sequence])
        rows = rows[rows >= 0]
        self._restored_rows().delete(rows)
        self.space.discard(rows)
        self._remove_empty(self._unlink(rows))

    def _restored_rows(self) -> HashIndex:
        """Rows by slot and sequence number, while deltas are being applied."""
        if self._by_sequence is None:
            rows = self.live_rows()
            self._by_sequence = HashIndex(2)
            self._by_sequence.insert([self._slot.take(rows), self._sequence.take(rows)], rows)
        return self._by_sequence

    def _set(
        self, rows: Positions, slots: Positions, sequence: Positions, columns: Sequence[pa.Array]
    ) -> None:
        self._slot = grown(self._slot, self.space.end)
        self._sequence = grown(self._sequence, self.space.end)
        self._slot[rows], self._sequence[rows] = slots, sequence
        for mine, column in zip(self._columns, columns, strict=True):
            mine.set(rows, column)
        self._index.add(slots, rows)
