"""Segments: big layers in files of their own, written by the subtasks themselves."""

from __future__ import annotations

import os
import zlib

from millrace.state.checkpoint.directory import SHARED
from millrace.state.checkpoint.files import StrPath, write_file
from millrace.state.layer import FileRef

__all__ = ["write_segment"]


def write_segment(job_dir: StrPath, name: str, data: bytes, durable: bool = True) -> FileRef:
    """Write the bytes of one layer to the job's directory of shared files.

    Args:
        name: must be unique over all runs, epochs, tries and attempts: a task that lives on
            after its epoch was refused must not overwrite what counts.

    Raises:
        CheckpointError: the file system refused.
    """
    path = f"{SHARED}/{name}"
    write_file(os.path.join(job_dir, path), (data,), durable=durable)
    return FileRef(path, 0, len(data), zlib.crc32(data))
