"""Where things are in a job's checkpoint directory; the same layout as Flink's.

``<dir>/<job-id>/chk-<n>/_metadata`` is checkpoint n and makes it complete, ``shared/`` holds what
several checkpoints refer to (Flink docs, "Checkpoints", directory structure).
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from millrace.state.checkpoint.crash_points import crash_point
from millrace.state.checkpoint.files import StrPath, delete_quietly

__all__ = [
    "COMMITTED",
    "METADATA",
    "SHARED",
    "checkpoint_dir",
    "checkpoint_numbers",
    "committed_path",
    "complete_checkpoints",
    "metadata_path",
    "remove_checkpoint",
]

SHARED = "shared"
METADATA = "_metadata"
COMMITTED = "_committed"
"""An empty file beside ``_metadata``: the sinks have committed all that it names as pending."""

_CHECKPOINT = re.compile(r"chk-(\d+)")


def checkpoint_dir(job_dir: StrPath, number: int) -> Path:
    """The directory of a checkpoint."""
    return Path(job_dir, f"chk-{number}")


def metadata_path(job_dir: StrPath, number: int) -> Path:
    """The file that makes a checkpoint complete."""
    return checkpoint_dir(job_dir, number) / METADATA


def committed_path(job_dir: StrPath, number: int) -> Path:
    """The file that says that nothing of a checkpoint is left to be committed."""
    return checkpoint_dir(job_dir, number) / COMMITTED


def checkpoint_numbers(job_dir: StrPath) -> list[int]:
    """The numbers of all checkpoints, complete or not, in ascending order."""
    try:
        names = os.listdir(job_dir)
    except FileNotFoundError:
        return []
    found = (_CHECKPOINT.fullmatch(name) for name in names)
    return sorted(int(match[1]) for match in found if match)


def complete_checkpoints(job_dir: StrPath) -> list[int]:
    """The numbers of the complete checkpoints, in ascending order."""
    return [n for n in checkpoint_numbers(job_dir) if metadata_path(job_dir, n).exists()]


def remove_checkpoint(job_dir: StrPath, number: int) -> bool:
    """Delete the directory of a checkpoint: ``_metadata`` first, so that no half of it counts.

    Returns:
        Whether that one has gone. If not, the checkpoint is whole, and its files must stay.
    """
    directory = checkpoint_dir(job_dir, number)
    try:
        (directory / METADATA).unlink(missing_ok=True)
    except OSError:
        return False
    crash_point("collect-metadata")
    delete_quietly(directory / COMMITTED)
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            delete_quietly(directory / name)
        directory.rmdir()
    return True
