"""Base class of readers of remote files, which know their size and read from any position."""

from __future__ import annotations

import io
import os

__all__ = ["PositionedReader"]


class PositionedReader(io.RawIOBase):
    """A raw stream with a position, which subclasses read from and move.

    Args:
        size: bytes of the file.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative position {base + offset}")
        self._position = base + offset
        return self._position
