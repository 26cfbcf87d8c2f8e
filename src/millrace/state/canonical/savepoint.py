"""Converts a native snapshot to a savepoint in canonical format.

First the files with the states are written, then the manifest, which completes the savepoint.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from millrace.common.types.type_information import TypeInformation
from millrace.filesystem.crash_points import crash_point
from millrace.state.canonical.opaque_parts import tagged
from millrace.state.checkpoint.delta_file import SubtaskKey
from millrace.state.checkpoint.manifest import CANONICAL, Manifest
from millrace.state.checkpoint.savepoint import complete_savepoint, new_savepoint_directory
from millrace.state.checkpoint.snapshot import SAVEPOINT
from millrace.state.state_delta import StateDelta

__all__ = ["prepare_to_write", "write_canonical_savepoint"]


def prepare_to_write() -> None:
    """Import the modules that :func:`write_canonical_savepoint` needs, which takes a second."""
    import pyarrow

    import millrace.state.canonical.savepoint_files  # noqa: F401

    pyarrow.array([0])  # the first array of a process looks for pandas, which takes half of it


def write_canonical_savepoint(
    path: str,
    directory: str,
    manifest: Manifest,
    deltas: Mapping[SubtaskKey, list[StateDelta]],
    key_types: Mapping[str, TypeInformation[Any] | None],
    snapshot_id: str | None = None,
) -> Manifest:
    """Write the savepoint of a snapshot to the directory ``path``; returns its manifest.

    The snapshot's pending committables are left out: the job that wrote them commits them.

    Args:
        path: the directory of the savepoint; it is created.
        directory: the directory to which the file paths in ``deltas`` are relative.
        manifest: the manifest of the snapshot.
        deltas: the live deltas of the snapshot, by subtask.
        key_types: the types of keys by operator uid, where they are known.
        snapshot_id: the id of the savepoint; None for the name of its directory.

    Raises:
        CheckpointError: writing failed; what was written has been deleted.
        CheckpointCorruptError: a file of the snapshot is damaged.
    """
    from millrace.state.canonical.savepoint_files import write_states

    with new_savepoint_directory(path):
        states = write_states(path, directory, deltas, manifest.max_parallelism, key_types)
        crash_point("during-savepoint")
        written = dataclasses.replace(
            _with_tagged_parts(manifest),
            kind=SAVEPOINT,
            format_type=CANONICAL,
            snapshot_id=snapshot_id or os.path.basename(path),
            pending={},
            delta_files=(),
            states=states,
        )
        complete_savepoint(path, written)
    return written


def _with_tagged_parts(manifest: Manifest) -> Manifest:
    """The manifest of a native snapshot with its source positions as tagged values."""
    sources = {uid: tagged(data) for uid, data in manifest.sources.items()}
    return dataclasses.replace(manifest, sources=sources)
