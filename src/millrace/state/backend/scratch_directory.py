"""Scratch directories of a process, which are deleted at its end or after its death.

A killed process deletes nothing; the next process that needs a scratch directory deletes the old
ones.
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
    """New directory of this process. Also deletes the directories of dead processes.

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
    """Path of a scratch directory, which is deleted at the end of the ``with`` block."""
    directory = make_scratch_directory()
    try:
        yield str(directory.path)
    finally:
        directory.remove()
