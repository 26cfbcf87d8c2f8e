"""Waker: lets other threads wake the loop that drives a subtask."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Waker"]


class Waker:
    """Wake-up calls for one subtask, from any thread.

    Example:
        >>> waker = Waker()
        >>> waker.wake()
        >>> waker.take(), waker.take()
        (True, False)
    """

    def __init__(self) -> None:
        self.listener: Callable[[], None] | None = None
        """Function that wakes the loop, and may be called in any thread. None if an executor calls
        the subtask in its own order: it looks for news at fixed moments."""
        self._is_set = False

    @property
    def is_heard(self) -> bool:
        """Whether a call of `wake` has an effect. If not, the loop must look from time to time
        instead.
        """
        return self.listener is not None

    @property
    def is_set(self) -> bool:
        """Whether there was a call since the last `take`."""
        return self._is_set

    def wake(self) -> None:
        """Give the subtask a turn soon. Further calls before that turn cost nothing."""
        if not self._is_set:
            self._is_set = True
            if self.listener is not None:
                self.listener()

    def take(self) -> bool:
        """Return whether there was a call since the last `take`, and forget it. If there was one,
        data that the calling thread stored before its call is visible.
        """
        if not self._is_set:  # nothing is written: a call at this moment would be lost
            return False
        self._is_set = False
        return True
