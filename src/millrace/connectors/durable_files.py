"""File operations that survive a power cut: nothing counts before it was flushed to the disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from millrace.filesystem.local_pending_file import sync

__all__ = ["delete_if_there", "sync_directories"]


def sync_directories(directories: Iterable[str]) -> None:
    """Flush the names of the files in these directories to the disk."""
    for directory in sorted(set(directories)):
        sync(directory)


def delete_if_there(path: str) -> None:
    """Delete a file that may be gone already."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
