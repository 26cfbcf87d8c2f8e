"""Writing and joining the chunks of a part file."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Sequence
from typing import Any

from millrace.connectors.errors import PartFileError
from millrace.connectors.part_file import Chunk
from millrace.filesystem.local_pending_file import sync

__all__ = ["ChunkFile", "join_chunks"]

_BUFFER_BYTES = 1 << 20


class ChunkFile(io.RawIOBase):
    """A new file that is opened only while its buffer is flushed.

    A subtask may write to thousands of buckets in an epoch: open files would run out.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.length = 0
        self._crc = 0
        self._buffer = bytearray()
        self._mode = "x"

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.length

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._crc = zlib.crc32(data, self._crc)
        self._buffer += data
        self.length += size
        if len(self._buffer) >= _BUFFER_BYTES:
            self._spill()
        return size

    def seal(self, durable: bool) -> Chunk:
        """Nothing more follows; with ``durable`` the content is flushed to the disk."""
        self._spill()
        if durable:
            sync(self.path)
        return Chunk(self.path, self.length, self._crc)

    def _spill(self) -> None:
        try:
            with io.FileIO(self.path, self._mode) as file:
                _write_all(file, self._buffer)
        except FileExistsError:
            raise PartFileError(
                self.path,
                "this file exists already. Do two sinks of the job write to the same directory? "
                "Give each a path of its own, or a prefix with OutputFileConfig",
            ) from None
        except OSError as error:
            raise PartFileError(self.path, f"cannot be written: {error.strerror}") from error
        self._mode = "a"
        self._buffer.clear()


def join_chunks(chunks: Sequence[Chunk], path: str) -> Chunk:
    """Write the chunks one after the other into a new file, durably.

    Raises:
        PartFileError: a chunk is gone or not as it was written.
    """
    target = ChunkFile(path)
    for chunk in chunks:
        _copy(chunk, target)
    return target.seal(durable=True)


def _copy(chunk: Chunk, target: ChunkFile) -> None:
    crc, length = 0, 0
    try:
        with open(chunk.path, "rb", buffering=0) as file:
            while data := file.read(_BUFFER_BYTES):
                crc, length = zlib.crc32(data, crc), length + len(data)
                target.write(data)
    except FileNotFoundError:
        raise PartFileError(
            chunk.path,
            "this piece of an unfinished part is gone. If the job was restored from an older "
            "checkpoint, a later one has finished the part since: restore from the newest",
        ) from None
    if (crc, length) != (chunk.crc, chunk.length):
        raise PartFileError(
            chunk.path,
            f"this piece of an unfinished part is damaged: {length} bytes with checksum {crc}, "
            f"expected {chunk.length} with {chunk.crc}",
        )


def _write_all(file: io.FileIO, data: bytearray) -> None:
    with memoryview(data) as view:
        done = 0
        while done < len(view):
            done += file.write(view[done:])


def discard(paths: Sequence[str]) -> None:
    """Delete files of a failed attempt; what cannot be deleted is left to the sweep."""
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            continue
