"""Rotation of a run's log, which limits its size even if several processes write to it.

The JVM and the workers hold the file open, and what functions print is as much as they like. So the
file is not renamed but copied and emptied: every process appends to it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

__all__ = ["MAX_BYTES", "former", "rotate", "rotated"]

MAX_BYTES = 64 << 20
"""A log that is longer becomes the former one; what was the former one is deleted."""
_INTERVAL = 1.0
"""Seconds between looks at the log."""


def former(path: Path) -> Path:
    """Path of the previous log."""
    return path.with_name(f"{path.name}.1")


@contextlib.contextmanager
def rotated(path: Path, max_bytes: int = MAX_BYTES, interval: float = _INTERVAL) -> Iterator[None]:
    """Rotate a log whenever it is too long, while the context lasts."""
    end = Event()

    def watch() -> None:
        while not end.wait(interval):
            rotate(path, max_bytes)

    thread = Thread(target=watch, name="millrace-log-rotation", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
        rotate(path, max_bytes)  # what was written since the last look


def rotate(path: Path, max_bytes: int = MAX_BYTES) -> bool:
    """Rotate a log if it is too long; a line that is written at that moment may be lost.

    Returns:
        Whether it was.
    """
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size <= max_bytes:
            return False
        with contextlib.suppress(OSError):  # a full disk; all the more reason to empty the log
            _copy(path, former(path))
        os.truncate(path, 0)
        return True
    return False


def _copy(path: Path, to: Path) -> None:
    to.unlink(missing_ok=True)
    descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # its user's alone
    with os.fdopen(descriptor, "wb") as file, path.open("rb") as log:
        # what is written meanwhile, too: only what comes after the last look is lost
        while log.tell() < os.fstat(log.fileno()).st_size:
            shutil.copyfileobj(log, file, 1 << 20)
            file.flush()
