"""The end of an epoch's reading before its limit: somebody waits for the epoch to end.

The driver cannot speak to a task that runs on Spark. So it makes a file whose name the epoch's plan
has, and source subtasks look for that between two batches. Where they cannot see it, because the
job's directory is in an object store and they are on other machines, they read up to the limit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

__all__ = ["SUFFIX", "BatchPace", "ReadingEnd"]

SUFFIX = ".end"
"""Of the file's name."""
LOOK = 0.05
"""Seconds between two looks for the file."""
_BATCH = 0.1
"""Seconds that a batch of records should take at most, so that nobody waits for it."""


class ReadingEnd:
    """Says whether an epoch is to end its reading now.

    Args:
        path: of the file; None: it never is.

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

    def __init__(self, path: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._clock = clock
        self._next_look = 0.0

    def is_wanted(self) -> bool:
        """Whether the file is there; looks at most every `LOOK` seconds."""
        if self.path is None:
            return False
        now = self._clock()
        if now < self._next_look:
            return False
        self._next_look = now + LOOK
        return os.path.exists(self.path)


class BatchPace:
    """Adapts the records of a batch to the time that a batch takes where records are dear.

    Example:
        >>> pace = BatchPace()
        >>> pace.observe(4096, 40.96)
        >>> pace.limit(4096), pace.limit(8)
        (10, 8)
    """

    def __init__(self) -> None:
        self._records: int | None = None
        """None: any batch is quick."""

    def limit(self, records: int) -> int:
        """At most so many records for the next batch."""
        return records if self._records is None else min(records, self._records)

    def observe(self, records: int, seconds: float) -> None:
        """A batch of so many records took so long; one without records says nothing of them."""
        if not records:
            return
        if seconds > _BATCH:
            self._records = max(1, int(records * _BATCH / seconds))
        elif self._records is not None and records >= self._records:
            self._records *= 2
