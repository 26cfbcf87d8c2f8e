"""Reader of a file of HDFS from any position."""

from __future__ import annotations

from typing import Any

from millrace.filesystem.hdfs.name_service import NameService
from millrace.filesystem.positioned_reader import PositionedReader

__all__ = ["HdfsReader"]


class HdfsReader(PositionedReader):
    """A file, opened with the list of its blocks.

    Raises:
        FileNotFoundError: (when made) there is no such file.
    """

    def __init__(self, names: NameService, path: str) -> None:
        self._reader = names.reader(path)
        super().__init__(len(self._reader))
        self._names, self._path = names, path

    def readinto(self, buffer: Any, /) -> int:
        data = self.block(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return self.block(max(0, self._size - self._position))

    def block(self, length: int) -> bytes:
        """The next bytes; fewer only at the end of the file."""
        length = min(length, self._size - self._position)
        if length <= 0:
            return b""
        data = self._names.read_range(self._path, self._reader, self._position, length)
        self._position += len(data)
        return data
