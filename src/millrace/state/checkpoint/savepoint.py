"""Savepoints: a snapshot of its own, copied out of a job's checkpoint.

What is copied are the live layers, as they are, into one file: nothing is decoded, so making a
savepoint takes the time it takes to copy bytes. ``_metadata`` is written last and completes it.
"""

from __future__ import annotations

import dataclasses
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from millrace.common.errors import CheckpointError
from millrace.state.checkpoint.directory import METADATA, SHARED
from millrace.state.checkpoint.files import StrPath, make_directory, write_file
from millrace.state.checkpoint.layer_file import (
    SUFFIX,
    LayerEntry,
    LayerLoader,
    write_layer_file,
)
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.pin import Pin
from millrace.state.checkpoint.snapshot import SAVEPOINT

__all__ = ["savepoint_path", "write_savepoint"]


def savepoint_path(directory: StrPath, job_id: str) -> Path:
    """A new place for a savepoint of a job below ``directory``."""
    return Path(directory) / f"{SAVEPOINT}-{job_id}-{uuid.uuid4().hex[:12]}"


def write_savepoint(path: Path, job_dir: StrPath, pin: Pin, durable: bool = True) -> Manifest:
    """Copy the pinned checkpoint of the job in ``job_dir`` to ``path``.

    What the checkpoint names as pending is left out: committing it is the job's own business.

    Raises:
        CheckpointError: the file system refused; nothing is left behind.
        CheckpointCorruptError: a file of the checkpoint is damaged.
    """
    try:
        make_directory(path / SHARED, durable)
        file = write_layer_file(
            path, f"state{SUFFIX}", _copied(job_dir, pin), run_id=pin.manifest.run_id,
            durable=durable,
        )  # fmt: skip
        manifest = dataclasses.replace(
            pin.manifest,
            kind=SAVEPOINT,
            snapshot_id=path.name,
            pending={},
            layer_files=(file.ref,),
        )
        write_file(
            path / METADATA,
            (manifest.encode(),),
            run_id=manifest.run_id,
            durable=durable,
            flush_too=[path, path.parent] if durable else [],
        )
    except OSError as error:
        shutil.rmtree(path, ignore_errors=True)
        raise CheckpointError(f"cannot write the savepoint {path}: {error}") from error
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    return manifest


def _copied(job_dir: StrPath, pin: Pin) -> Iterator[LayerEntry]:
    load = LayerLoader(job_dir)
    for (stage, subtask), layers in pin.layers.items():
        for layer in layers:
            yield stage, subtask, dataclasses.replace(layer, data=load(layer))
