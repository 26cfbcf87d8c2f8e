"""Multi-index from slots to row numbers, in the order in which a slot's rows were added."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from millrace.state.columns.growable_columns import grown
from millrace.state.columns.hash_index import Positions

__all__ = ["MultiIndex", "ranges"]

_MINIMUM_ROOM = 2


def ranges(starts: Positions, counts: Positions) -> Positions:
    """For each i, the ``counts[i]`` consecutive numbers that begin with ``starts[i]``; all
    concatenated.

    Example:
        >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    return np.repeat(starts - ends + counts, counts) + np.arange(total)


class MultiIndex:
    """Index in which each slot has a section of one array. A full section moves to a place with
    twice the room.
    """

    def __init__(self) -> None:
        self._start = np.zeros(0, np.int64)
        self._count = np.zeros(0, np.int64)
        self._room = np.zeros(0, np.int64)
        self._rows = np.zeros(1024, np.int64)
        self._end = 0
        self._wasted = 0

    def counts(self, slots: Positions) -> Positions:
        """Number of rows in each slot."""
        known = slots < self._count.size
        if known.all():
            return self._count.take(slots)
        return np.where(known, self._count.take(slots, mode="clip") if self._count.size else 0, 0)

    def rows(self, slots: Positions) -> Positions:
        """Rows of all slots, slot by slot."""
        counts = self.counts(slots)
        starts = self._start.take(slots, mode="clip") if self._start.size else counts
        return self._rows.take(ranges(starts, counts))

    def add(self, slots: Positions, rows: Positions) -> None:
        """Add row ``rows[i]`` to slot ``slots[i]``; a slot may occur repeatedly."""
        if not slots.size:
            return
        size = int(slots.max()) + 1
        self._start = grown(self._start, size)
        self._count = grown(self._count, size)
        self._room = grown(self._room, size)
        order = np.argsort(slots, kind="stable")
        sorted_ = slots.take(order)
        firsts = np.flatnonzero(np.concatenate([[True], sorted_[1:] != sorted_[:-1]]))
        added = np.diff(np.append(firsts, sorted_.size))
        distinct = sorted_.take(firsts)
        before = self._count.take(distinct)
        self._make_room(distinct, before + added)
        self._rows[ranges(self._start.take(distinct) + before, added)] = rows.take(order)
        self._count[distinct] = before + added

    def purge(self, slots: Positions, stay: Callable[[Positions], npt.NDArray[np.bool_]]) -> None:
        """Remove the rows of the given slots for which ``stay`` is false. The slots must be all
        different. ``stay`` takes rows, and returns a mask.
        """
        counts, starts = self.counts(slots), self._start.take(slots)
        rows = self._rows.take(ranges(starts, counts))
        kept = stay(rows)
        owner = np.repeat(np.arange(slots.size), counts)
        left = np.bincount(owner[kept], minlength=slots.size)
        self._rows[ranges(starts, left)] = rows[kept]
        self._count[slots] = left

    def _make_room(self, slots: Positions, needed: Positions) -> None:
        tight = self._room.take(slots) < needed
        if not tight.any():
            return
        slots, needed = slots[tight], needed[tight]
        room = np.maximum(2 * needed, _MINIMUM_ROOM)
        counts, starts = self._count.take(slots), self._start.take(slots)
        held = self._rows.take(ranges(starts, counts))
        self._wasted += int(self._room.take(slots).sum())
        self._room[slots] = 0
        self._count[slots] = 0
        if self._wasted > max(self._end // 2, 1 << 16):
            self._compact()
        moved = self._end + np.cumsum(room) - room
        self._end += int(room.sum())
        self._rows = grown(self._rows, self._end)
        self._rows[ranges(moved, counts)] = held
        self._start[slots], self._room[slots], self._count[slots] = moved, room, counts

    def _compact(self) -> None:
        """Write the array anew, without the unused parts."""
        used = np.flatnonzero(self._room)
        counts = self._count.take(used)
        held = self._rows.take(ranges(self._start.take(used), counts))
        room = self._room.take(used)
        starts = np.cumsum(room) - room
        self._end, self._wasted = int(room.sum()), 0
        self._rows = np.zeros(max(1024, 2 * self._end), np.int64)
        self._rows[ranges(starts, counts)] = held
        self._start[used] = starts
