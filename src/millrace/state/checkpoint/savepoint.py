"""Writer of savepoints in native format: self-contained copies of a job's checkpoint.

The live deltas are copied into one file (big ones into files beside it) without decoding them, so
writing a savepoint takes as long as copying its bytes. ``_metadata`` is written last and completes
it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import uuid
from collections.abc import Iterator
from itertools import count

from millrace.common.errors import CheckpointCorruptError, CheckpointError
from millrace.filesystem.crash_points import crash_point
from millrace.filesystem.location import located
from millrace.filesystem.registry import file_system_of
from millrace.state.checkpoint.delta_file import (
    SUFFIX,
    DeltaEntry,
    DeltaLoader,
    write_delta_file,
)
from millrace.state.checkpoint.directory import METADATA, SHARED
from millrace.state.checkpoint.files import StrPath, opened, write_file
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.pin import Pin
from millrace.state.checkpoint.segment import write_segment
from millrace.state.checkpoint.snapshot import SAVEPOINT
from millrace.state.state_delta import FileRef

__all__ = ["complete_savepoint", "new_savepoint_directory", "savepoint_path", "write_savepoint"]

BIG = 16 << 20
"""A delta with more bytes than this is copied to a separate file."""
CHUNK = 1 << 20


def savepoint_path(directory: StrPath, job_id: str) -> str:
    """Path of a new savepoint in ``directory``; its name contains the job's id."""
    return os.path.join(directory, f"{SAVEPOINT}-{job_id}-{uuid.uuid4().hex[:12]}")


def write_savepoint(path: str, job_dir: StrPath, pin: Pin) -> Manifest:
    """Copy the pinned checkpoint of the job in ``job_dir`` to ``path``.

    The checkpoint's pending committables are left out: the job that wrote them commits them.

    Raises:
        CheckpointError: writing failed; what was written has been deleted.
        CheckpointCorruptError: a file of the checkpoint is damaged.
    """
    with new_savepoint_directory(path):
        file_system_of(path).make_directory(f"{path}/{SHARED}")
        file = write_delta_file(path, f"state{SUFFIX}", _copied(path, job_dir, pin))
        crash_point("during-savepoint")
        manifest = dataclasses.replace(
            pin.manifest,
            kind=SAVEPOINT,
            snapshot_id=os.path.basename(path),
            pending={},
            delta_files=(file.ref,),
        )
        complete_savepoint(path, manifest)
    return manifest


@contextlib.contextmanager
def new_savepoint_directory(path: str) -> Iterator[None]:
    """Create the directory of a savepoint; delete it if the ``with`` block fails.

    Raises:
        CheckpointError: the directory, or a file in it, could not be written.
    """
    files = file_system_of(path)
    try:
        files.make_directory(path)
        yield
    except BaseException as error:
        with contextlib.suppress(OSError):
            files.delete_directory(path)
        if isinstance(error, OSError):
            raise CheckpointError(f"cannot write the savepoint {path}: {error}") from error
        raise


def complete_savepoint(path: str, manifest: Manifest) -> None:
    """Write the manifest to ``_metadata``. This completes the savepoint."""
    flush_too = [path, os.path.dirname(path)]
    write_file(f"{path}/{METADATA}", (manifest.encode(),), flush_too=flush_too)


def _copied(path: str, job_dir: StrPath, pin: Pin) -> Iterator[DeltaEntry]:
    """Deltas with their bytes, except for big deltas, which get files of their own."""
    load = DeltaLoader(job_dir)
    segments = count()
    for (stage, subtask), deltas in pin.deltas.items():
        for delta in deltas:
            if isinstance(delta.data, FileRef) and delta.data.length > BIG:
                name = f"segment-{next(segments)}"
                data: bytes | FileRef = _copied_segment(path, job_dir, delta.data, name)
            else:
                data = load(delta)
            yield stage, subtask, dataclasses.replace(delta, data=data)


def _copied_segment(path: str, job_dir: StrPath, ref: FileRef, name: str) -> FileRef:
    """Copy a big delta piece by piece, because its bytes may not fit into memory."""
    source = located(job_dir, ref.path)
    copied = write_segment(path, name, _chunks(source, ref))
    if (copied.length, copied.crc) != (ref.length, ref.crc):
        raise CheckpointCorruptError(source, f"the bytes at offset {ref.offset} have changed")
    return copied


def _chunks(source: str, ref: FileRef) -> Iterator[bytes]:
    with opened(source) as file:
        file.seek(ref.offset)
        left = ref.length
        while left > 0 and (chunk := file.read(min(left, CHUNK))):
            left -= len(chunk)
            yield chunk
