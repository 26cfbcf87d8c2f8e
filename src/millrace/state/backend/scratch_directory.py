"""Directories for what a process needs only while it lives: deleted by it, or after its death.

A process that is killed deletes nothing; the next that needs such a directory does it.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from millrace.common.errors import StateError
from millrace.state.backend.local_directory import LocalDirectory, root_of, stale

__all__ = ["make_scratch_directory", "scratch_directory"]

_LABEL = "scratch-"


def make_scratch_directory() -> LocalDirectory:
    """A new directory of this process; those of processes that have died are deleted.

    Example:
        >>> directory = make_scratch_directory()
        >>> directory.path.is_dir()
        True
        >>> directory.remove()
    """
    try:
        root = root_of((), 0)
    except StateError:  # somebody else was there first
        root = Path(tempfile.mkdtemp(prefix="millrace-"))
    for left in stale(root, _LABEL):
        left.remove()
    return LocalDirectory.create(root, _LABEL.rstrip("-"))


@contextlib.contextmanager
def scratch_directory() -> Iterator[str]:
    """The path of such a directory, which is deleted at the end."""
    directory = make_scratch_directory()
    try:
        yield str(directory.path)
    finally:
        directory.remove()
