"""Temporary directories. If their process is killed, a later process deletes them."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from millrace.filesystem.local_lock import lock_file

__all__ = ["ScratchDirectory"]

_LOCK = "in-use"
_TOO_YOUNG_S = 60.0
"""Age in seconds below which a directory is left alone, because its owner may be about to lock
it."""


class ScratchDirectory:
    """A directory that lasts as long as this process. Its creation also deletes directories of the
    same kind that killed processes have left.

    Args:
        kind: name of the kind of directory, such as its purpose.

    Attributes:
        path: path of an empty directory in it.
    """

    def __init__(self, kind: str) -> None:
        prefix = f"millrace-{kind}-"
        _sweep(prefix)
        self._root = Path(tempfile.mkdtemp(prefix=prefix))
        self._lock = lock_file(str(self._root / _LOCK), wait=True)
        self.path = self._root / kind
        self.path.mkdir()

    def remove(self) -> None:
        """Delete the directory with its content."""
        shutil.rmtree(self._root, ignore_errors=True)
        if self._lock is not None:
            self._lock.release()


def _is_ours(directory: Path) -> bool:
    """Whether this user made the directory: in a shared place others may make look-alikes."""
    status = directory.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def _sweep(prefix: str) -> None:
    latest = time.time() - _TOO_YOUNG_S
    for directory in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # another user's, or another process deletes it, too
            lock = directory / _LOCK
            if not _is_ours(directory) or lock.is_symlink():
                continue
            # without a lock its process was killed before it made one
            if (lock if lock.exists() else directory).lstat().st_mtime > latest:
                continue
            held = lock_file(str(lock), wait=False)
            if held is not None:
                shutil.rmtree(directory, ignore_errors=True)
                held.release()
