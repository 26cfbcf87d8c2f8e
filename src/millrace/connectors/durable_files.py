"""File operations that survive a power cut: nothing counts before it was flushed to the disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

__all__ = ["delete_if_there", "make_durable_directory", "sync_directories", "sync_file"]


def sync_file(path: str) -> None:
    """Flush a file's content to the disk."""
    _sync(path, os.O_RDONLY)


def sync_directories(directories: Iterable[str]) -> None:
    """Flush the names of the files in these directories to the disk."""
    for directory in sorted(set(directories)):
        _sync(directory, os.O_RDONLY | os.O_DIRECTORY)


def make_durable_directory(directory: str) -> None:
    """Create a directory and its parents, and flush the names of the new ones."""
    if os.path.isdir(directory):
        return
    parent = os.path.dirname(directory)
    make_durable_directory(parent)
    with contextlib.suppress(FileExistsError):
        os.mkdir(directory)
    sync_directories([parent])


def delete_if_there(path: str) -> None:
    """Delete a file that may be gone already."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _sync(path: str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
