"""Makes a canonical savepoint of a native snapshot: the files of its states, then the manifest."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from millrace.common.types.type_information import TypeInformation
from millrace.filesystem.crash_points import crash_point
from millrace.state.canonical.opaque_parts import with_tagged_parts
from millrace.state.checkpoint.delta_file import SubtaskKey
from millrace.state.checkpoint.manifest import CANONICAL, Manifest
from millrace.state.checkpoint.savepoint import complete_savepoint, making_savepoint
from millrace.state.checkpoint.snapshot import SAVEPOINT
from millrace.state.state_delta import StateDelta

__all__ = ["write_canonical_savepoint"]


def write_canonical_savepoint(
    path: str,
    directory: str,
    manifest: Manifest,
    deltas: Mapping[SubtaskKey, list[StateDelta]],
    key_types: Mapping[str, TypeInformation[Any] | None],
    durable: bool = True,
    snapshot_id: str | None = None,
) -> Manifest:
    """Write a savepoint to ``path``.

    What the snapshot names as pending is left out: committing it is the job's own business.

    Args:
        directory: what the paths in ``deltas`` are relative to.
        manifest: of the snapshot.
        deltas: its live deltas.
        key_types: by operator uid, as far as they are known.
        snapshot_id: what the savepoint is called; None: as its directory.

    Raises:
        CheckpointError: the file system refused; nothing is left behind.
        CheckpointCorruptError: a file of the snapshot is damaged.
    """
    from millrace.state.canonical.savepoint_files import write_states

    with making_savepoint(path, durable):
        states = write_states(
            path, directory, deltas, manifest.max_parallelism, key_types,
            durable,
        )  # fmt: skip
        crash_point("during-savepoint")
        written = dataclasses.replace(
            with_tagged_parts(manifest),
            kind=SAVEPOINT,
            format_type=CANONICAL,
            snapshot_id=snapshot_id or os.path.basename(path),
            pending={},
            delta_files=(),
            states=states,
        )
        complete_savepoint(path, written, durable)
    return written
