"""`ExpiryQueue`: finds the due rows of a state without checking the other rows."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from millrace.state.columns.hash_index import Positions

__all__ = ["ExpiryQueue"]

Times = npt.NDArray[np.int64]


class ExpiryQueue:
    """Row numbers by time. Rows are removed only by `due`.

    Example:
        >>> queue = ExpiryQueue()
        >>> queue.add(np.array([0, 1, 2]), np.array([30, 10, 20]))
        >>> queue.due(20).tolist(), queue.earliest()
        ([1, 2], 30)
    """

    def __init__(self) -> None:
        self._runs: list[tuple[int, int, Positions, Times]] = []
        """Per batch: its first time, a number, and rows and times in order."""
        self._number = 0

    def add(self, rows: Positions, times: Times) -> None:
        """Add rows with their times."""
        if rows.size:
            order = np.argsort(times, kind="stable")
            self._push(rows.take(order), times.take(order))

    def earliest(self) -> int | None:
        """Earliest time in the queue. None if there are no rows."""
        return self._runs[0][0] if self._runs else None

    def due(self, until: int) -> Positions:
        """Remove the rows whose time is not after ``until``, and return them."""
        parts = [np.zeros(0, np.int64)]
        while self._runs and self._runs[0][0] <= until:
            _, _, rows, times = heapq.heappop(self._runs)
            end = int(np.searchsorted(times, until, side="right"))
            parts.append(rows[:end])
            if end < rows.size:
                self._push(rows[end:], times[end:])
        return np.concatenate(parts)

    def _push(self, rows: Positions, times: Times) -> None:
        self._number += 1
        heapq.heappush(self._runs, (int(times[0]), self._number, rows, times))
