"""List of the savepoints that a job has written itself, and may therefore read as trusted."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress

from millrace.filesystem.registry import file_system_of
from millrace.state.checkpoint.directory import METADATA
from millrace.state.checkpoint.files import StrPath, write_file

__all__ = ["is_own", "note_own"]

_NAME = "own-savepoints"
_KEPT = 1000
_MOST_BYTES = 1 << 20


def note_own(job_dir: StrPath, savepoint: str) -> None:
    """Record that the job has written a savepoint. Only the newest savepoints are kept in the list.

    Raises:
        CheckpointError: the file system refused.
    """
    lines = [*_lines(job_dir), _digest(savepoint)][-_KEPT:]
    write_file(os.path.join(job_dir, _NAME), ["\n".join(lines).encode()], durable=False)


def is_own(job_dir: StrPath, savepoint: str) -> bool:
    """Whether the job has written the savepoint and its manifest is unchanged. If the savepoint
    is canonical, the manifest has checksums of all files."""
    with suppress(OSError):
        return _digest(savepoint) in _lines(job_dir)
    return False


def _lines(job_dir: StrPath) -> list[str]:
    path = os.path.join(job_dir, _NAME)
    with suppress(OSError, UnicodeDecodeError):
        return file_system_of(path).read(path, 0, _MOST_BYTES).decode().splitlines()
    return []


def _digest(savepoint: str) -> str:
    with file_system_of(savepoint).open(f"{savepoint}/{METADATA}") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
