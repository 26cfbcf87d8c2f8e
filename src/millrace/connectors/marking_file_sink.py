"""`MarkingFileSink`: a file sink that marks each directory with new rows by an empty file."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any

from millrace.common.sink import CommitRequest, Committer, CommitterContext
from millrace.connectors.file_sink import FileSink
from millrace.connectors.file_writer import FileSinkSettings
from millrace.connectors.part_file import PartCommittable
from millrace.filesystem.registry import file_system_of

__all__ = ["MarkingFileSink"]


class MarkingFileSink(FileSink):
    """Sink that writes an empty file to each directory with new rows.

    Args:
        name: name of the file.
    """

    def __init__(self, settings: FileSinkSettings, name: str) -> None:
        super().__init__(settings)
        self._name = name

    def create_committer(self, context: CommitterContext) -> Committer:
        return _MarkingCommitter(super().create_committer(context), self._name)


class _MarkingCommitter(Committer):
    def __init__(self, committer: Committer, name: str) -> None:
        self._committer, self._name = committer, name

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        self._committer.commit(requests)
        parts = [request.committable for request in requests]
        finals = [part.final for part in parts if isinstance(part, PartCommittable)]
        for directory in sorted(set(map(posixpath.dirname, finals))):
            mark = f"{directory}/{self._name}"
            file_system_of(mark).write_if(mark, b"", None)  # None: unless it is there

    def close(self) -> None:
        self._committer.close()
