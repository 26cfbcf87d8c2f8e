"""`ColumnTimers`: timers whose keys are in columns. Due timers are removed as a batch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.runtime.expiry_queue import ExpiryQueue
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.hash_index import distinct, first_of_each
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.slot_table import SlotTable

__all__ = ["ColumnTimers"]

_TIME = ValueColumn(np.dtype(np.int64), name="time")


class ColumnTimers:
    """Timers of one operator in one time domain, with a slot for each key and time.

    Args:
        table: table of the timers.
    """

    def __init__(self, table: SlotTable) -> None:
        self.table = table
        self._queue = ExpiryQueue()

    def bind(self, key: tuple[pa.DataType, ...]) -> None:
        """Set the types of the keys."""
        self.table.bind(ColumnsOf(key, (pa.int64(),), values=(_TIME,)))

    def refresh(self) -> None:
        """Refresh after the table was restored, replayed or rolled back."""
        self._queue = ExpiryQueue()
        if self.table.columns is not None:
            slots = self.table.live_slots()
            self._queue.add(slots, self.table.column(0).take(slots))

    def register(self, keys: list[pa.Array], times: pa.Array) -> None:
        """Set timers. Setting the same timer again has no effect."""
        entry, moments = _entries(keys, times)
        if not moments.size:
            return
        new = self.table.slots_of(entry, create=False) < 0
        slots = self.table.slots_of(entry, create=True)[new]
        moments = moments[new]
        self.table.column(0)[slots] = moments
        slots, firsts = first_of_each(slots)
        self._queue.add(slots, moments.take(firsts))

    def delete(self, keys: list[pa.Array], times: pa.Array) -> None:
        """Remove timers that are set."""
        entry, moments = _entries(keys, times)
        if moments.size:
            slots = self.table.slots_of(entry, create=False)
            self.table.remove(distinct(slots[slots >= 0]))

    def due(self, until: int) -> tuple[list[pa.Array], npt.NDArray[np.int64]] | None:
        """Remove the timers up to and including ``until``, and return their keys and times in
        the order of time. None if there are none."""
        slots = distinct(self._queue.due(until))
        # a timer that was deleted may be in the queue still, and its slot be another one's
        slots = slots[self.table.space.live.take(slots)] if slots.size else slots
        if slots.size:
            slots = slots[self.table.column(0).take(slots) <= until]
        if not slots.size:
            return None
        times = self.table.column(0).take(slots)
        order = np.lexsort((slots, times))
        slots, times = slots.take(order), times.take(order)
        keys = self.table.keys_at(slots)[:-1]
        self.table.remove(slots)
        return keys, times

    def earliest(self) -> int | None:
        """Lower bound of the time of the next timer. None if there is no timer."""
        return self._queue.earliest()


def _entries(keys: list[pa.Array], times: pa.Array) -> tuple[list[pa.Array], npt.NDArray[np.int64]]:
    """Keys and times of the rows that have a time."""
    times = times.cast(pa.int64())
    if times.null_count:
        there = times.is_valid()
        keys, times = [key.filter(there) for key in keys], times.filter(there)
    return [*keys, times], times.to_numpy(zero_copy_only=False)
