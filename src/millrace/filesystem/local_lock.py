"""Locks on files of a local disk: `flock`, which the operating system releases with the process.

Only its owner may open such a file, because every reader of a file can lock it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os

from millrace.filesystem.file_system import FileLock

__all__ = ["LocalLock", "lock_file"]


class LocalLock(FileLock):
    """An exclusive lock. Forked child processes share it until they execute another program. The
    lock is held as long as any of these processes lives.
    """

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor: int | None = descriptor
        self._path = path

    def is_current(self) -> bool:
        return self._descriptor is not None and _is_at(self._descriptor, self._path)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def lock_file(path: str, wait: bool) -> LocalLock | None:
    """Lock the file with the given name; None if another process has the lock."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with contextlib.suppress(PermissionError):  # somebody else's; it is not ours to change
                os.fchmod(descriptor, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if _is_at(descriptor, path):  # else it was replaced meanwhile
                return LocalLock(descriptor, path)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(descriptor: int, path: str) -> bool:
    """Whether the open file is the current file with this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
