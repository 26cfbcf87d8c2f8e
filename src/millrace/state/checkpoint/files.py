"""Access to the files of checkpoints and savepoints, with errors that name the file, and reads that
check a checksum.
"""

from __future__ import annotations

import contextlib
import io
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO

from millrace.common.errors import CheckpointCorruptError, CheckpointError
from millrace.filesystem.file_system import PendingFile
from millrace.filesystem.location import StrPath
from millrace.filesystem.registry import file_system_of

__all__ = [
    "StrPath",
    "check",
    "delete_quietly",
    "length_of",
    "opened",
    "read_range",
    "reading",
    "reason_of",
    "size_of_opened",
    "write_file",
    "writing",
]


def write_file(
    path: StrPath,
    chunks: Iterable[bytes | memoryview],
    *,
    durable: bool = True,
    flush_too: Sequence[str] = (),
    exclusive: bool = False,
    before_complete: Callable[[], None] | None = None,
) -> int:
    """Write a file in an existing directory, so that readers see the whole file or no file.

    Args:
        chunks: its content, piece by piece.
        durable: whether to flush the file and its directory. Files that do not outlive the process
            need no flush.
        flush_too: files and directories that must be on the disk before this one appears.
        exclusive: whether to raise an error if a file of that name exists; else it is replaced.
        before_complete: called when everything but the name is on the disk.

    Returns:
        The length in bytes.

    Raises:
        CheckpointError: the file system refused; no temporary file is left behind.
        FileExistsError: a file of that name exists, and ``exclusive`` is True.
    """
    location = os.fspath(path)
    with writing(path):
        pending = file_system_of(path).begin(location, durable, make_parents=False)
        try:
            for chunk in chunks:
                pending.write(chunk)
            pending.sync(flush_too)
            if before_complete is not None:
                before_complete()
            return _completed(pending, exclusive)
        finally:
            pending.discard()


def _completed(pending: PendingFile, exclusive: bool) -> int:
    try:
        return pending.complete(exclusive)
    except FileExistsError as error:
        raise _ExistsError(*error.args) from None


class _ExistsError(FileExistsError):
    """Error for an existing file, which `writing` does not convert."""


@contextlib.contextmanager
def writing(path: StrPath) -> Iterator[None]:
    """Convert errors of the file system while ``path`` is written into our errors."""
    try:
        yield
    except _ExistsError:
        raise
    except OSError as error:
        raise CheckpointError(f"cannot write {os.fspath(path)}: {reason_of(error)}") from error


def read_range(path: StrPath, offset: int, length: int, crc: int) -> bytes:
    """Bytes ``offset`` to ``offset + length`` of a file, checked against their CRC-32.

    Raises:
        CheckpointCorruptError: the file is missing, too short, or holds something else.
        CheckpointError: the file system refused to read it.
    """
    if offset < 0 or length < 0:
        raise CheckpointCorruptError(path, f"it has no bytes {offset} to {offset + length}")
    with reading(path):
        data = file_system_of(path).read(os.fspath(path), offset, length)
    check(path, data, offset, length, crc)
    return data


def check(path: StrPath, data: bytes, offset: int, length: int, crc: int) -> None:
    """Raises CheckpointCorruptError unless ``data`` has the length and CRC-32 of the bytes that
    were written at ``offset``.
    """
    if len(data) < length:
        raise CheckpointCorruptError(
            path, f"it ends at byte {offset + len(data)} of at least {offset + length}"
        )
    if zlib.crc32(data) != crc:
        raise CheckpointCorruptError(
            path, f"the checksum of bytes {offset} to {offset + length} differs"
        )


@contextlib.contextmanager
def opened(path: StrPath, buffered: bool = False) -> Iterator[BinaryIO]:
    """Open a file for reading. Raises our errors, also if ``path`` is not a regular file."""
    with reading(path), file_system_of(path).open(os.fspath(path), buffered) as file:
        yield file


def length_of(path: StrPath) -> int:
    """Size of a file in bytes. Raises the same errors as `opened`."""
    with reading(path):
        status = file_system_of(path).status(os.fspath(path))
        if status is None:
            raise FileNotFoundError
    return status.length


def size_of_opened(file: BinaryIO) -> int:
    """Size of an open file in bytes; moves the file's position to its beginning."""
    length = file.seek(0, io.SEEK_END)
    file.seek(0)
    return length


@contextlib.contextmanager
def reading(path: StrPath) -> Iterator[None]:
    """Convert errors of the file system while ``path`` is read into our errors."""
    try:
        yield
    except FileNotFoundError:
        raise CheckpointCorruptError(path, "the file is missing") from None
    except ValueError as error:  # a path that is none
        raise CheckpointCorruptError(repr(path), str(error)) from None
    except OSError as error:
        raise CheckpointError(f"cannot read {os.fspath(path)}: {reason_of(error)}") from error


def reason_of(error: OSError) -> str:
    """Message of the operating system for an error, in words."""
    return error.strerror or str(error)


def delete_quietly(path: StrPath, *more: StrPath) -> None:
    """Delete files in one file system. A file that cannot be deleted is garbage, not an error."""
    with contextlib.suppress(OSError):
        file_system_of(path).delete_all([os.fspath(one) for one in (path, *more)])
