"""Timers, which are kept as state. Event-time timers fire with the watermark, processing-time
timers with the clock.

A timer is an entry of a nested table: timestamp, then (key, namespace). The heap of timestamps is
derived from the table and made again whenever the table changed under it.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

from millrace.state.kinds.table_kind import TableKind
from millrace.state.nested_table import NestedTable
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId

OnTimer = Callable[[int, Any, Any], None]
"""Called with timestamp, key and namespace."""


class TimerQueue:
    """Timers of one operator in one time domain."""

    def __init__(self, state: SubtaskState, name: TableId, kind: TableKind) -> None:
        self._table: NestedTable = state.table(name, kind)
        self._heap: list[int] = []

    def register(self, timestamp: int, key: Any, namespace: Any = None) -> None:
        """Set a timer. Setting the same timer again has no effect."""
        if timestamp not in self._table.data:
            heappush(self._heap, timestamp)
        self._table.put(timestamp, (key, namespace), True)

    def delete(self, timestamp: int, key: Any, namespace: Any = None) -> None:
        """Remove a timer if it is set."""
        self._table.remove(timestamp, (key, namespace))

    def fire(self, until: int, on_timer: OnTimer) -> None:
        """Fire all timers up to and including ``until``, the earliest first. Timers that are set
        during this call are included."""
        heap = self._heap
        while heap and heap[0] <= until:
            timestamp = heappop(heap)
            for key, namespace in self._table.drop(timestamp):
                on_timer(timestamp, key, namespace)

    def earliest(self) -> int | None:
        """Time of the next timer. None if there is no timer."""
        heap, data = self._heap, self._table.data
        while heap and heap[0] not in data:
            heappop(heap)
        return heap[0] if heap else None

    def refresh(self) -> None:
        """Rebuild the heap after the table was restored, replayed or rolled back."""
        self._heap = list(self._table.data)
        heapify(self._heap)
