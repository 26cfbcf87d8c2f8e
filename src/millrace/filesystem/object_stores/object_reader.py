"""Reader of an object from any position, a range at a time."""

from __future__ import annotations

from typing import Any

from millrace.filesystem.object_stores.bucket import Bucket
from millrace.filesystem.positioned_reader import PositionedReader

__all__ = ["ObjectReader"]

_FIRST = 1 << 18
"""Size in bytes of the first request, and of the first one after a jump."""
_MOST = 8 << 20


class ObjectReader(PositionedReader):
    """An object, opened with its first bytes. Sequential reads get larger and larger ranges.

    Raises:
        FileNotFoundError: (when made) there is no such object.
        FileExistsError: (when read) it was replaced meanwhile.
    """

    def __init__(self, bucket: Bucket, key: str) -> None:
        first = bucket.block(key, 0, _FIRST)
        super().__init__(first.size)
        self._bucket, self._key, self._version = bucket, key, first.version
        self._block = memoryview(first.data)
        self._start = 0
        self._ahead = _FIRST

    def readinto(self, buffer: Any, /) -> int:
        wanted = min(len(buffer), self._size - self._position)
        if wanted <= 0:
            return 0
        offset = self._position - self._start
        if not 0 <= offset < len(self._block):
            self._fetch(wanted)
            offset = 0
        piece = self._block[offset : offset + wanted]
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def _fetch(self, wanted: int) -> None:
        goes_on = self._position == self._start + len(self._block)
        self._ahead = min(self._ahead * 2, _MOST) if goes_on else _FIRST
        end = min(self._position + max(wanted, self._ahead), self._size)
        found = self._bucket.block(self._key, self._position, end, self._version)
        self._block, self._start = memoryview(found.data), self._position
