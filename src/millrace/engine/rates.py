"""Rates: recent work of subtasks per second, computed from sums that every epoch increases.

Flink's meters cover the last minute. Here the time is `WINDOW`, so that users see the present work
of a job at once; a longer epoch is a window by itself.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

__all__ = ["Rates", "SubtaskTotals"]

WINDOW = 10.0
"""Seconds over which the rates are computed."""
_SPACING = 1.0
"""Seconds between two remembered sums."""

SubtaskId = tuple[int, int]
"""(stage, subtask)."""


class SubtaskTotals(NamedTuple):
    """Totals of a subtask's work in a run."""

    records_in: float = 0
    records_out: float = 0
    busy_ms: float = 0
    """Milliseconds in which the subtask worked."""
    handing_ms: float = 0
    """Milliseconds in which the subtask waited until its output was taken."""
    bytes_in: float = 0
    bytes_out: float = 0

    def plus(self, other: SubtaskTotals) -> SubtaskTotals:
        """Sum of both totals."""
        return SubtaskTotals(*(a + b for a, b in zip(self, other, strict=True)))

    def per_second(self, before: SubtaskTotals, seconds: float) -> SubtaskTotals:
        """Increase since ``before``, per second."""
        return SubtaskTotals(*((a - b) / seconds for a, b in zip(self, before, strict=True)))


_NOTHING = SubtaskTotals()


class Rates:
    """Keeps the sums of the last seconds."""

    def __init__(self) -> None:
        self.totals: dict[SubtaskId, SubtaskTotals] = {}
        self._remembered: deque[tuple[float, dict[SubtaskId, SubtaskTotals]]] = deque()
        self._now = 0.0

    def begin(self, now: float) -> None:
        """Begin with sums of 0; ``now`` is in seconds of a monotonic clock."""
        self.totals = {}
        self._remembered.clear()
        self._remembered.append((now, {}))

    def add(self, now: float, done: dict[SubtaskId, SubtaskTotals]) -> None:
        """Add the work ``done`` of an epoch that was accepted at ``now``."""
        if not self._remembered:
            self.begin(now)
        for subtask, totals in done.items():
            self.totals[subtask] = self.totals.get(subtask, _NOTHING).plus(totals)
        known = self._remembered
        while len(known) > 1 and known[1][0] <= now - WINDOW:
            known.popleft()
        self._now = now
        if now - known[-1][0] >= _SPACING:
            known.append((now, dict(self.totals)))

    def of(self, subtask: SubtaskId) -> SubtaskTotals:
        """Work of a subtask per second."""
        since, totals = self._remembered[0]
        seconds = max(self._now - since, 1e-6)
        total = self.totals.get(subtask, _NOTHING)
        return total.per_second(totals.get(subtask, _NOTHING), seconds)
