"""Segments: files with one big delta each, written by the subtasks themselves."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator

from millrace.state.checkpoint.directory import SHARED
from millrace.state.checkpoint.files import StrPath, write_file
from millrace.state.serialization.payload import Chunk
from millrace.state.state_delta import FileRef

__all__ = ["write_segment"]


def write_segment(
    job_dir: StrPath, name: str, data: bytes | Iterable[Chunk], durable: bool = True
) -> FileRef:
    """Write the payload of one delta, whole or in pieces, to the job's directory of shared files.

    Args:
        name: name of the file, unique over all runs, epochs and attempts: a task that still runs
            after its epoch was refused must not overwrite a valid file.

    Raises:
        CheckpointError: the file system refused.
    """
    path = f"{SHARED}/{name}"
    summed = _Summed((data,) if isinstance(data, bytes) else data)
    length = write_file(os.path.join(job_dir, path), summed, durable=durable)
    return FileRef(path, 0, length, summed.crc)


class _Summed:
    """Yields pieces, and computes their common checksum at the same time."""

    def __init__(self, pieces: Iterable[Chunk]) -> None:
        self._pieces = pieces
        self.crc = 0

    def __iter__(self) -> Iterator[Chunk]:
        for piece in self._pieces:
            self.crc = zlib.crc32(piece, self.crc)
            yield piece
