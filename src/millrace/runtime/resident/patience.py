"""Patience: time that records wait in a subtask for more records, so that one call processes many
of them.

A worker that often waits for input passes each record on at once. A saturated worker has a backlog:
a record waits longer in the queues than in any buffer, and small batches make the queues longer.
So its subtasks gather more records before they work and before they send.
"""

from __future__ import annotations

from math import exp

__all__ = ["SATURATED_TIMEOUT", "Patience", "Share"]

SATURATED_TIMEOUT = 0.05
"""Seconds that records wait at most in a subtask of a saturated worker."""
_MEMORY = 0.2
"""Seconds after which a worker's idle time counts by a third."""
_RECENT = 0.3
"""Weight of the last turn in the mean of a subtask's share."""
_LEAST_IDLE = 0.25
"""Share of idle time below which a worker is saturated."""


class Patience:
    """Time that records in one worker's subtasks may wait for more records.

    Args:
        timeout: seconds that records wait at most for a buffer to fill; 0: each record is
            processed and sent alone. None: until it is full, or the next barrier.
        saturated: the same of a saturated worker.

    Example:
        >>> patience = Patience(0.005, 0.05)
        >>> for _ in range(20):
        ...     patience.observe(idle=0.001, busy=0.02, has_worked=True)
        >>> patience.is_saturated
        True
    """

    def __init__(self, timeout: float | None = 0.005, saturated: float = 0.0) -> None:
        self.timeout = timeout
        self.saturated = saturated
        self._idle_share = 1.0
        self._is_longer = timeout is not None and 0 < timeout < saturated
        self.is_saturated = False
        """Whether the worker has hardly been idle, and has just worked. Never if the timeout of a
        saturated worker is no longer."""

    def observe(self, idle: float, busy: float, has_worked: bool) -> None:
        """Note one step of the worker's loop.

        Args:
            idle: seconds in which the worker waited.
            busy: seconds of its subtasks' turns.
            has_worked: whether a subtask had anything to do.
        """
        total = idle + busy
        if total > 0:
            kept = exp(-total / _MEMORY)
            self._idle_share = kept * self._idle_share + (1 - kept) * idle / total
        is_busy = has_worked and self._idle_share < _LEAST_IDLE
        self.is_saturated = is_busy and self._is_longer

    def end(self) -> None:
        """Stop waiting for more records, because no subtask has anything else to do."""
        self.is_saturated = False


class Share:
    """Share of a worker's time that one of its subtasks takes.

    Example:
        >>> share = Share()
        >>> for number in range(20):
        ...     share.observe(number + 0.75, number + 1.0)
        >>> round(share.of_worker, 2)
        0.25
    """

    def __init__(self) -> None:
        self.of_worker = 0.0
        """Mean over the last turns."""
        self._ended: float | None = None

    def observe(self, began: float, ended: float) -> None:
        """Record the beginning and the end of a turn, in seconds."""
        since, self._ended = self._ended, ended
        if since is not None and ended > since:
            self.of_worker += _RECENT * ((ended - began) / (ended - since) - self.of_worker)
