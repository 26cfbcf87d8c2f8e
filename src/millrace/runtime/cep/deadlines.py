"""Deadlines of keys: the next time at which a partial match or transition of a key ends.

Deadlines are checked lazily: if a key's partial matches have changed and it is not due yet, the
caller sets its new deadline.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

__all__ = ["Deadlines"]


class Deadlines:
    """Keys by the time of their next check."""

    def __init__(self) -> None:
        self._next: dict[Any, int] = {}
        self._heap: list[tuple[int, int, Any]] = []
        self._ties = count()

    def set(self, key: Any, time: int) -> None:
        """Check a key at ``time``, unless an earlier check is already scheduled."""
        known = self._next.get(key)
        if known is None or time < known:
            self._next[key] = time
            heappush(self._heap, (time, next(self._ties), key))

    def fill(self, times: dict[Any, int]) -> None:
        """Replace all deadlines with the given ones."""
        self._next = times
        self._heap = [(time, next(self._ties), key) for key, time in times.items()]
        heapify(self._heap)

    def take_due(self, until: int) -> list[Any]:
        """Remove the keys to check up to ``until`` and return them, the earliest first. They
        must be set again."""
        due = []
        while self._heap and self._heap[0][0] <= until:
            time, _, key = heappop(self._heap)
            if self._next.get(key) == time:
                del self._next[key]
                due.append(key)
        return due

    def earliest(self) -> int | None:
        """Time of the next check. None if there is none."""
        while self._heap and self._next.get(self._heap[0][2]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None
