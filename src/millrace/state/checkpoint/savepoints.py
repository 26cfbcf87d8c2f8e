"""Savepoints as their owners see them: where they are, how big, and how to be rid of one.

A savepoint belongs to its user and is never deleted by a job (Flink docs, "Savepoints"). To delete
one takes its own files and nothing else, whatever its ``_metadata`` says: it may come from
anywhere.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from millrace.common.errors import CheckpointError
from millrace.filesystem.location import qualified
from millrace.state.canonical.stored_state import STATES
from millrace.state.checkpoint.directory import METADATA, SHARED
from millrace.state.checkpoint.files import StrPath, delete_quietly
from millrace.state.checkpoint.snapshot import Snapshot, open_snapshot, read_snapshot_manifest
from millrace.state.state_delta import FileRef

__all__ = [
    "DamagedSavepoint",
    "check_disposable",
    "dispose_savepoint",
    "files_of",
    "find_savepoints",
    "size_of",
]

_CHECKPOINT = re.compile(r"chk-\d+")
_OWN_FILE = re.compile(rf"{SHARED}/[^/\0]+|{STATES}/[^/\0]+/[^/\0]+/[^/\0]+")


@dataclass(frozen=True, slots=True)
class DamagedSavepoint:
    """A directory that looks like a savepoint and cannot be read."""

    path: Path
    reason: str


def find_savepoints(directory: StrPath) -> Iterator[Snapshot | DamagedSavepoint]:
    """The savepoints in a directory and in all directories below, each without its deltas.

    Links are not followed. Checkpoints of jobs are passed over.
    """
    for path, names, files in os.walk(qualified(directory)):
        names[:] = sorted(n for n in names if n != SHARED and not _CHECKPOINT.fullmatch(n))
        if METADATA in files and not _CHECKPOINT.fullmatch(os.path.basename(path)):
            names.clear()
            yield from _found(Path(path))


def _found(path: Path) -> Iterator[Snapshot | DamagedSavepoint]:
    try:
        snapshot = read_snapshot_manifest(path)
    except CheckpointError as error:
        yield DamagedSavepoint(path, str(error))
        return
    if snapshot.is_savepoint:
        yield snapshot


def files_of(snapshot: Snapshot) -> list[Path]:
    """The files that a snapshot needs, ``_metadata`` first; ``snapshot`` has its deltas."""
    paths = [ref.path for ref in snapshot.manifest.delta_files]
    paths += [file.path for state in snapshot.manifest.states for file in state.files]
    deltas = (delta.data for _, _, delta in snapshot.deltas.live())
    paths += [data.path for data in deltas if isinstance(data, FileRef)]
    return [snapshot.path / METADATA, *(snapshot.directory / path for path in dict.fromkeys(paths))]


def size_of(snapshot: Snapshot) -> int:
    """The bytes of all files in the directory of a savepoint."""
    total = 0
    for path, _, files in os.walk(snapshot.path):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(path, name)).st_size
    return total


def dispose_savepoint(path: StrPath) -> list[Path]:
    """Delete a savepoint.

    Args:
        path: the savepoint's directory or its ``_metadata`` file.

    Returns:
        What is left in its directory, because it is not the savepoint's: usually nothing, and then
        the directory is gone, too.

    Raises:
        CheckpointError: this is not a savepoint, or it cannot be read; nothing has been deleted.
    """
    snapshot = check_disposable(path)
    files = _own_files(snapshot)
    try:
        os.unlink(
            snapshot.path / METADATA
        )  # first: half a savepoint must not look like a whole one
    except OSError as error:
        raise CheckpointError(f"cannot delete {snapshot.path}: {error.strerror}") from error
    for file in files:
        delete_quietly(file)
    for directory in _directories(snapshot.path, files):
        with contextlib.suppress(OSError):
            directory.rmdir()
    return sorted(p for p in snapshot.path.rglob("*") if not p.is_dir())


def _directories(path: Path, files: list[Path]) -> list[Path]:
    """The directories that the files of a savepoint are in, inner ones first."""
    found = {path, path / SHARED}
    for file in files:
        found |= {parent for parent in file.parents if path in parent.parents}
    return sorted(found, key=lambda directory: len(directory.parts), reverse=True)


def check_disposable(path: StrPath) -> Snapshot:
    """The savepoint at ``path``, without its deltas.

    Raises:
        CheckpointError: it is something else, or not one that can be deleted.
    """
    snapshot = read_snapshot_manifest(path)
    if not snapshot.is_savepoint:
        raise CheckpointError(
            f"{snapshot.path} is a checkpoint of job '{snapshot.manifest.job_name}', which looks "
            "after its checkpoints itself; only savepoints are disposed of"
        )
    _own_files(snapshot)
    return snapshot


def _own_files(snapshot: Snapshot) -> list[Path]:
    """The files it refers to, provided that they are in its own directory of files."""
    shared = snapshot.path / SHARED
    paths = {ref.path for ref in snapshot.manifest.delta_files}
    paths |= {file.path for state in snapshot.manifest.states for file in state.files}
    with contextlib.suppress(CheckpointError):  # damaged: what is not known is left
        whole = open_snapshot(snapshot.path)
        paths |= {os.path.relpath(file, snapshot.directory) for file in files_of(whole)}
    paths.discard(METADATA)
    foreign = [p for p in paths if not _OWN_FILE.fullmatch(p) or ".." in p.split("/")]
    inside = {p for path in paths for p in (snapshot.path / path).parents if p != snapshot.path}
    linked = any(p.is_symlink() for p in inside if snapshot.path in p.parents)
    if foreign or linked or shared.is_symlink():
        raise CheckpointError(
            f"{snapshot.path} refers to files outside of itself "
            f"({foreign[0] if foreign else SHARED}), as no savepoint does; nothing was deleted"
        )
    return [snapshot.path / path for path in sorted(paths)]
