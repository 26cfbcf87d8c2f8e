"""Snapshots: the common form of checkpoints and savepoints, in any place.

A savepoint is a directory of its own that nothing else refers to and that refers to nothing else,
so it can be moved and copied as a whole (Flink docs, "Savepoints"). A checkpoint is a directory
``chk-<n>`` in the directory of its job, with which it shares files.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from millrace.common.errors import CheckpointCorruptError, CheckpointError
from millrace.filesystem.registry import exists, file_system_of, resolved
from millrace.state.canonical.opaque_parts import native
from millrace.state.canonical.stored_state import STATES, StateFile, StoredState, SubtaskFiles
from millrace.state.checkpoint.delta_file import DeltaFile, DeltaFileRef, SubtaskKey
from millrace.state.checkpoint.delta_set import DeltaSet, check_segments, read_deltas_of
from millrace.state.checkpoint.directory import METADATA, complete_checkpoints, metadata_path
from millrace.state.checkpoint.files import StrPath, length_of, reading
from millrace.state.checkpoint.manifest import CANONICAL, Manifest, read_manifest_file
from millrace.state.state_delta import StateDelta

__all__ = [
    "INCOMPLETE",
    "SAVEPOINT",
    "Snapshot",
    "is_savepoint_name",
    "open_snapshot",
    "read_snapshot_manifest",
    "snapshot_metadata",
]

SAVEPOINT: Final = "savepoint"
_NAME = re.compile(rf"{SAVEPOINT}-.+-[0-9a-f]{{12}}")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A complete checkpoint or savepoint."""

    path: str
    """Directory of the snapshot's ``_metadata``."""
    directory: str
    """Directory to which the paths of the snapshot's files are relative."""
    manifest: Manifest
    deltas: DeltaSet
    trusted: bool = False
    """Whether reading the snapshot may run code of its author."""

    @property
    def is_savepoint(self) -> bool:
        """Whether the snapshot is a savepoint, which belongs to its user."""
        return self.manifest.kind == SAVEPOINT

    @property
    def is_canonical(self) -> bool:
        """Whether the snapshot has the canonical format rather than the native format."""
        return self.manifest.format_type == CANONICAL

    def require_trust(self) -> None:
        """Raises CheckpointError if only a trusted reader may decode the snapshot and the user
        has not allowed it."""
        if not self.is_canonical and not self.trusted:
            raise CheckpointError(
                f"the {self.name} is in the native format, and reading it can run code of its "
                "author. If you trust the author, allow it: --allow-pickle, or "
                "execution.state-recovery.allow-pickle. A canonical savepoint needs no trust"
            )

    @property
    def name(self) -> str:
        """Display name of the snapshot."""
        return f"{self.manifest.kind} {self.path}"


INCOMPLETE = (
    "it has no _metadata, because it is still being written, or the process that wrote it "
    "was killed; if no job is writing it, delete the directory"
)


def is_savepoint_name(name: str) -> bool:
    """Whether ``name`` has the form of a savepoint directory's name.

    Example:
        >>> is_savepoint_name("savepoint-count-6c35493a-0123456789ab"), is_savepoint_name("mine")
        (True, False)
    """
    return _NAME.fullmatch(name) is not None


def snapshot_metadata(path: StrPath) -> str:
    """Path of the ``_metadata`` file of a snapshot. ``path`` is a savepoint, a ``chk-<n>``
    directory, a ``_metadata`` file, or the directory of a job, which stands for its newest
    checkpoint.

    Raises:
        CheckpointError: there is no snapshot.
        UnsupportedFileSystemSchemeError: its file system is not supported.
    """
    given = resolved(path)
    with reading(given):
        return _metadata_at(given)


