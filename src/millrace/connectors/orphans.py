"""Finding the hidden files that failed attempts of file sinks have left."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable
from typing import Any

from millrace.connectors.durable_files import delete_if_there
from millrace.connectors.part_file import (
    FileWriterState,
    PartCommittable,
    is_made_by,
    is_work_file,
)
from millrace.filesystem.location import qualified

__all__ = ["sweep_orphans", "work_files_in_use"]


def work_files_in_use(states: Iterable[Any], committables: Iterable[Any]) -> set[str]:
    """The paths that a checkpoint's writer states and committables refer to."""
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
    """Delete chunks and pending parts below a sink's path that nothing refers to.

    Args:
        base_path: of the file sink.
        older_than_ms: leave files that were written to within this time: their attempt may run.
        keep: paths in use by any checkpoint that may be restored (`work_files_in_use`).
        now: ms since the epoch; None asks the clock.
        run_ids: delete only what these runs have made; None: whoever made it.

    Returns:
        The deleted paths, sorted.
    """
    now = time.time_ns() // 1_000_000 if now is None else now
    files = [
        os.path.join(d, name)
        for d, _, names in os.walk(qualified(base_path))
        for name in names
        if (is_work_file(name) if run_ids is None else is_made_by(name, run_ids))
    ]
    orphans = [path for path in files if path not in keep and _is_older(path, now - older_than_ms)]
    for path in orphans:
        delete_if_there(path)
    return sorted(orphans)


def _is_older(path: str, limit: int) -> bool:
    try:
        return os.stat(path).st_mtime_ns // 1_000_000 <= limit
    except FileNotFoundError:
        return False
