"""When time next ends something of a key.

Looked up lazily: a key whose partial matches went on is found not to be due yet, and put back.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

__all__ = ["Deadlines"]


class Deadlines:
    """When to look at which key."""

    def __init__(self) -> None:
        self._next: dict[Any, int] = {}
        self._heap: list[tuple[int, int, Any]] = []
        self._ties = count()

    def set(self, key: Any, time: int) -> None:
        """Look at a key at ``time``, unless that is done before anyway."""
        known = self._next.get(key)
        if known is None or time < known:
            self._next[key] = time
            heappush(self._heap, (time, next(self._ties), key))

    def fill(self, times: dict[Any, int]) -> None:
        """Begin anew with these."""
        self._next = times
        self._heap = [(time, next(self._ties), key) for key, time in times.items()]
        heapify(self._heap)

    def take_due(self, until: int) -> list[Any]:
        """The keys to look at up to ``until``, earliest first; they have to be set again."""
        due = []
        while self._heap and self._heap[0][0] <= until:
            time, _, key = heappop(self._heap)
            if self._next.get(key) == time:
                del self._next[key]
                due.append(key)
        return due

    def earliest(self) -> int | None:
        """When to look next."""
        while self._heap and self._next.get(self._heap[0][2]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None
