"""Directories on a worker's host that belong to one process and are deleted after its end.

The owner of a directory holds a lock on a file in it. The operating system releases the lock when
the process dies, so a directory without a locked file is stale.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from millrace.common.errors import StateError

__all__ = ["UNFINISHED", "LocalDirectory", "root_of", "stale"]

LOCK = "owner.lock"
UNFINISHED = "."
"""Prefix of directories that are not locked yet, so that other processes do not treat them as
stale."""


def root_of(bases: Sequence[str], choice: int) -> Path:
    """Directory of this user below one of ``bases``; if there are no bases, below the host's
    directory for temporary files.

    Raises:
        StateError: the directory cannot be created, or belongs to another user.
    """
    base = bases[choice % len(bases)] if bases else tempfile.gettempdir()
    root = Path(base, f"millrace-state-{os.getuid()}")
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = root.lstat()
    except OSError as error:
        raise StateError(
            f"cannot make the directory {root} for state on this host ({error.strerror}); "
            "set state.backend.rocksdb.localdir to a directory that the workers can write to"
        ) from error
    if status.st_uid != os.getuid() or status.st_mode & 0o077 or root.is_symlink():
        raise StateError(
            f"the directory {root} for state on this host belongs to another user, or others may "
            "read it; remove it, or set state.backend.rocksdb.localdir"
        )
    return root


class LocalDirectory:
    """Directory that this process owns until it closes the directory or dies."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @staticmethod
    def create(root: Path, label: str) -> LocalDirectory:
        """A new directory, whose name begins with ``label``."""
        path = root / f"{label}-{uuid.uuid4().hex[:12]}"
        unfinished = root / f"{UNFINISHED}{path.name}"
        unfinished.mkdir(mode=0o700)
        lock = _locked(unfinished)
        if lock is None:
            raise StateError(
                f"cannot lock {unfinished / LOCK}; set state.backend.rocksdb.localdir to a "
                "directory on a local disk of this host"
            )
        unfinished.rename(path)
        return LocalDirectory(path, lock)

    @staticmethod
    def adopt(path: Path) -> LocalDirectory | None:
        """The directory ``path`` of a dead owner, now owned by this process. None if the owner
        lives, or if another process was quicker."""
        lock = _locked(path)
        return None if lock is None else LocalDirectory(path, lock)

    def touch(self) -> None:
        """Mark the directory as just used, so that its age is 0."""
        os.utime(self._lock)

    def release(self) -> None:
        """Give up the directory, so that other processes can adopt it."""
        os.close(self._lock)

    def remove(self) -> None:
        """Delete the directory."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def stale(
    root: Path, label: str, older_than: float = 0.0, spared: tuple[str, ...] = ()
) -> Iterator[LocalDirectory]:
    """Adopt and yield directories of dead owners, the newest first. Their names begin with
    ``label`` but with none of ``spared``, and they were last used more than ``older_than`` seconds
    ago.
    """
    latest = time.time() - older_than
    with contextlib.suppress(OSError):
        labelled = (path for path in root.iterdir() if path.name.startswith(label))
        used = {path: _used(path) for path in labelled if not path.name.startswith(spared)}
        for path in sorted(used, key=used.__getitem__, reverse=True):
            left = LocalDirectory.adopt(path) if used[path] <= latest else None
            if left is not None:
                yield left


def _used(path: Path) -> float:
    """Time of last use of the directory; infinite if another process has deleted it."""
    for file in (path / LOCK, path):
        with contextlib.suppress(OSError):
            return file.stat().st_mtime
    return math.inf


def _locked(path: Path) -> int | None:
    try:
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        removed = not os.path.samestat(os.fstat(lock), os.stat(path / LOCK))
    except OSError:
        removed = True
    if removed:  # or another process has it
        os.close(lock)
        return None
    return lock
