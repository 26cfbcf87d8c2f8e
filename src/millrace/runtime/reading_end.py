"""Early end of an epoch's reading, which is needed if a request waits for the end of the epoch.

The driver cannot send messages to a task that runs on Spark. So it creates a file whose name is in
the epoch's plan, and source subtasks check for the file between two batches. If the job's directory
is in an object store, workers on other machines cannot see the file. The driver then creates an
object as well, for which a thread asks at a bounded rate while an epoch takes long.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from millrace.filesystem.registry import exists
from millrace.runtime.call_costs import CallCosts

__all__ = ["SUFFIX", "BatchPace", "ReadingEnd"]

SUFFIX = ".end"
"""Suffix of the file's name."""
LOOK = 0.05
"""Seconds between two checks for the file."""
REQUEST = 2.0
"""Seconds between two requests for the object, and before the first one. An epoch of usual length
makes no request."""
_BATCH = 0.1
"""Maximum duration of a batch of records in seconds, so that the wish to end is noticed soon."""


class ReadingEnd:
    """Tells whether an epoch must end its reading now.

    Args:
        path: path of the file. None if reading never ends early.
        shared: location of the object. None if all workers can see the file.

    Example:
        >>> import tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "3-0.end")
        >>> end = ReadingEnd(path, clock=iter(range(9)).__next__)
        >>> end.is_wanted()
        False
        >>> open(path, "w").close()
        >>> end.is_wanted()
        True
    """

    def __init__(
        self,
        path: str | None,
        shared: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path, self.shared = path, shared
        self._clock = clock
        self._next_look = 0.0
        self._next_request: float | None = None
        self._request: Thread | None = None
        self._is_there = False

    def is_wanted(self) -> bool:
        """Whether the file or object that asks for the end exists. Looks for it at most every
        `LOOK` seconds.
        """
        if self.path is None:
            return False
        now = self._clock()
        if now < self._next_look:
            return False
        self._next_look = now + LOOK
        if self.shared is not None:
            self._ask(self.shared, now)
        return self._is_there or os.path.exists(self.path)

    def _ask(self, location: str, now: float) -> None:
        """Look for the object in a thread, because the store may be slow. Does nothing if such a
        thread is still running, or if the last request is too recent."""
        if self._next_request is None:
            self._next_request = now + REQUEST
        elif now >= self._next_request and (self._request is None or not self._request.is_alive()):
            self._next_request = now + REQUEST
            self._request = Thread(target=self._look, args=(location,), daemon=True)
            self._request.start()

    def _look(self, location: str) -> None:
        with suppress(Exception):  # a store that does not answer ends nothing
            self._is_there = exists(location)


class BatchPace:
    """Adapts the number of records per batch to the time that a batch takes, if records are slow to
    process. If calls of functions are expensive, `CallCosts` decides the size of batches.

    Example:
        >>> pace = BatchPace()
        >>> pace.observe(4096, 40.96)
        >>> pace.limit(4096), pace.limit(8)
        (10, 8)
    """

    def __init__(self) -> None:
        self._records: int | None = None
        """Maximum number of records of a batch. None as long as batches are fast."""
        self._costs = CallCosts()

    def limit(self, records: int) -> int:
        """Maximum number of records for the next batch, at most ``records``."""
        if self._records is None:
            return records
        return min(records, max(self._records, self._costs.least))

    def observe(self, records: int, seconds: float) -> None:
        """Record the time that a batch took. A batch without records is ignored."""
        if not records:
            return
        self._costs.observe(records, seconds)
        if seconds > _BATCH:
            self._records = max(1, int(records * _BATCH / seconds))
        elif self._records is not None and records >= self._records:
            self._records *= 2
