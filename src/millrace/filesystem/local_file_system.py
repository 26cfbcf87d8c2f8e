"""Local disks and mounts as a file system: temporary names, fsync, and hard links."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from typing import BinaryIO

from millrace.filesystem.file_system import FileStatus, FileSystem, PendingFile

__all__ = ["TEMP_SUFFIX", "LocalFileSystem", "sync"]

TEMP_SUFFIX = ".tmp"
"""Files being written are hidden and end so."""
_BUFFER = 1 << 20
_READ_BUFFER = 1 << 18


class LocalFileSystem(FileSystem):
    """Files on the paths of this machine.

    Example:
        >>> import tempfile
        >>> files, path = LocalFileSystem(), tempfile.mkdtemp() + "/a/b"
        >>> files.publish(path, [b"whole"])
        5
        >>> files.create_exclusive(path, b"other"), files.read(path)
        (False, b'whole')
    """

    def open(self, location: str) -> BinaryIO:
        return open(location, "rb", buffering=_READ_BUFFER)

    def status(self, location: str) -> FileStatus | None:
        try:
            found = os.stat(location)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return None if os.path.isdir(location) else _status(location, found)

    def list(self, directory: str, recursive: bool = False) -> Iterator[FileStatus]:
        for entry in _entries(directory):
            if entry.is_dir():
                if recursive:
                    yield from self.list(entry.path, recursive=True)
            elif entry.is_file() and not _is_temporary(entry.name):
                with contextlib.suppress(FileNotFoundError):  # it vanished meanwhile
                    yield _status(entry.path, entry.stat())

    def directories(self, directory: str) -> Iterator[str]:
        yield from (entry.name for entry in _entries(directory) if entry.is_dir())

    def is_directory(self, directory: str) -> bool:
        return os.path.isdir(directory)

    def begin(self, location: str, durable: bool = True) -> PendingFile:
        self.make_directory(os.path.dirname(location), durable)
        return _TemporaryFile(location, durable)

    def create_exclusive(self, location: str, data: bytes) -> bool:
        self.make_directory(os.path.dirname(location))
        temporary = _TemporaryFile(location, durable=True)
        try:
            temporary.write(data)
            # a link fails if the name is taken, where a rename would replace the other's file
            os.link(temporary.flushed(), location)
        except FileExistsError:
            return False
        finally:
            temporary.discard()
        sync(os.path.dirname(location))
        return True

    def delete(self, location: str) -> bool:
        try:
            os.unlink(location)
        except FileNotFoundError:
            return False
        return True

    def make_directory(self, directory: str, durable: bool = True) -> None:
        if os.path.isdir(directory):
            return
        parent = os.path.dirname(directory)
        self.make_directory(parent, durable)
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory)
        if durable:
            sync(parent)

    def delete_directory(self, directory: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(directory)


class _TemporaryFile(PendingFile):
    """A file under a temporary name beside its own."""

    def __init__(self, location: str, durable: bool) -> None:
        self._location = location
        self._durable = durable
        directory, name = os.path.split(location)
        self._path = os.path.join(directory, f".{name}.{uuid.uuid4().hex}{TEMP_SUFFIX}")
        self._file = open(self._path, "xb", buffering=_BUFFER)  # noqa: SIM115 (stays open)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._file.write(data)

    def flushed(self) -> str:
        """The path, once all that was written is on the disk."""
        self._file.close()
        if self._durable:
            sync(self._path)
        return self._path

    def complete(self) -> int:
        length = self._file.tell()
        os.replace(self.flushed(), self._location)
        if self._durable:
            sync(os.path.dirname(self._location))
        return length

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def sync(path: str | os.PathLike[str]) -> None:
    """Flush a file's content, or the names of the files in a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _entries(directory: str) -> Iterator[os.DirEntry[str]]:
    missing = contextlib.suppress(FileNotFoundError, NotADirectoryError)
    with missing, os.scandir(directory) as found:
        yield from found


def _is_temporary(name: str) -> bool:
    return name.startswith(".") and name.endswith(TEMP_SUFFIX)


def _status(location: str, found: os.stat_result) -> FileStatus:
    return FileStatus(location, found.st_size, found.st_mtime)
