"""`Sessions`: the open sessions of each key, merged batch by batch.

A row's own session ends a gap after it; sessions that overlap or touch are one. Sessions are rows
of a `RowLog` whose first two numbers are their start and end, in ms. Flink: ``MergingWindowSet``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.runtime.expiry_queue import ExpiryQueue
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.row_log import RowLog
from millrace.table_runtime.window_slices import Times

__all__ = ["SESSION_BOUNDS", "Sessions"]

_START, _END = 0, 1
SESSION_BOUNDS = (
    ValueColumn(np.dtype(np.int64), name="start"),
    ValueColumn(np.dtype(np.int64), name="end"),
)
"""The first numbers of a session."""
_NOTHING = pa.RecordBatch.from_struct_array(pa.array([], pa.struct([])))

Merge = Callable[[Positions, Positions], None]
"""Called to merge what belongs to sessions: into the first ones from the second ones, which are
removed then."""


class Sessions:
    """Open sessions by key.

    Args:
        log: log of the sessions, without columns of rows.
        gap: gap in ms.
        merge: called before the removal of sessions that were merged into others.
    """

    def __init__(self, log: RowLog, gap: int, merge: Merge) -> None:
        self._log, self._gap, self._merge = log, gap, merge
        self.restore()

    def restore(self) -> None:
        """Refresh after a restore has changed the log."""
        self._queue = ExpiryQueue()
        rows = self._log.live_rows()
        if rows.size:
            self._queue.add(rows, self.ends(rows) - 1)

    def starts(self, sessions: Positions) -> Times:
        """Time of the first row of each session."""
        starts: Times = self._log.column(_START).take(sessions)
        return starts

    def ends(self, sessions: Positions) -> Times:
        """End of each session: the time of its last row plus the gap."""
        ends: Times = self._log.column(_END).take(sessions)
        return ends

    # -- rows --------------------------------------------------------------------------

    def add(
        self, keys: Sequence[pa.Array], times: Times, watermark: int
    ) -> tuple[Positions, Positions | None]:
        """Put rows into sessions: create, extend and merge sessions.

        A row that is late by itself belongs to a session that is still open, if it touches one.

        Returns:
            The session of each row that is not late, and the positions of these rows; None instead
            of the positions if no row is late.
        """
        late = times + self._gap - 1 <= watermark
        if not late.any():
            return self._put(keys, times), None
        accepted, waiting = np.flatnonzero(~late), np.flatnonzero(late)
        self._put(_taken(keys, accepted), times.take(accepted))
        while waiting.size:
            touching = self._touch_open(_taken(keys, waiting), times.take(waiting))
            if not touching.any():
                break
            joined = waiting[touching]
            self._put(_taken(keys, joined), times.take(joined))
            accepted, waiting = np.concatenate([accepted, joined]), waiting[~touching]
        accepted.sort()
        # all are part of a session by now; this finds which
        return self._put(_taken(keys, accepted), times.take(accepted)), accepted

    def _touch_open(self, keys: Sequence[pa.Array], times: Times) -> npt.NDArray[np.bool_]:
        slots = self._log.slots_of(keys, False, times.size)
        sessions, owners = self._log.rows_of(slots)
        own = times.take(owners)
        near = (self.starts(sessions) <= own + self._gap) & (own <= self.ends(sessions))
        touched = np.zeros(times.size, np.bool_)
        touched[owners[near]] = True
        return touched

    def _put(self, keys: Sequence[pa.Array], times: Times) -> Positions:
        """Session of each row."""
        if not times.size:
            return np.zeros(0, np.int64)
        slots = self._log.slots_of(keys, True, times.size)
        order = np.lexsort((times, slots))
        sorted_slots, sorted_times = slots.take(order), times.take(order)
        begins = np.ones(times.size, np.bool_)
        begins[1:] = (np.diff(sorted_slots) != 0) | (np.diff(sorted_times) > self._gap)
        first = np.flatnonzero(begins)
        last = np.append(first[1:], times.size) - 1
        sessions = self._united(
            sorted_slots.take(first), sorted_times.take(first), sorted_times.take(last) + self._gap
        )
        row_sessions = np.empty(times.size, np.int64)
        row_sessions[order] = sessions.take(np.cumsum(begins) - 1)
        return row_sessions

    def _united(self, slots: Positions, starts: Times, ends: Times) -> Positions:
        """For each new interval, the session that it becomes or is merged into. The new
        intervals do not touch one another."""
        known, _ = self._log.rows_of(np.unique(slots))
        if not known.size:
            return self._append(slots, starts, ends)
        # the known ones go first, so that they are the ones that others are merged into
        slots = np.concatenate([self._log.slots_at(known), slots])
        starts = np.concatenate([self.starts(known), starts])
        ends = np.concatenate([self.ends(known), ends])
        groups = _touching(slots, starts, ends)
        count = int(groups.max()) + 1
        rows = np.full(count, -1)
        rows[groups[: known.size][::-1]] = known[::-1]
        first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, -(2**63))
        np.minimum.at(first, groups, starts)
        np.maximum.at(last, groups, ends)
        kept = rows.take(groups[: known.size])
        merged = kept != known
        if merged.any():
            self._log.touch(kept[merged])
            self._merge(kept[merged], known[merged])
            self._log.remove(known[merged])
        there = np.flatnonzero(rows >= 0)
        changed = there[
            (self.starts(rows[there]) != first[there]) | (self.ends(rows[there]) != last[there])
        ]
        self._log.touch(rows[changed])
        self._log.column(_START)[rows[changed]] = first[changed]
        self._log.column(_END)[rows[changed]] = last[changed]
        new = np.flatnonzero(rows < 0)
        if new.size:
            owner = np.empty(count, np.int64)
            owner[groups] = slots
            rows[new] = self._append(owner[new], first[new], last[new])
        return rows.take(groups[known.size :])

    def _append(self, slots: Positions, starts: Times, ends: Times) -> Positions:
        sessions = self._log.append(slots, _NOTHING)
        self._log.column(_START)[sessions] = starts
        self._log.column(_END)[sessions] = ends
        self._queue.add(sessions, ends - 1)
        return sessions

    # -- time --------------------------------------------------------------------------

    def due(self, watermark: int) -> Positions:
        """Sessions that the watermark has passed, ordered by their ends."""
        rows = np.unique(self._queue.due(watermark))
        rows = rows[self._log.space.live.take(rows)] if rows.size else rows
        ends = self.ends(rows)
        extended = ends - 1 > watermark
        self._queue.add(rows[extended], ends[extended] - 1)
        rows, ends = rows[~extended], ends[~extended]
        return rows.take(np.argsort(ends, kind="stable"))

    def earliest_end(self, default: int) -> int:
        """A lower bound for the end of the session that ends first; ``default`` if there are no
        sessions.
        """
        earliest = self._queue.earliest()
        return default if earliest is None else earliest

    def remove(self, sessions: Positions) -> None:
        """Remove sessions from the state."""
        self._log.remove(sessions)


def _taken(keys: Sequence[pa.Array], rows: Positions) -> list[pa.Array]:
    where = pa.array(rows)
    return [key.take(where) for key in keys]


def _touching(slots: Positions, starts: Times, ends: Times) -> Positions:
    """Number of a group for each interval. Intervals of a slot that overlap or touch have the
    same number; numbers are in order."""
    order = np.lexsort((starts, slots))
    slots, starts, ends = slots.take(order), starts.take(order), ends.take(order)
    # as ranks, the running maximum of ends cannot run from one slot into the next, nor overflow
    values, ranks = np.unique(np.concatenate([starts, ends]), return_inverse=True)
    changes = np.ones(slots.size, np.bool_)
    changes[1:] = np.diff(slots) != 0
    base = (np.cumsum(changes) - 1) * (values.size + 1)
    low, high = ranks[: slots.size] + base, ranks[slots.size :] + base
    reach = np.maximum.accumulate(high)
    begins = changes
    begins[1:] |= low[1:] > reach[:-1]
    groups = np.empty(slots.size, np.int64)
    groups[order] = np.cumsum(begins) - 1
    return groups
