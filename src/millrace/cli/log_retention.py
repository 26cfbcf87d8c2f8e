"""Retention of logs: the newest logs and the logs of running jobs stay.

Flink keeps a number of old log files, too: configuration ``env.log.max``.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from pathlib import Path

from millrace.cli.log_rotation import former

__all__ = ["KEPT", "delete_old_logs", "mark_in_use"]

KEPT = 50
"""Logs that stay in a directory; a run has one, and perhaps its former part beside it."""
_NAME = re.compile(r".+-\d{8}-\d{6}-\d+\.log")


def mark_in_use(path: Path) -> None:
    """Protect a log from deletion until this process ends, even if it is killed."""
    # never closed: the lock is released with the process, and children do not inherit it
    fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_SH)


def delete_old_logs(directory: Path, kept: int = KEPT) -> None:
    """Delete all but the newest logs, except those in use. Other files stay, as do files that
    cannot be deleted."""
    found: list[tuple[float, Path]] = []
    for path in directory.iterdir():
        if _NAME.fullmatch(path.name):
            with contextlib.suppress(OSError):
                found.append((path.stat().st_mtime, path))
    for _, path in sorted(found, reverse=True)[kept:]:
        with contextlib.suppress(OSError):
            _delete_unused(path)


def _delete_unused(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
        spark = path.with_name(f"{path.name}.spark")
        for beside in (former(path), spark, former(spark)):
            beside.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
