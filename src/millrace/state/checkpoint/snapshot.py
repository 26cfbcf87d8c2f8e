"""Snapshots: what a checkpoint and a savepoint have in common, wherever their files are.

A savepoint is a directory of its own that nothing else refers to and that refers to nothing else,
so it can be moved and copied as a whole (Flink docs, "Savepoints"). A checkpoint is a directory
``chk-<n>`` in the directory of its job, with which it shares files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from millrace.common.errors import CheckpointError
from millrace.filesystem.location import local_location
from millrace.state.checkpoint.directory import METADATA, complete_checkpoints, metadata_path
from millrace.state.checkpoint.files import StrPath, reading
from millrace.state.checkpoint.layer_set import LayerSet, check_segments, read_layers_of
from millrace.state.checkpoint.manifest import Manifest

__all__ = ["SAVEPOINT", "Snapshot", "open_snapshot", "read_snapshot_manifest", "snapshot_metadata"]

CHECKPOINT = "checkpoint"
SAVEPOINT = "savepoint"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A complete checkpoint or savepoint."""

    path: Path
    """The directory that its ``_metadata`` is in."""
    directory: Path
    """What the paths of its files are relative to."""
    manifest: Manifest
    layers: LayerSet

    @property
    def is_savepoint(self) -> bool:
        """Whether it is one that its user owns."""
        return self.manifest.kind == SAVEPOINT

    @property
    def name(self) -> str:
        """What people call it."""
        return f"{self.manifest.kind} {self.path}"


def snapshot_metadata(path: StrPath) -> Path:
    """The ``_metadata`` file that ``path`` means: a savepoint, a ``chk-<n>`` directory, a
    ``_metadata`` file, or the directory of a job, of which the newest checkpoint is taken.

    Raises:
        CheckpointError: there is none.
        UnsupportedFileSystemSchemeError: it belongs to a file system that is not supported.
    """
    given = local_location(path)
    if given.name == METADATA and given.is_file():
        return given
    if (given / METADATA).is_file():
        return given / METADATA
    numbers = complete_checkpoints(given) if given.is_dir() else []
    if numbers:
        return metadata_path(given, numbers[-1])
    missing = "" if given.exists() else ", which does not exist"
    raise CheckpointError(
        f"there is no complete savepoint or checkpoint at {given}{missing}; name a savepoint, a "
        "checkpoint (<job directory>/chk-<n>) or the directory of a job"
    )


def read_snapshot_manifest(path: StrPath) -> Snapshot:
    """The snapshot that ``path`` means with an empty set of layers: only its ``_metadata`` is read.

    Raises:
        CheckpointError: there is none, it is of a later format, or cannot be read.
        CheckpointCorruptError: it is damaged.
    """
    metadata = snapshot_metadata(path)
    with reading(metadata):
        data = metadata.read_bytes()
    manifest = Manifest.decode(data, metadata)
    directory = metadata.parent if manifest.kind == SAVEPOINT else metadata.parent.parent
    return Snapshot(metadata.parent, directory, manifest, LayerSet())


def open_snapshot(path: StrPath) -> Snapshot:
    """The snapshot that ``path`` means (see `snapshot_metadata`), with its layers.

    Raises:
        CheckpointError: there is none, it is of a later format, or cannot be read.
        CheckpointCorruptError: it is damaged, or a file of it is missing.
    """
    found = read_snapshot_manifest(path)
    layers = read_layers_of(found.directory, found.manifest, os.path.join(found.path, METADATA))
    check_segments(found.directory, layers.live())
    return Snapshot(found.path, found.directory, found.manifest, layers)
