"""Load of a subtask: the time in which it is busy, back-pressured or idle.

Flink docs, "Monitoring Back Pressure". A subtask that has input but must wait for its turn in the
loop is busy, as a thread of Flink that waits for a processor is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum

__all__ = ["Load", "LoadMeter"]


class Load(Enum):
    """State of a subtask at a moment: busy, back-pressured or idle."""

    IDLE = "IDLE"
    """The subtask has nothing to do."""
    BUSY = "BUSY"
    """The subtask works, waits for its turn, or waits for the requests of an asynchronous function
    that takes no more of them."""
    BACK_PRESSURED = "BACK_PRESSURED"
    """The subtask waits until its output is taken."""


class LoadMeter:
    """Measures the time that a subtask is busy, back-pressured or idle.

    Args:
        clock: seconds of a monotonic clock.

    Example:
        >>> times = iter([0.0, 2.0, 5.0, 6.0])
        >>> meter = LoadMeter(lambda: next(times))
        >>> meter.enter(Load.BUSY)
        >>> meter.enter(Load.BACK_PRESSURED)
        >>> meter.taken()
        (3.0, 1.0)
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.load = Load.IDLE
        self._since = clock()
        self._busy = self._back_pressured = 0.0

    def enter(self, load: Load) -> None:
        """Note that the subtask is busy, back-pressured or idle from now on."""
        self._count()
        self.load = load

    def taken(self) -> tuple[float, float]:
        """Seconds in which the subtask was busy, and in which it was back-pressured, since the last
        call. Consecutive calls cover all time exactly once.
        """
        self._count()
        taken = self._busy, self._back_pressured
        self._busy = self._back_pressured = 0.0
        return taken

    def _count(self) -> None:
        now = self._clock()
        if self.load is Load.BUSY:
            self._busy += now - self._since
        elif self.load is Load.BACK_PRESSURED:
            self._back_pressured += now - self._since
        self._since = now