def _metadata_at(given: str) -> str:
    if os.path.basename(given) == METADATA and exists(given):
        return given
    if exists(f"{given}/{METADATA}"):
        return f"{given}/{METADATA}"
    numbers = complete_checkpoints(given)
    if numbers:
        return metadata_path(given, numbers[-1])
    if is_savepoint_name(os.path.basename(given)) and file_system_of(given).is_directory(given):
        raise CheckpointError(f"the savepoint {given} is incomplete: {INCOMPLETE}")
    there = exists(given) or file_system_of(given).is_directory(given)
    missing = "" if there else ", which does not exist"
    raise CheckpointError(
        f"there is no complete savepoint or checkpoint at {given}{missing}; give the path "
        "of a savepoint, of a checkpoint (<job directory>/chk-<n>) or of a job's directory"
    )


def read_snapshot_manifest(path: StrPath) -> Snapshot:
    """The snapshot at ``path`` (see `snapshot_metadata`), with an empty set of deltas: only its
    ``_metadata`` is read.

    Raises:
        CheckpointError: there is no snapshot, its format is newer than this version, or it cannot
            be read.
        CheckpointCorruptError: it is damaged.
    """
    metadata = snapshot_metadata(path)
    manifest = read_manifest_file(metadata)
    where = os.path.dirname(metadata)
    directory = where if manifest.kind == SAVEPOINT else os.path.dirname(where)
    return Snapshot(where, directory, manifest, DeltaSet())


def open_snapshot(path: StrPath, trusted: bool = False) -> Snapshot:
    """The snapshot at ``path`` (see `snapshot_metadata`), with its deltas.

    Args:
        trusted: whether reading its state may run code of its author. Without trust, a native
            snapshot cannot be read; a canonical one can, except for pickled values.

    Raises:
        CheckpointError: there is no snapshot, its format is newer than this version, or it cannot
            be read.
        CheckpointCorruptError: it is damaged, or a file of it is missing.
    """
    snapshot = read_snapshot_manifest(path)
    manifest = snapshot.manifest
    if snapshot.is_canonical:
        if trusted:
            manifest = _with_native_parts(manifest)
        deltas = _stored_deltas(snapshot.directory, manifest, trusted)
    else:
        deltas = read_deltas_of(snapshot.directory, manifest, os.path.join(snapshot.path, METADATA))
        check_segments(snapshot.directory, deltas.live())
    return Snapshot(snapshot.path, snapshot.directory, manifest, deltas, trusted)


def _stored_deltas(directory: str, manifest: Manifest, trusted: bool) -> DeltaSet:
    """Deltas of a canonical savepoint: one per subtask, which stands for all files of the
    subtask."""
    for state in manifest.states:
        for file in state.files:
            path = f"{directory}/{file.path}"
            length = length_of(path)
            if length != file.length:
                raise CheckpointCorruptError(path, f"it has {length} bytes, not {file.length}")
    by_subtask = _by_subtask(manifest.states)
    entries = [
        (*key, StateDelta(manifest.epoch, version, manifest.epoch, files))
        for key, version in manifest.versions.items()
        if (files := SubtaskFiles(directory, tuple(by_subtask.get(key, ())), trusted)).states
    ]
    return DeltaSet().with_file(
        DeltaFile(DeltaFileRef(STATES, 0, 0, 0, len(entries)), tuple(entries))
    )


def _by_subtask(states: Iterable[StoredState]) -> dict[SubtaskKey, list[StoredState]]:
    """States of each subtask; each state has only the files of that subtask."""
    by_subtask: dict[SubtaskKey, list[StoredState]] = {}
    for state in states:
        files: dict[int, list[StateFile]] = {}
        for file in state.files:
            files.setdefault(file.subtask, []).append(file)
        for subtask, its in files.items():
            own = dataclasses.replace(state, files=tuple(its))
            by_subtask.setdefault((state.stage, subtask), []).append(own)
    return by_subtask


def _with_native_parts(manifest: Manifest) -> Manifest:
    """The manifest of a canonical savepoint with its source positions in native encoding.

    Only for a trusted savepoint. In any other, positions stay tagged: they may contain a pickle,
    which must not be decoded.
    """
    sources = {uid: native(data, True) for uid, data in manifest.sources.items()}
    return dataclasses.replace(manifest, sources=sources)
