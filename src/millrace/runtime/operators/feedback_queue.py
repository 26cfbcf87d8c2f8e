"""Queue of records that go back to the beginning of a loop: in memory, and above a bound on disk.

Feedback takes no credit, as a loop whose beginning waits for its end would stand still. So the
queue takes everything, and only its memory is bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Any

from millrace.state.serialization.payload import decode, encode

__all__ = ["MOST_IN_MEMORY", "FeedbackQueue", "Records"]

Records = tuple[list[Any], list[int] | None]
"""Records, and their event times in ms since the epoch if they have any."""
MOST_IN_MEMORY = 1 << 17
"""Records that wait as objects. Further ones wait in encoded form."""
_MOST_BYTES = 32 << 20
"""Encoded bytes that wait in memory. Further ones wait in a temporary file."""
_BATCH = 4096
"""Approximate number of records in one encoded batch of `encoded`."""


class FeedbackQueue:
    """Batches of records, first in, first out.

    Args:
        most: records that wait as objects.

    Example:
        >>> queue = FeedbackQueue()
        >>> queue.put([1, 2, 3], None)
        >>> queue.put([4], None)
        >>> queue.take(2), queue.take(9), queue.take(9)
        (([1, 2], None), ([3, 4], None), None)
    """

    def __init__(self, most: int = MOST_IN_MEMORY) -> None:
        self._most = most
        self._batches: deque[Records] = deque()
        self._at = 0
        """Records of the first batch that have been taken."""
        self._in_memory = 0
        self._spilled: deque[tuple[int, int]] = deque()
        """Place and length of each encoded batch in the file. They follow all batches in memory."""
        self._file: SpooledTemporaryFile[bytes] | None = None
        self._end = 0
        """Length of the file."""
        self.size = 0
        """Number of records that wait."""

    def put(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Add records."""
        count = len(values)
        if not count:
            return
        self.size += count
        if self._spilled or self._in_memory >= self._most:
            self._spill(values, timestamps)
        else:
            self._in_memory += count
            self._batches.append((values, timestamps))

    def take(self, limit: int) -> Records | None:
        """Take at most ``limit`` records, joined to one batch. None if none wait.

        Records with event times and such without are never joined.
        """
        if not self._batches and not self._load():
            return None
        batches, at = self._batches, self._at
        values, timestamps = batches[0]
        if len(values) - at > limit or at:
            end = min(len(values), at + limit)
            timestamps = None if timestamps is None else timestamps[at:end]
            self._at = end
            if end == len(values):
                batches.popleft()
                self._at = 0
            values = values[at:end]
        else:
            batches.popleft()
        if len(values) < limit and batches and self._fits(values, timestamps, limit):
            values, timestamps = self._joined(values, timestamps, limit)
        self.size -= len(values)
        self._in_memory -= len(values)
        return values, timestamps

    def encoded(self) -> Iterator[bytes]:
        """All that waits, in encoded batches. Nothing is taken."""
        for batch in self._gathered():
            yield encode(batch)
        for place, length in self._spilled:
            yield self._read(place, length)

    def clear(self) -> None:
        """Drop all records."""
        self._batches.clear()
        self._spilled.clear()
        self._at = self._in_memory = self.size = 0
        self._truncate()

    def close(self) -> None:
        """Drop all records, and delete the file."""
        self.clear()
        if self._file is not None:
            self._file.close()
            self._file = None

    # -- batches in memory ---------------------------------------------------------------------

    def _fits(self, values: list[Any], timestamps: list[int] | None, limit: int) -> bool:
        """Whether the first batch can be joined to these records."""
        more, times = self._batches[0]
        return len(values) + len(more) <= limit and (times is None) is (timestamps is None)

    def _joined(self, values: list[Any], timestamps: list[int] | None, limit: int) -> Records:
        """Take further batches, and join them to these records, whose lists stay as they are."""
        values = list(values)
        timestamps = None if timestamps is None else list(timestamps)
        while self._batches and self._fits(values, timestamps, limit):
            more, times = self._batches.popleft()
            values += more
            if timestamps is not None and times is not None:
                timestamps += times
        return values, timestamps

    def _gathered(self) -> Iterator[Records]:
        """Batches in memory, joined to fewer ones."""
        values: list[Any] = []
        times: list[int] | None = None
        at = self._at
        for more, stamps in self._batches:
            if values and (len(values) >= _BATCH or (times is None) is not (stamps is None)):
                yield values, times
                values = []
            if not values:
                times = None if stamps is None else []
            values += more[at:]
            if times is not None and stamps is not None:
                times += stamps[at:]
            at = 0
        if values:
            yield values, times

    # -- encoded batches -----------------------------------------------------------------------

    def _spill(self, values: list[Any], timestamps: list[int] | None) -> None:
        if self._file is None:
            self._file = SpooledTemporaryFile(max_size=_MOST_BYTES)  # noqa: SIM115
        payload = encode((values, timestamps))
        self._file.seek(self._end)
        self._file.write(payload)
        self._spilled.append((self._end, len(payload)))
        self._end += len(payload)

    def _load(self) -> bool:
        """Bring the first encoded batch back. Returns False if there is none."""
        if not self._spilled:
            return False
        values, timestamps = decode(self._read(*self._spilled.popleft()))
        self._batches.append((values, timestamps))
        self._in_memory += len(values)
        if not self._spilled:
            self._truncate()
        return True

    def _read(self, place: int, length: int) -> bytes:
        assert self._file is not None
        self._file.seek(place)
        return self._file.read(length)

    def _truncate(self) -> None:
        if self._file is not None:
            self._file.seek(0)
            self._file.truncate()
        self._end = 0
