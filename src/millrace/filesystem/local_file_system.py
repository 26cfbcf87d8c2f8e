"""Local disks and mounts as a file system: temporary names, fsync, hard links and locks."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from typing import BinaryIO, ClassVar

from millrace.filesystem.crash_points import crash_point
from millrace.filesystem.file_system import (
    FileLock,
    FileStatus,
    FileSystem,
    PendingFile,
    PendingUpload,
    UploadStatus,
    Version,
    require_written,
)
from millrace.filesystem.local_lock import lock_file
from millrace.filesystem.local_pending_file import (
    LocalPendingFile,
    is_temporary,
    named_for,
    sync,
    sync_all,
)

__all__ = ["LocalFileSystem"]

_READ_BUFFER = 1 << 18
_NOWHERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
"""Error numbers for names that no file can have."""


class LocalFileSystem(FileSystem):
    """Files on the paths of this machine.

    Example:
        >>> import tempfile
        >>> files, path = LocalFileSystem(), tempfile.mkdtemp() + "/a/b"
        >>> files.publish(path, [b"whole"])
        5
        >>> files.write_if(path, b"other", None), files.read(path)
        (None, b'whole')
    """

    has_directories: ClassVar[bool] = True
    has_locks: ClassVar[bool] = True

    def open(self, location: str, buffered: bool = True) -> BinaryIO:
        if not stat.S_ISREG(os.stat(location).st_mode):  # a pipe would wait for its writer
            raise OSError(errno.EINVAL, "it is not a file", location)
        size = _READ_BUFFER if buffered else 0
        return open(location, "rb", buffering=size)

    def read(self, location: str, offset: int = 0, length: int | None = None) -> bytes:
        with self.open(location, buffered=False) as file:
            descriptor = file.fileno()
            rest = max(0, os.fstat(descriptor).st_size - offset)
            wanted = rest if length is None else min(rest, length)
            data = os.pread(descriptor, wanted, offset)
            while len(data) < wanted:  # two gigabytes at most come at once
                more = os.pread(descriptor, wanted - len(data), offset + len(data))
                if not more:
                    break
                data += more
        return data

    def status(self, location: str) -> FileStatus | None:
        try:
            file_stat = os.stat(location)
        except OSError as error:
            if error.errno in _NOWHERE:
                return None
            raise
        return None if stat.S_ISDIR(file_stat.st_mode) else _status(location, file_stat)

    def list(self, directory: str, recursive: bool = False) -> Iterator[FileStatus]:
        waiting = [directory]  # no recursion: somebody else may have nested them very deep
        while waiting:
            for entry in _entries(waiting.pop()):
                if _is_directory(entry):
                    if recursive and not entry.is_symlink():
                        waiting.append(entry.path)
                elif not is_temporary(entry.name):
                    with contextlib.suppress(FileNotFoundError):  # it vanished meanwhile
                        if _is_file(entry):
                            yield _status(entry.path, entry.stat())

    def directories(self, directory: str) -> Iterator[str]:
        yield from (entry.name for entry in _entries(directory) if _is_directory(entry))

    def is_directory(self, directory: str) -> bool:
        return os.path.isdir(directory)

    def canonical(self, location: str) -> str:
        return os.path.realpath(location)

    def is_link(self, location: str) -> bool:
        return os.path.islink(location)

    def read_version(self, location: str) -> tuple[bytes, Version] | None:
        try:
            with self.open(location, buffered=False) as file:
                return file.read(), _version(os.fstat(file.fileno()))
        except FileNotFoundError:
            return None

    def begin(
        self,
        location: str,
        durable: bool = True,
        *,
        private: bool = True,
        make_parents: bool = True,
    ) -> PendingFile:
        if make_parents:
            self.make_directory(os.path.dirname(location), durable, private=private)
        return LocalPendingFile(location, durable, 0o600 if private else 0o666)

    def sync(self, locations: Sequence[str]) -> None:
        sync_all(locations)

    def write_if(self, location: str, data: bytes, version: Version | None) -> Version | None:
        directory, name = os.path.split(location)
        self.make_directory(directory)
        lock = os.path.join(directory, f".{name}.lock")
        with self._waited_lock(lock):
            try:
                current = self.read_version(location)
                if (current and current[1]) != version:
                    return None
                self.publish(location, (data,))
                return _version(os.stat(location))
            finally:
                self.delete(lock)  # who waits for it sees that, and takes a new one

    def commit(self, uploads: Sequence[PendingUpload]) -> None:
        for upload in uploads:
            try:
                _commit(upload)
            except (FileExistsError, FileNotFoundError):
                _commit(upload)  # another process may have done it just then
            crash_point("during-sink-commit")
        sync_all(os.path.dirname(upload.location) for upload in uploads)

    def adopt(self, source: str, location: str, *, private: bool = True) -> PendingUpload:
        return PendingUpload(location, source, os.path.getsize(source))

    def uploads(self, directory: str) -> Iterator[UploadStatus]:
        for entry in _entries(directory):
            if entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(PermissionError):  # lost+found: nothing of ours
                    yield from self.uploads(entry.path)
            elif is_temporary(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):
                    modified = entry.stat().st_mtime
                    yield UploadStatus(named_for(entry.path), entry.path, modified)

    def abort(self, token: str) -> None:
        self.delete(token)

    def delete(self, location: str) -> bool:
        try:
            os.unlink(location)
        except FileNotFoundError:
            return False
        return True

    def make_directory(self, directory: str, durable: bool = True, *, private: bool = True) -> None:
        if os.path.isdir(directory):
            return
        parent = os.path.dirname(directory)
        self.make_directory(parent, durable, private=private)
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory, 0o700 if private else 0o777)
        if durable:
            sync(parent)

    def delete_directory(self, directory: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(directory)

    def remove_empty(self, directory: str) -> None:
        with contextlib.suppress(OSError):
            os.rmdir(directory)

    def lock(self, location: str, wait: bool = False) -> FileLock | None:
        return lock_file(location, wait)

    def _waited_lock(self, location: str) -> FileLock:
        held = lock_file(location, wait=True)
        assert held is not None
        return held


def _commit(upload: PendingUpload) -> None:
    pending, final = _length(upload.token), _length(upload.location)
    if pending is not None and final is not None:
        raise FileExistsError(errno.EEXIST, "it exists already", upload.location)
    if pending is None:
        require_written(upload, final)
        return
    require_written(upload, pending, upload.token)
    os.replace(upload.token, upload.location)


def _length(path: str) -> int | None:
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return None


def _entries(directory: str) -> Iterator[os.DirEntry[str]]:
    missing = contextlib.suppress(FileNotFoundError, NotADirectoryError)
    with missing, os.scandir(directory) as entries:
        yield from entries


def _is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a directory; False for entries that cannot be inspected, such as links
    in a circle, as `os.path.isdir`."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _status(location: str, file_stat: os.stat_result) -> FileStatus:
    return FileStatus(location, file_stat.st_size, file_stat.st_mtime)


def _version(file_stat: os.stat_result) -> Version:
    return f"{file_stat.st_ino}-{file_stat.st_mtime_ns}-{file_stat.st_size}"
