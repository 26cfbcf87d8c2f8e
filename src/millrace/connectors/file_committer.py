"""The file sink's committer: moves finished parts to the names that readers see."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.common.sink import CommitRequest, Committer
from millrace.connectors.errors import PartFileError
from millrace.connectors.part_file import (
    ObsoleteChunks,
    PartCommittable,
    require_part_files,
    require_work_files,
)
from millrace.filesystem.file_system import UploadDamagedError
from millrace.filesystem.location import is_local
from millrace.filesystem.registry import file_system_of

__all__ = ["FileCommitter"]


class FileCommitter(Committer):
    """Commits the uploads of parts; chunks are deleted only after the parts are committed.

    Args:
        base_path: directory above all parts.
    """

    def __init__(self, base_path: str) -> None:
        self._base_path = base_path
        self._files = file_system_of(base_path)

    def commit(self, requests: Sequence[CommitRequest[PartCommittable | ObsoleteChunks]]) -> None:
        committables = [request.committable for request in requests]
        parts = [item for item in committables if isinstance(item, PartCommittable)]
        obsolete = [path for item in committables for path in _obsolete(item)]
        # elsewhere a token is no path
        tokens = [part.pending for part in parts] if is_local(self._base_path) else []
        require_work_files([*tokens, *obsolete], self._base_path)
        require_part_files((part.final for part in parts), self._base_path)
        self._publish(parts)
        self._files.delete_all(obsolete)

    def _publish(self, parts: Sequence[PartCommittable]) -> None:
        """Publish the parts that are not visible yet.

        Raises:
            PartFileError: one is gone, damaged, or another file has its name.
        """
        try:
            self._files.commit([part.upload for part in parts])
        except FileNotFoundError as error:
            part = _named(error, parts)
            raise PartFileError(
                part.final,
                f"it is gone, and so is {part.pending}, from which it is made. Was that "
                "file moved or deleted before the checkpoint was committed? Put it back "
                "under either name, then resume",
            ) from None
        except FileExistsError as error:
            part = _named(error, parts)
            raise PartFileError(
                part.final,
                f"it exists already, so {part.pending} was not moved there. Two sinks that write "
                "to one directory need different prefixes (OutputFileConfig)",
            ) from None
        except UploadDamagedError as error:
            raise PartFileError(str(error.filename), str(error.strerror)) from None


def _named(error: OSError, parts: Sequence[PartCommittable]) -> PartCommittable:
    return next((part for part in parts if part.final == error.filename), parts[0])


def _obsolete(item: PartCommittable | ObsoleteChunks) -> tuple[str, ...]:
    return item.obsolete if isinstance(item, PartCommittable) else item.paths
