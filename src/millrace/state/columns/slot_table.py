"""Slot table: each key has a slot, and numeric columns by slot change in place.

Aggregates keep their accumulators in it: `SlotTable.slots_of` gives the slots of a batch of keys,
NumPy adds to the columns at these slots, and the epoch's delta has the touched slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.state.columns.column_entries import ColumnEntries, values_of
from millrace.state.columns.columnar_table import ColumnarTable, ColumnsOf
from millrace.state.columns.hash_index import Positions, Word
from millrace.state.columns.key_columns import KeyColumns, first_rows
from millrace.state.columns.positions import PositionSpace

__all__ = ["SlotTable"]


class SlotTable(ColumnarTable):
    """Table in which each key has a slot.

    Null is a key like any other. The slots of removed keys are used again once the epoch that
    removed them is accepted.
    Columns may be written only at new slots and at slots passed to `touch`, because the delta and
    the roll-back of an epoch rely on these notes.

    Example:
        >>> from millrace.state.columns.positions import ValueColumn
        >>> table = SlotTable()
        >>> count = ValueColumn(np.dtype("i8"))
        >>> table.bind(ColumnsOf((pa.string(),), values=(count,)))
        >>> slots = table.slots_of([pa.array(["a", "b", "a"])], create=True)
        >>> table.touch(slots)
        >>> np.add.at(table.column(0), slots, 1)
        >>> table.column(0)[slots].tolist(), table.keys_at(slots)[0].to_pylist()
        ([2, 1, 2], ['a', 'b', 'a'])
    """

    def _make(self, columns: ColumnsOf) -> None:
        self._keys = KeyColumns((*columns.key, *columns.inner))
        self.space = PositionSpace(columns.values)

    def slots_of(
        self, keys: Sequence[pa.Array], create: bool, count: int | None = None
    ) -> Positions:
        """Slot of each row's key.

        Args:
            keys: columns of the stream's key, followed by columns of the entry's own key.
            create: whether a missing key gets a slot with initial values; if not, its slot is -1.
            count: number of rows, if there are no key columns (a single group).
        """
        size = len(keys[0]) if keys else count or 0
        words = self._keys.words(keys, size)
        slots = self._live(self._keys.find(words))
        if create:
            missing = np.flatnonzero(slots < 0)
            if missing.size:
                slots[missing] = self._create(keys, words, missing, True)
        return slots

    def column(self, number: int) -> npt.NDArray[Any]:
        """Column of values by slot. The array is valid until `slots_of` creates slots the next
        time."""
        return self.space.values[number]

    def touch(self, slots: Positions) -> None:
        """Record that the values at the given slots are about to change; a slot may occur
        repeatedly."""
        self.space.touch(slots)

    def mark(self) -> None:
        """Set a mark in the open epoch: ``space.marked()`` then returns the states at this mark."""
        self.space.mark()

    def remove(self, slots: Positions) -> None:
        """Remove slots together with their keys. No slot may occur twice."""
        self.space.remove(slots)

    def discard(self, slots: Positions) -> None:
        """Remove slots and their keys immediately, without recording a change of the epoch. The
        slots must be all different."""
        self._keys.delete(slots)
        self.space.discard(slots)

    def keys_at(self, slots: Positions) -> list[pa.Array]:
        """Keys of slots, as one array per column."""
        return self._keys.at(slots)

    def live_slots(self) -> Positions:
        """All slots that have a key."""
        return np.flatnonzero(self.space.live[: self.space.end])

    # -- epochs ------------------------------------------------------------------------

    def seal(self) -> None:
        if self.columns is not None:
            self._keys.delete(self.space.seal())

    def roll_back(self) -> None:
        if self.space.touched:
            self.generation += 1
            self._keys.delete(self.space.roll_back())

    def begin_next(self) -> None:
        self.space.begin_next()

    def accept(self) -> None:
        if self.columns is not None:
            self._keys.delete(self.space.accept())

    def roll_back_waiting(self) -> None:
        if self.space.waits:
            self.generation += 1
            self._keys.delete(self.space.roll_back_waiting())

    # -- restoring ---------------------------------------------------------------------

    def _arrays(self, positions: Positions) -> list[pa.Array]:
        return self._keys.at(positions)

    def _put(self, entries: ColumnEntries) -> None:
        keys = entries.key_columns()
        words = self._keys.words(keys, len(entries))
        slots = self._keys.find(words)
        missing = np.flatnonzero(slots < 0)
        if missing.size:
            slots[missing] = self._create(keys, words, missing, False)
        pairs = zip(self.space.values, entries.value_columns(), strict=True)
        for values, column in pairs:
            values[slots] = values_of(column, values.dtype)

    def _delete(self, keys: list[pa.Array]) -> None:
        slots = self._keys.find(self._keys.words(keys, len(keys[0]) if keys else 1))
        self.discard(slots[slots >= 0])

    # -- keys --------------------------------------------------------------------------

    def _live(self, slots: Positions) -> Positions:
        if slots.size and self.space.live.size:
            # -1 looks at the last slot, whatever it is
            gone = ~self.space.live.take(slots, mode="wrap")
            if gone.any():
                slots[gone] = -1
        return slots

    def _create(
        self, keys: Sequence[pa.Array], words: list[Word], rows: Positions, undoable: bool
    ) -> Positions:
        """New slots for the rows' keys. The table must have no live slot for any of these keys."""
        firsts, numbers = first_rows([word.take(rows) for word in words])
        of_rows = rows.take(firsts)
        slots = self._keys.find([word.take(of_rows) for word in words])
        removed = slots[slots >= 0]  # by the open or the waiting epoch
        if removed.size:
            self.space.revive(removed)
        new = np.flatnonzero(slots < 0)
        made = self.space.allocate(new.size, undoable)
        slots[new] = made
        self._keys.add(keys, words, of_rows.take(new), made)
        return slots.take(numbers)
