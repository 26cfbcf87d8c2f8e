"""Queue of records that go back to the beginning of a loop; a queue above a size limit continues on
disk.

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
"""Encoded bytes of a file that wait in memory. Further ones wait on disk."""
_MOST_OF_A_FILE = 256 << 20
"""Bytes of a file after which a new one begins, so that what was taken is deleted."""
_BATCH = 4096
"""Largest number of records in one encoded batch."""


class _File:
    """A temporary file of encoded batches, which stays in memory while it is small."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile[bytes](max_size=_MOST_BYTES)
        self.end = 0
        """Length of the file."""
        self.batches = 0
        """Number of batches that have not been taken."""

    def write(self, payload: bytes) -> tuple[int, int]:
        """Append a batch; returns its place and length."""
        place = self.end
        self._file.seek(place)
        self._file.write(payload)
        self.end += len(payload)
        self.batches += 1
        return place, len(payload)

    def read(self, place: int, length: int) -> bytes:
        """A batch."""
        self._file.seek(place)
        return self._file.read(length)

    def close(self) -> None:
        """Delete the file."""
        self._file.close()


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
        self._spilled: deque[tuple[_File, int, int]] = deque()
        """File, place and length of each encoded batch. They follow all batches in memory."""
        self._file: _File | None = None
        """File to which batches are written."""
        self.size = 0
        """Number of records that wait."""

    def put(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Add records."""
        count = len(values)
        if not count:
            return
        if self._spilled and self.size < self._most // 2:
            while self._load():
                pass
        self.size += count
        if self._spilled or self._in_memory >= self._most:
            self._spill(values, timestamps)
        else:
            self._in_memory += count
            self._batches.append((values, timestamps))

    def take(self, limit: int) -> Records | None:
        """Take at most ``limit`` records, joined to one batch. None if no records wait.

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
        """All waiting records, in encoded batches. The records stay in the queue."""
        for batch in self._gathered():
            yield encode(batch)
        for file, place, length in self._spilled:
            yield file.read(place, length)

    def clear(self) -> None:
        """Drop all records, and delete the files."""
        self._batches.clear()
        for file in {file for file, _, _ in self._spilled}:
            file.close()
        self._spilled.clear()
        if self._file is not None:
            self._file.close()
            self._file = None
        self._at = self._in_memory = self.size = 0

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
        """Records in memory, in batches that a rescaling can divide among subtasks."""
        values: list[Any] = []
        times: list[int] | None = None
        at = self._at
        for more, stamps in self._batches:
            while at < len(more):
                if values and (len(values) >= _BATCH or (times is None) is not (stamps is None)):
                    yield values, times
                    values = []
                if not values:
                    times = None if stamps is None else []
                end = min(len(more), at + _BATCH - len(values))
                values += more[at:end]
                if times is not None and stamps is not None:
                    times += stamps[at:end]
                at = end
            at = 0
        if values:
            yield values, times

    # -- encoded batches -----------------------------------------------------------------------

    def _spill(self, values: list[Any], timestamps: list[int] | None) -> None:
        file = self._file
        if file is None or file.end >= _MOST_OF_A_FILE:
            file = self._file = _File()
        for start in range(0, len(values), _BATCH):
            part = slice(start, start + _BATCH)
            batch = values[part], None if timestamps is None else timestamps[part]
            self._spilled.append((file, *file.write(encode(batch))))

    def _load(self) -> bool:
        """Bring the first encoded batch back. Returns False if there is none."""
        if not self._spilled:
            return False
        file, place, length = self._spilled.popleft()
        values, timestamps = decode(file.read(place, length))
        self._batches.append((values, timestamps))
        self._in_memory += len(values)
        file.batches -= 1
        if not file.batches:
            file.close()
            if file is self._file:
                self._file = None
        return True
