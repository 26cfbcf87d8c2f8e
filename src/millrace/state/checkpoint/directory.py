"""Paths in a job's checkpoint directory; the layout is the same as Flink's.

``<dir>/<job-id>/chk-<n>/_metadata`` is checkpoint n and makes it complete, ``shared/`` holds what
several checkpoints refer to (Flink docs, "Checkpoints", directory structure).
"""

from __future__ import annotations

import contextlib
import os
import re

from millrace.common.errors import CheckpointError
from millrace.filesystem.crash_points import crash_point
from millrace.filesystem.registry import file_system_of
from millrace.state.checkpoint.files import StrPath, delete_quietly, reason_of

__all__ = [
    "CLAIMED",
    "COMMITTED",
    "METADATA",
    "SHARED",
    "checkpoint_dir",
    "checkpoint_files",
    "checkpoint_numbers",
    "committed_path",
    "complete_checkpoints",
    "is_complete",
    "metadata_path",
    "remove_checkpoint",
]

SHARED = "shared"
METADATA = "_metadata"
COMMITTED = "_committed"
"""Name of an empty file beside ``_metadata``, which says that the sinks have committed all
pending committables of the checkpoint."""
CLAIMED = "_claimed"
"""Name of an empty file in a checkpoint that another job has taken over, and that stays all the
same."""

_CHECKPOINT = re.compile(r"chk-(\d+)")


def checkpoint_dir(job_dir: StrPath, number: int) -> str:
    """Directory of a checkpoint."""
    return os.path.join(job_dir, f"chk-{number}")


def metadata_path(job_dir: StrPath, number: int) -> str:
    """Path of the file that makes a checkpoint complete."""
    return os.path.join(job_dir, f"chk-{number}", METADATA)


def committed_path(job_dir: StrPath, number: int) -> str:
    """Path of the file which says that all committables of a checkpoint have been committed."""
    return os.path.join(job_dir, f"chk-{number}", COMMITTED)


def checkpoint_numbers(job_dir: StrPath) -> list[int]:
    """Numbers of all checkpoints, complete or not, in ascending order."""
    names = file_system_of(job_dir).directories(os.fspath(job_dir))
    matches = (_CHECKPOINT.fullmatch(name) for name in names)
    return sorted(int(match[1]) for match in matches if match)


def is_complete(job_dir: StrPath, number: int) -> bool:
    """Whether the checkpoint with that number is complete. In file systems without locks, an
    empty ``_metadata`` does not count: a new driver creates it to take the number from a former
    driver (see `CheckpointStorage`)."""
    files = file_system_of(job_dir)
    status = files.status(metadata_path(job_dir, number))
    return status is not None and (status.length > 0 or files.has_locks)


def complete_checkpoints(job_dir: StrPath) -> list[int]:
    """Numbers of the complete checkpoints, in ascending order.

    Raises:
        CheckpointError: the directory cannot be read. A missing directory is no error, but a
            missing bucket is.
    """
    try:
        return [n for n in checkpoint_numbers(job_dir) if is_complete(job_dir, n)]
    except OSError as error:
        reason = reason_of(error)
        raise CheckpointError(f"cannot look for checkpoints in {job_dir}: {reason}") from error


def checkpoint_files(job_dir: StrPath, number: int) -> tuple[str, str]:
    """Paths of the files in the directory of a checkpoint; the files may be missing."""
    return metadata_path(job_dir, number), committed_path(job_dir, number)


def remove_checkpoint(job_dir: StrPath, number: int) -> bool:
    """Delete the directory of a checkpoint: ``_metadata`` first, so that a checkpoint with missing
    files never counts.

    Returns:
        Whether ``_metadata`` is deleted. If not, the checkpoint is still complete, and its files
        must stay.
    """
    files = file_system_of(job_dir)
    metadata, committed = checkpoint_files(job_dir, number)
    try:
        files.delete_all([metadata])
    except OSError:
        return False
    crash_point("collect-metadata")
    delete_quietly(committed, os.path.join(checkpoint_dir(job_dir, number), CLAIMED))
    if files.has_directories:
        with contextlib.suppress(OSError):
            files.delete_directory(checkpoint_dir(job_dir, number))
    return True
