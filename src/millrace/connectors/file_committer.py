"""The file sink's committer: gives finished parts the names that readers see."""

from __future__ import annotations

import os
from collections.abc import Sequence

from millrace.common.sink import CommitRequest, Committer
from millrace.connectors.durable_files import delete_if_there, sync_directories
from millrace.connectors.errors import PartFileError
from millrace.connectors.part_file import (
    ObsoleteChunks,
    PartCommittable,
    require_part_files,
    require_work_files,
)
from millrace.filesystem.crash_points import crash_point

__all__ = ["FileCommitter"]


class FileCommitter(Committer):
    """Renames pending parts; chunks go only after the renames are on the disk.

    Args:
        base_path: what the parts are below.
    """

    def __init__(self, base_path: str) -> None:
        self._base_path = base_path

    def commit(self, requests: Sequence[CommitRequest[PartCommittable | ObsoleteChunks]]) -> None:
        committables = [request.committable for request in requests]
        parts = [item for item in committables if isinstance(item, PartCommittable)]
        obsolete = [path for item in committables for path in _obsolete(item)]
        require_work_files([*(part.pending for part in parts), *obsolete], self._base_path)
        require_part_files((part.final for part in parts), self._base_path)
        for part in parts:
            publish(part)
            crash_point("during-sink-commit")
        sync_directories(os.path.dirname(part.final) for part in parts)
        for path in obsolete:
            delete_if_there(path)


def _obsolete(item: PartCommittable | ObsoleteChunks) -> tuple[str, ...]:
    return item.obsolete if isinstance(item, PartCommittable) else item.paths


def publish(part: PartCommittable) -> None:
    """Move a part to its final name, unless that was done before.

    Raises:
        PartFileError: the part is gone, damaged, or another file has its name.
    """
    pending, final = _size(part.pending), _size(part.final)
    if pending is None and final is None:
        raise PartFileError(
            part.final,
            f"it is gone, and so is {part.pending} that it is made from. Was it moved or deleted "
            "before the checkpoint was committed? Put it back under either name, then resume",
        )
    if pending is not None and final is not None:
        raise PartFileError(
            part.final,
            f"it exists already, so {part.pending} was not moved there. Two sinks that write to "
            "one directory need different prefixes (OutputFileConfig)",
        )
    found = final if pending is None else pending
    if found != part.length:
        path = part.final if pending is None else part.pending
        raise PartFileError(path, f"it has {found} bytes, but {part.length} were written")
    if pending is not None:
        os.replace(part.pending, part.final)


def _size(path: str) -> int | None:
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return None
