"""A file of a local disk under construction, with a temporary name in the directory of its final
name."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from millrace.filesystem.file_system import PendingFile, PendingUpload

__all__ = [
    "TEMP_SUFFIX",
    "LocalPendingFile",
    "is_temporary",
    "named_for",
    "rename_new",
    "sync",
    "sync_all",
    "write_all",
]

TEMP_SUFFIX = ".tmp"
"""Suffix of the hidden names of files under construction."""
_BUFFER = 1 << 20
_MUCH = 8 << 20
"""Number of unflushed bytes after which a pause of the writer is used to flush them."""
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


class LocalPendingFile(PendingFile):
    """A file that is open only while its buffer is written out. A subtask may write thousands of
    files at the same time, which would take too many file descriptors."""

    def __init__(self, location: str, durable: bool, mode: int) -> None:
        super().__init__()
        self._location = location
        self._durable = durable
        self._mode = mode
        directory, name = os.path.split(location)
        self._path = os.path.join(directory, f".{name}.{uuid.uuid4().hex}{TEMP_SUFFIX}")
        self._buffer = bytearray()
        self._written = 0
        self._unsynced = 0
        self._exists = False
        self._synced = False

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._synced = False
        if size >= _BUFFER:
            self._spill(data)
        else:
            self._buffer += data
            if len(self._buffer) >= _BUFFER:
                self._spill()
        return size

    def tell(self) -> int:
        return self._written + len(self._buffer)

    def rest(self) -> None:
        self._spill()
        if self._durable and self._unsynced >= _MUCH:
            with _opened(self._path, os.O_WRONLY) as descriptor:
                os.fdatasync(descriptor)
            self._unsynced = 0

    def sync(self, also: Sequence[str] = ()) -> None:
        if not self._synced:
            self._synced = True
            if self._durable and also:
                self._spill()
                sync_all([self._path, *also])
            else:
                self._spill(finish=True)

    def complete(self, exclusive: bool = False) -> int:
        self.sync()
        if exclusive:
            rename_new(self._path, self._location)
        else:
            os.replace(self._path, self._location)
        self._exists = False
        if self._durable:
            sync(os.path.dirname(self._location))
        return self._written

    def persist(self) -> PendingUpload:
        self.sync()
        if self._durable:
            sync(os.path.dirname(self._path))
        self._exists = False
        return PendingUpload(self._location, self._path, self._written)

    @property
    def token(self) -> str:
        return self._path

    def discard(self) -> None:
        self._buffer.clear()
        if self._exists:
            with contextlib.suppress(OSError):
                os.unlink(self._path)

    def _spill(self, more: Any = b"", finish: bool = False) -> None:
        """Write the buffer and more data; with ``finish``, flush everything to the disk."""
        flags = os.O_APPEND if self._exists else os.O_CREAT | os.O_EXCL
        with _opened(self._path, os.O_WRONLY | os.O_CLOEXEC | flags, self._mode) as descriptor:
            self._exists = True
            for data in (self._buffer, more):
                write_all(descriptor, data)
                self._written += len(data)
                self._unsynced += len(data)
            if finish and self._durable:
                os.fsync(descriptor)
        self._buffer = bytearray()


def rename_new(path: str, location: str) -> None:
    """Rename a file, unless a file with the new name exists.

    Raises:
        FileExistsError: a file with the new name exists.
    """
    try:
        # a link fails if the name is taken, where a rename would replace the other's file
        os.link(path, location)
        os.unlink(path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(location, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.replace(path, location)


def sync(path: str | os.PathLike[str]) -> None:
    """Flush a file's content, or the names of the files in a directory, to the disk."""
    with _opened(path, os.O_RDONLY) as descriptor:
        os.fsync(descriptor)


def sync_all(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Flush several files and directories to the disk at the same time.

    A flush is a few milliseconds of waiting for the disk, which serves several together.
    """
    distinct = list(dict.fromkeys(paths))
    if len(distinct) <= 1:
        for path in distinct:
            sync(path)
        return
    list(_flushing(os.getpid()).map(sync, distinct))


@cache
def _flushing(process: int) -> ThreadPoolExecutor:
    """Threads that flush files, kept because to start them takes as long as a flush. Those of a
    process that has forked are not in its child."""
    return ThreadPoolExecutor(32, "flush")


def named_for(path: str) -> str:
    """Final path of a temporary file, computed from its name."""
    directory, name = os.path.split(path)
    return os.path.join(directory, name[1 : -len(TEMP_SUFFIX)].rpartition(".")[0])


def is_temporary(name: str) -> bool:
    """Whether a name is that of a file under construction."""
    return name.startswith(".") and name.endswith(TEMP_SUFFIX)


class _opened:
    """Context manager for an open file descriptor; it is faster than a generator."""

    __slots__ = ("_descriptor",)

    def __init__(self, path: str | os.PathLike[str], flags: int, mode: int = 0o600) -> None:
        self._descriptor = os.open(path, flags, mode)

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def write_all(descriptor: int, data: Any) -> None:
    """Write all bytes of a buffer, in several calls if the system takes only some of them."""
    with memoryview(data) as view:
        done = 0
        while done < len(view):
            done += os.write(descriptor, view[done:])
