"""HDFS as a file system. It has hidden names and atomic renames that never replace a file, but no
locks.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, ClassVar, NoReturn

from millrace.filesystem.crash_points import crash_point
from millrace.filesystem.file_system import (
    FileStatus,
    FileSystem,
    PendingFile,
    PendingUpload,
    UploadStatus,
    Version,
    require_written,
)
from millrace.filesystem.hdfs.hdfs_pending_file import HdfsPendingFile
from millrace.filesystem.hdfs.name_service import NameService, normal
from millrace.filesystem.hdfs.replacement import LOCK_SUFFIX, remove_abandoned, replace_if
from millrace.filesystem.local_pending_file import is_temporary, named_for
from millrace.filesystem.positioned_reader import PositionedReader

__all__ = ["HdfsFileSystem"]

_LOCATION = re.compile(r"(\w+://([^/]*))(/.*)?", re.DOTALL)
_READ_BUFFER = 1 << 20
_COMMITS_AT_ONCE = 16
_PRIVATE_FILE, _FILE = 0o600, 0o644
_PRIVATE_DIRECTORY, _DIRECTORY = 0o700, 0o755


class HdfsFileSystem(FileSystem):
    """Files of all namenodes and name services within reach of this process."""

    has_directories: ClassVar[bool] = True

    def __init__(self) -> None:
        import hdfs_native  # noqa: F401  who has not installed it is told so at once

        self._made: dict[tuple[str, int], NameService] = {}
        self._tidied: set[str] = set()
        """Files whose leftovers of killed writers have been removed."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("a file system has connections, so it is not pickled: use file_system_of")

    def _found(self, location: str) -> tuple[NameService, str, str]:
        """The name service of a location, the prefix of its paths, and the path."""
        match = _LOCATION.fullmatch(location)
        if match is None:
            raise OSError(
                errno.EINVAL,
                "write hdfs://namenode:port/path, hdfs://service/path, or hdfs:///path for the "
                "file system that fs.defaultFS names",
                location,
            )
        made_for = (match[2], os.getpid())  # clients have threads, which a fork does not take along
        names = self._made.get(made_for)
        if names is None:
            names = self._made[made_for] = NameService(match[2])
        return names, match[1], normal(match[3] or "/")

    # -- reading -------------------------------------------------------------------------------

    def open(self, location: str, buffered: bool = True) -> BinaryIO:
        names, _, path = self._found(location)
        return io.BufferedReader(HdfsReader(names, path), _READ_BUFFER if buffered else 1)

    def read(self, location: str, offset: int = 0, length: int | None = None) -> bytes:
        names, _, path = self._found(location)
        reader = HdfsReader(names, path)
        reader.seek(offset)
        return reader.readall() if length is None else reader.block(length)

    def status(self, location: str) -> FileStatus | None:
        names, _, path = self._found(location)
        info = names.info(path)
        return None if info is None or info.isdir else _status(location, info)

    def list(self, directory: str, recursive: bool = False) -> Iterator[FileStatus]:
        for location, entry in self._walk(directory, recursive):
            if not is_temporary(_name(entry)):
                yield _status(location, entry)

    def _walk(self, directory: str, recursive: bool = True) -> Iterator[tuple[str, Any]]:
        """The files in a directory, including those under construction."""
        names, root, path = self._found(directory)
        waiting = [path]
        while waiting:
            for entry in names.entries(waiting.pop()):
                if not entry.isdir:
                    yield root + entry.path, entry
                elif recursive and not _is_lock(entry):
                    waiting.append(entry.path)

    def directories(self, directory: str) -> Iterator[str]:
        names, _, path = self._found(directory)
        for entry in names.entries(path):
            if entry.isdir and not _is_lock(entry):
                yield _name(entry)

    def is_directory(self, directory: str) -> bool:
        names, _, path = self._found(directory)
        info = names.info(path)
        return info is not None and bool(info.isdir)

    def read_version(self, location: str) -> tuple[bytes, Version] | None:
        try:
            data = self.read(location)
        except FileNotFoundError:
            return None
        return data, _version(data)

    # -- writing -------------------------------------------------------------------------------

    def begin(
        self,
        location: str,
        durable: bool = True,
        *,
        private: bool = True,
        make_parents: bool = True,
    ) -> PendingFile:
        names, root, path = self._found(location)
        if make_parents:
            self.make_directory(location.rpartition("/")[0], durable, private=private)
        mode = _PRIVATE_FILE if private else _FILE
        return HdfsPendingFile(names, root, path, durable, mode, make_parents)

    def write_if(self, location: str, data: bytes, version: Version | None) -> Version | None:
        if version is None:
            try:
                self.publish(location, (data,), exclusive=True)
            except FileExistsError:
                return None
            return _version(data)
        names, _, path = self._found(location)

        def unchanged() -> bool:
            current = self.read_version(location)
            return current is not None and current[1] == version

        def published() -> bool:
            current = self.read_version(location)
            return current is not None and current[0] == data

        if location not in self._tidied:
            self._tidied.add(location)
            with contextlib.suppress(OSError):  # it is only for order
                remove_abandoned(names, path)
        # no lock has to be taken to find that it is too late
        written = unchanged() and replace_if(names, path, data, unchanged, published)
        return _version(data) if written else None

    def commit(self, uploads: Sequence[PendingUpload]) -> None:
        with ThreadPoolExecutor(_COMMITS_AT_ONCE) as pool:
            list(pool.map(self._commit, uploads))

    def _commit(self, upload: PendingUpload) -> None:
        try:
            self._commit_once(upload)
        except (FileExistsError, FileNotFoundError):
            self._commit_once(upload)  # another process may have done it just then
        crash_point("during-sink-commit")

    def _commit_once(self, upload: PendingUpload) -> None:
        pending, final = self.status(upload.token), self.status(upload.location)
        if pending is None:
            require_written(upload, None if final is None else final.length)
            return
        if final is not None:
            raise FileExistsError(errno.EEXIST, "it exists already", upload.location)
        require_written(upload, pending.length, upload.token)
        names, _, path = self._found(upload.location)
        names.rename(self._found(upload.token)[2], path)

    def adopt(self, source: str, location: str, *, private: bool = True) -> PendingUpload:
        if self._found(source)[1] != self._found(location)[1]:
            return super().adopt(source, location, private=private)
        status = self.status(source)
        if status is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
        return PendingUpload(location, source, status.length)

    def uploads(self, directory: str) -> Iterator[UploadStatus]:
        for location, entry in self._walk(directory):
            if is_temporary(_name(entry)):
                modified = entry.modification_time / 1000
                yield UploadStatus(named_for(location), location, modified)

    def abort(self, token: str) -> None:
        self.delete(token)

    # -- deleting, and directories ---------------------------------------------------------------

    def delete(self, location: str) -> bool:
        names, _, path = self._found(location)
        return names.delete(path)

    def make_directory(self, directory: str, durable: bool = True, *, private: bool = True) -> None:
        names, _, path = self._found(directory)
        names.make_directory(path, _PRIVATE_DIRECTORY if private else _DIRECTORY)

    def delete_directory(self, directory: str) -> None:
        names, _, path = self._found(directory)
        names.delete(path, recursive=True)

    def remove_empty(self, directory: str) -> None:
        if self.is_directory(directory):
            with contextlib.suppress(OSError):
                self.delete(directory)


def _status(location: str, info: Any) -> FileStatus:
    return FileStatus(location, info.length, info.modification_time / 1000)


def _name(entry: Any) -> str:
    path: str = entry.path
    return path.rpartition("/")[2]


def _is_lock(entry: Any) -> bool:
    """Whether a directory is a lock of `replace_if`."""
    name = _name(entry)
    return name.startswith(".") and name.endswith(LOCK_SUFFIX)


def _version(data: bytes) -> Version:
    """Version of a small file: two files with the same content have the same version."""
    return hashlib.sha256(data).hexdigest()


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
