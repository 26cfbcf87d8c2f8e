"""Makes a canonical savepoint of a native snapshot: the files of its states, then the manifest."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millrace.common.errors import CheckpointError
from millrace.common.types.type_information import TypeInformation
from millrace.state.canonical.opaque_parts import with_tagged_parts
from millrace.state.checkpoint.crash_points import crash_point
from millrace.state.checkpoint.delta_file import SubtaskKey
from millrace.state.checkpoint.directory import METADATA
from millrace.state.checkpoint.files import make_directory, write_file
from millrace.state.checkpoint.manifest import CANONICAL, Manifest
from millrace.state.checkpoint.snapshot import SAVEPOINT
from millrace.state.state_delta import StateDelta

__all__ = ["write_canonical_savepoint"]


def write_canonical_savepoint(
    path: Path,
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

    try:
        make_directory(path, durable)
        states = write_states(
            path, directory, deltas, manifest.max_parallelism, key_types,
            durable,
        )  # fmt: skip
        crash_point("during-savepoint")
        written = dataclasses.replace(
            with_tagged_parts(manifest),
            kind=SAVEPOINT,
            format_type=CANONICAL,
            snapshot_id=snapshot_id or path.name,
            pending={},
            delta_files=(),
            states=states,
        )
        flush = [path, path.parent] if durable else []
        write_file(
            path / METADATA, (written.encode(),),
            run_id=manifest.run_id, durable=durable, flush_too=flush,
        )  # fmt: skip
    except OSError as error:
        shutil.rmtree(path, ignore_errors=True)
        raise CheckpointError(f"cannot write the savepoint {path}: {error}") from error
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    return written
