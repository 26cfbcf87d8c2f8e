"""Management of savepoints for their owners: list them, measure them and delete them.

A savepoint belongs to its user, and no job ever deletes it (Flink docs, "Savepoints"). Deleting a
savepoint removes only its own files, whatever its ``_metadata`` says, because the savepoint may
come from any source.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from millrace.common.errors import CheckpointError
from millrace.filesystem.location import is_local
from millrace.filesystem.registry import exists, file_system_of, resolved
from millrace.state.canonical.stored_state import STATES
from millrace.state.checkpoint.directory import METADATA, SHARED
from millrace.state.checkpoint.files import StrPath, delete_quietly, reason_of
from millrace.state.checkpoint.snapshot import (
    INCOMPLETE,
    SAVEPOINT,
    Snapshot,
    is_savepoint_name,
    open_snapshot,
    read_snapshot_manifest,
)
from millrace.state.state_delta import FileRef

__all__ = [
    "DamagedSavepoint",
    "check_disposable",
    "delete_incomplete",
    "dispose_savepoint",
    "files_of",
    "find_savepoints",
    "size_of",
]

_CHECKPOINT = re.compile(r"chk-\d+")
_OWN_FILE = re.compile(rf"{SHARED}/[^/\0]+|{STATES}/[^/\0]+/[^/\0]+/[^/\0]+")


@dataclass(frozen=True, slots=True)
class DamagedSavepoint:
    """Directory that looks like a savepoint but cannot be read."""

    path: str
    reason: str


def find_savepoints(directory: StrPath) -> Iterator[Snapshot | DamagedSavepoint]:
    """Savepoints in a directory and in all directories below it, each without its deltas.

    Links are not followed. Checkpoints of jobs are passed over.
    """
    waiting = [resolved(directory)]
    while waiting:
        path = waiting.pop()
        try:
            if exists(f"{path}/{METADATA}") and not _CHECKPOINT.fullmatch(os.path.basename(path)):
                yield from _found(path)
            elif is_savepoint_name(os.path.basename(path)):
                yield DamagedSavepoint(path, f"the savepoint {path} is incomplete: {INCOMPLETE}")
            else:
                waiting += reversed(_directories_in(path))
        except OSError as error:
            yield DamagedSavepoint(path, f"cannot look into {path}: {reason_of(error)}")


def _directories_in(path: str) -> list[str]:
    """Subdirectories that savepoints may be in."""
    files = file_system_of(path)
    names = [n for n in sorted(files.directories(path)) if n != SHARED]
    inside = [f"{path}/{name}" for name in names if not _CHECKPOINT.fullmatch(name)]
    return [directory for directory in inside if not files.is_link(directory)]


def _found(path: str) -> Iterator[Snapshot | DamagedSavepoint]:
    try:
        snapshot = read_snapshot_manifest(path)
    except CheckpointError as error:
        yield DamagedSavepoint(path, str(error))
        return
    if snapshot.is_savepoint:
        yield snapshot


def files_of(snapshot: Snapshot) -> list[str]:
    """Files that a snapshot needs, ``_metadata`` first. The ``snapshot`` must have its deltas."""
    paths = [ref.path for ref in snapshot.manifest.delta_files]
    paths += [file.path for state in snapshot.manifest.states for file in state.files]
    deltas = (delta.data for _, _, delta in snapshot.deltas.live())
    paths += [data.path for data in deltas if isinstance(data, FileRef)]
    paths = [f"{snapshot.directory}/{path}" for path in dict.fromkeys(paths)]
    return [f"{snapshot.path}/{METADATA}", *paths]


def size_of(snapshot: Snapshot) -> int:
    """Bytes of all files in the directory of a savepoint."""
    files = file_system_of(snapshot.path).list(snapshot.path, recursive=True)
    return sum(file.length for file in files)


def dispose_savepoint(path: StrPath) -> list[str]:
    """Delete a savepoint.

    Args:
        path: the savepoint's directory or its ``_metadata`` file.

    Returns:
        Paths that are left in the directory because they do not belong to the savepoint. Usually
        there are none, and the directory is deleted, too.

    Raises:
        CheckpointError: this is not a savepoint, or it cannot be read; nothing has been deleted.
    """
    snapshot = check_disposable(path)
    own = _own_files(snapshot)
    files = file_system_of(snapshot.path)
    try:
        # first: half a savepoint must not look like a whole one
        files.delete(f"{snapshot.path}/{METADATA}")
    except OSError as error:
        raise CheckpointError(f"cannot delete {snapshot.path}: {reason_of(error)}") from error
    if own:
        delete_quietly(*(f"{snapshot.path}/{path}" for path in own))
    for directory in sorted(_directories(own), key=len, reverse=True):
        files.remove_empty(f"{snapshot.path}/{directory}")
    files.remove_empty(snapshot.path)
    return sorted(file.location for file in files.list(snapshot.path, recursive=True))


def delete_incomplete(directory: StrPath, job_id: str, latest: float) -> list[str]:
    """Delete the incomplete savepoints of a job in a directory.

    Args:
        job_id: the caller holds the lease of this job.
        latest: time in seconds since the epoch of Unix. A savepoint that was written to after this
            time may still be completed by a superseded run, and stays.

    Returns:
        The directories that were deleted.
    """
    own = re.compile(rf"{SAVEPOINT}-{re.escape(job_id)}-[0-9a-f]{{12}}")
    base = resolved(directory)
    files = file_system_of(base)
    deleted = []
    with contextlib.suppress(OSError):
        for path in [f"{base}/{name}" for name in files.directories(base) if own.fullmatch(name)]:
            if not files.is_link(path) and _is_abandoned(path, latest):
                files.delete_directory(path)
                deleted.append(path)
    return deleted


def _is_abandoned(path: str, latest: float) -> bool:
    """Whether a savepoint without ``_metadata`` has not been changed since ``latest``, and has
    no files of other owners."""
    if exists(f"{path}/{METADATA}"):
        return False
    files = file_system_of(path)
    files_below = list(files.list(path, recursive=True))
    names = [file.location.removeprefix(f"{path}/") for file in files_below]
    if any("/" in name and not _OWN_FILE.fullmatch(name) for name in names):
        return False
    times = [file.modified for file in files_below]
    if is_local(path):  # where files that are being written have other names
        for place, _, files_here in os.walk(path):
            places = [place, *(os.path.join(place, name) for name in files_here)]
            times += [os.lstat(place).st_mtime for place in places]
    return all(time < latest for time in times)


def _directories(paths: Collection[str]) -> set[str]:
    """Parent directories of the relative paths, and the directory of shared files."""
    directories = {SHARED}
    for path in paths:
        parts = path.split("/")
        directories |= {"/".join(parts[:depth]) for depth in range(1, len(parts))}
    return directories


def check_disposable(path: StrPath) -> Snapshot:
    """The savepoint at ``path``, without its deltas; raises if it must not be deleted.

    Raises:
        CheckpointError: the path is not a savepoint, or the savepoint cannot be deleted.
    """
    snapshot = read_snapshot_manifest(path)
    if not snapshot.is_savepoint:
        raise CheckpointError(
            f"{snapshot.path} is a checkpoint of job '{snapshot.manifest.job_name}', which "
            "manages its checkpoints itself; only savepoints can be disposed of"
        )
    _own_files(snapshot)
    return snapshot


def _own_files(snapshot: Snapshot) -> list[str]:
    """The files in the savepoint's own directory to which it refers, relative to the directory."""
    paths = {ref.path for ref in snapshot.manifest.delta_files}
    paths |= {file.path for state in snapshot.manifest.states for file in state.files}
    with contextlib.suppress(CheckpointError):  # damaged: what is not known is left
        whole = open_snapshot(snapshot.path)
        paths |= {file.removeprefix(f"{whole.path}/") for file in files_of(whole)}
    paths.discard(METADATA)
    foreign = [p for p in paths if not _OWN_FILE.fullmatch(p) or ".." in p.split("/")]
    files = file_system_of(snapshot.path)
    inside = [f"{snapshot.path}/{directory}" for directory in _directories(paths)]
    if foreign or any(map(files.is_link, inside)):
        raise CheckpointError(
            f"{snapshot.path} refers to files outside of itself "
            f"({foreign[0] if foreign else SHARED}), as no savepoint does; nothing was deleted"
        )
    return sorted(paths)
