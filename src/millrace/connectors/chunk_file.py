"""Files for the chunks of a part, and functions that concatenate them."""

from __future__ import annotations

import contextlib
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from millrace.connectors.errors import PartFileError
from millrace.connectors.part_file import Chunk
from millrace.filesystem.file_system import PendingUpload
from millrace.filesystem.registry import file_system_of

__all__ = ["ChunkFile", "adopt_chunk", "join_chunks", "opened_chunks"]

_BUFFER_BYTES = 1 << 20


class ChunkFile(io.RawIOBase):
    """A new file that becomes a chunk with `seal`, or with `persist` a file that a commit makes
    visible. It is not flushed to the disk, because all files of an epoch are flushed together.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.length = 0
        self._crc = 0
        with _refusals(path):
            files = file_system_of(path)
            self._pending = files.begin(path, durable=False, private=False)

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.length

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._crc = zlib.crc32(data, self._crc)
        with _refusals(self.path):
            self._pending.write(data)
        self.length += size
        return size

    def seal(self) -> Chunk:
        """Close the file as a finished chunk of its own."""
        with _refusals(self.path):
            self._pending.complete(exclusive=True)
        return Chunk(self.path, self.length, self._crc)

    def persist(self) -> PendingUpload:
        """Close the file. Readers see it after its commit."""
        with _refusals(self.path):
            return self._pending.persist()

    def discard(self) -> None:
        """Delete the file, unless it is sealed or persisted."""
        self._pending.discard()


@contextlib.contextmanager
def _refusals(path: str) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise PartFileError(
            path,
            "this file exists already. Do two sinks of the job write to the same directory? "
            "Give each sink a path of its own, or a prefix with OutputFileConfig",
        ) from None
    except OSError as error:
        raise PartFileError(path, f"cannot be written: {error.strerror}") from error


def join_chunks(chunks: Sequence[Chunk], target: ChunkFile) -> None:
    """Write the chunks one after the other into a new file.

    Raises:
        PartFileError: a chunk is gone or not as it was written.
    """
    for chunk in chunks:
        _read(chunk, target.write)


def opened_chunks(chunks: Sequence[Chunk]) -> Iterator[BinaryIO]:
    """The chunks as open files; each is closed when the next one is requested.

    Raises:
        PartFileError: a chunk is gone or not as it was written.
    """
    for chunk in chunks:
        _read(chunk, lambda _: None)
        with file_system_of(chunk.path).open(chunk.path) as file:
            yield file


def adopt_chunk(chunk: Chunk, final: str) -> PendingUpload:
    """Make an upload of a part that consists of one chunk.

    Raises:
        PartFileError: the chunk is gone or not as long as it was.
    """
    files = file_system_of(chunk.path)
    status = files.status(chunk.path)
    if status is None:
        raise _gone(chunk.path)
    if status.length != chunk.length:
        raise PartFileError(
            chunk.path,
            f"this piece of an unfinished part is damaged: {status.length} bytes, "
            f"expected {chunk.length}",
        )
    with _refusals(final):
        return files.adopt(chunk.path, final, private=False)


def _gone(path: str) -> PartFileError:
    return PartFileError(
        path,
        "this piece of an unfinished part is gone. If the job was restored from an older "
        "checkpoint, a later run has finished the part since then: restore from the newest",
    )


def _read(chunk: Chunk, take: Callable[[bytes], object]) -> None:
    crc, length = 0, 0
    try:
        with file_system_of(chunk.path).open(chunk.path, buffered=False) as file:
            while data := file.read(_BUFFER_BYTES):
                crc, length = zlib.crc32(data, crc), length + len(data)
                take(data)
    except FileNotFoundError:
        raise _gone(chunk.path) from None
    if (crc, length) != (chunk.crc, chunk.length):
        raise PartFileError(
            chunk.path,
            f"this piece of an unfinished part is damaged: {length} bytes with checksum {crc}, "
            f"expected {chunk.length} with {chunk.crc}",
        )
