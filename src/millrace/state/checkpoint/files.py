"""Writes files atomically, and reads ranges of them with a checksum."""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import FileIO

from millrace.common.errors import CheckpointCorruptError, CheckpointError
from millrace.filesystem.local_file_system import TEMP_SUFFIX, sync
from millrace.filesystem.location import StrPath
from millrace.state.checkpoint.crash_points import crash_point

__all__ = [
    "TEMP_SUFFIX",
    "Draft",
    "StrPath",
    "delete_quietly",
    "make_directory",
    "opened",
    "read_range",
    "sync",
    "sync_all",
    "write_file",
]

_BUFFER = 1 << 20
_MUCH = 8 << 20
"""Bytes that a flush should not exceed by far."""


def write_file(
    path: StrPath,
    chunks: Iterable[bytes],
    *,
    run_id: str = "",
    durable: bool = True,
    flush_too: Sequence[StrPath] = (),
    before_replace: Callable[[], None] | None = None,
) -> int:
    """Write a file under a temporary name, flush it to the disk, and give it its name.

    Args:
        path: the file; one of that name is replaced.
        chunks: its content, piece by piece.
        run_id: becomes part of the temporary name, so that leftovers tell where they are from.
        durable: whether to flush the file and its directory; what does not outlive the process
            needs no flush.
        flush_too: files and directories that must be on the disk before this one gets its name.
        before_replace: called once the temporary file is complete.

    Returns:
        The length in bytes.

    Raises:
        CheckpointError: the file system refused; no temporary file is left behind.
    """
    temporary = _temporary_path(path, run_id)
    try:
        length = _write_new(temporary, chunks)
        if durable:
            sync_all([temporary, *flush_too])
        if before_replace is not None:
            before_replace()
        os.replace(temporary, path)
        if durable:
            sync(os.path.dirname(path))
    except OSError as error:
        delete_quietly(temporary)
        raise CheckpointError(f"cannot write {os.fspath(path)}: {reason_of(error)}") from error
    except BaseException:
        delete_quietly(temporary)
        raise
    return length


def _temporary_path(path: StrPath, run_id: str) -> str:
    directory, name = os.path.split(os.fspath(path))
    return os.path.join(directory, f".{name}.{run_id}.{uuid.uuid4().hex}{TEMP_SUFFIX}")


class Draft:
    """A file that grows over some time under a temporary name, until it is complete.

    All methods raise CheckpointError when the file system refuses.
    """

    def __init__(self, path: StrPath, run_id: str = "", durable: bool = True) -> None:
        self._path = path
        self._durable = durable
        self._unflushed = 0
        self.temporary = _temporary_path(path, run_id)
        with _writing(path):
            self._file = open(self.temporary, "xb", buffering=_BUFFER)  # noqa: SIM115 (stays open)

    def write(self, data: bytes | memoryview) -> None:
        """Append."""
        with _writing(self._path):
            self._file.write(data)
        self._unflushed += len(data)

    def rest(self) -> None:
        """Nothing is appended for a while. What has come together goes to the disk a little at a
        time, lest the flush at the end keeps it busy when a checkpoint wants it."""
        with _writing(self._path):
            self._file.flush()
            if self._durable and self._unflushed >= _MUCH:
                os.fdatasync(self._file.fileno())
                self._unflushed = 0

    def complete(self) -> int:
        """Flush the file to the disk and give it its name; returns its length in bytes."""
        with _writing(self._path):
            length = self._file.tell()
            self._file.close()
            if self._durable:
                sync(self.temporary)
            crash_point("draft-complete")
            os.replace(self.temporary, self._path)
            if self._durable:
                sync(os.path.dirname(self._path))
        return length

    def discard(self) -> None:
        """Delete the file unless it is complete."""
        with contextlib.suppress(OSError):
            self._file.close()
        delete_quietly(self.temporary)


@contextlib.contextmanager
def _writing(path: StrPath) -> Iterator[None]:
    """Turns what the file system says while ``path`` is written into our errors."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(f"cannot write {os.fspath(path)}: {reason_of(error)}") from error


def _write_new(path: str, chunks: Iterable[bytes]) -> int:
    with open(path, "xb", buffering=_BUFFER) as file:
        file.writelines(chunks)
        return file.tell()


def read_range(path: StrPath, offset: int, length: int, crc: int) -> bytes:
    """Bytes ``offset`` to ``offset + length`` of a file, checked against their CRC-32.

    Raises:
        CheckpointCorruptError: the file is missing, too short, or holds something else.
        CheckpointError: the file system refused to read it.
    """
    with opened(path) as file:
        available = os.fstat(file.fileno()).st_size - offset
        if not 0 <= length <= available or offset < 0:
            raise CheckpointCorruptError(
                path, f"it ends at byte {offset + available} of at least {offset + length}"
            )
        data = os.pread(file.fileno(), length, offset)
        while len(data) < length:
            more = os.pread(file.fileno(), length - len(data), offset + len(data))
            if not more:
                break
            data += more
    check(path, data, offset, length, crc)
    return data


def check(path: StrPath, data: bytes, offset: int, length: int, crc: int) -> None:
    """Raises CheckpointCorruptError unless ``data`` is what was once written at ``offset``."""
    if len(data) < length:
        raise CheckpointCorruptError(
            path, f"it ends at byte {offset + len(data)} of at least {offset + length}"
        )
    if zlib.crc32(data) != crc:
        raise CheckpointCorruptError(
            path, f"the checksum of bytes {offset} to {offset + length} differs"
        )


@contextlib.contextmanager
def opened(path: StrPath) -> Iterator[FileIO]:
    """A file to be read, without a buffer; raises our errors, also for what is no plain file."""
    with reading(path):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise CheckpointError(f"cannot read {os.fspath(path)}: it is not a file")
        with open(path, "rb", buffering=0) as file:
            yield file


@contextlib.contextmanager
def reading(path: StrPath) -> Iterator[None]:
    """Turns what the file system says while ``path`` is read into our errors."""
    try:
        yield
    except FileNotFoundError:
        raise CheckpointCorruptError(path, "the file is missing") from None
    except ValueError as error:  # a path that is none
        raise CheckpointCorruptError(repr(path), str(error)) from None
    except OSError as error:
        raise CheckpointError(f"cannot read {os.fspath(path)}: {reason_of(error)}") from error


def reason_of(error: OSError) -> str:
    """What the operating system said, in words."""
    return error.strerror or str(error)


def make_directory(path: StrPath, durable: bool = True, mode: int = 0o777) -> None:
    """Create a directory and its parents where missing, and flush their names to the disk.

    ``mode`` is that of the directory itself, if it is new.
    """
    if os.path.isdir(path):
        return
    parent = os.path.dirname(os.path.abspath(path))
    make_directory(parent, durable)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, mode)
    if durable:
        sync(parent)


def sync_all(paths: Sequence[StrPath]) -> None:
    """Flush files and directories to the disk, all at once.

    A flush is a few milliseconds of waiting for the disk, which serves several together.
    """
    if len(paths) <= 1:
        for path in paths:
            sync(path)
        return
    with ThreadPoolExecutor(len(paths)) as pool:
        list(pool.map(sync, paths))


def delete_quietly(path: StrPath) -> None:
    """Delete a file; one that stays is garbage, not an error."""
    with contextlib.suppress(OSError):
        os.unlink(path)
