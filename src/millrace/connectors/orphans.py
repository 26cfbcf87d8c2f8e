"""Detection of hidden files that failed attempts of file sinks have left."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any

from millrace.connectors.part_file import (
    FileWriterState,
    PartCommittable,
    is_made_by,
    is_part_of,
    is_work_file,
)
from millrace.filesystem.file_system import FileStatus, FileSystem, UploadStatus
from millrace.filesystem.registry import file_system_of, resolved

__all__ = ["sweep_orphans", "work_files_in_use"]


def work_files_in_use(states: Iterable[Any], committables: Iterable[Any]) -> set[str]:
    """Paths that a checkpoint's writer states and committables refer to."""
    parts = [part for s in states if isinstance(s, FileWriterState) for part in s.parts]
    used = {chunk.path for part in parts for chunk in part.chunks}
    return used | {item.pending for item in committables if isinstance(item, PartCommittable)}


def sweep_orphans(
    base_path: str | os.PathLike[str],
    older_than_ms: int,
    keep: Collection[str],
    now: int | None = None,
    run_ids: Collection[str] | None = None,
) -> list[str]:
    """Delete unreferenced chunks and pending parts below a sink's path.

    Args:
        base_path: base path of the file sink.
        older_than_ms: leave files that were written to within this time: their attempt may run.
        keep: paths in use by any checkpoint that may be restored (`work_files_in_use`).
        now: ms since the epoch; None asks the clock.
        run_ids: delete only the files of these runs; None means of all runs.

    Returns:
        What was deleted, paths and tokens of uploads, sorted.
    """
    now = time.time_ns() // 1_000_000 if now is None else now
    latest = now - older_than_ms
    base = resolved(base_path)
    files = file_system_of(base)
    chunks = [
        file.location
        for file in _files_below(files, base)
        if file.location not in keep and _milliseconds(file) <= latest and _is_chunk(file, run_ids)
    ]
    files.delete_all(chunks)
    uploads = [
        upload.token
        for upload in files.uploads(base)
        if upload.token not in keep
        and _milliseconds(upload) <= latest
        and is_part_of(os.path.basename(upload.location), run_ids)
    ]
    for token in uploads:
        files.abort(token)
    return sorted(chunks + uploads)


def _files_below(files: FileSystem, base: str) -> Iterator[FileStatus]:
    """Readable files below a directory; unreadable directories, such as lost+found, are skipped."""
    if not files.has_directories:
        yield from files.list(base, recursive=True)
        return
    yield from files.list(base)
    for name in files.directories(base):
        if not files.is_link(f"{base}/{name}"):
            with suppress(PermissionError):
                yield from _files_below(files, f"{base}/{name}")


def _milliseconds(status: FileStatus | UploadStatus) -> int:
    return int(status.modified * 1000)


def _is_chunk(file: FileStatus, run_ids: Collection[str] | None) -> bool:
    name = os.path.basename(file.location)
    return is_work_file(name) if run_ids is None else is_made_by(name, run_ids)
