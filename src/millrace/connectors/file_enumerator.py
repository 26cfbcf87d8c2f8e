"""Enumerator of a file source: finds files and cuts them into splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from logging import getLogger
from typing import Any

from millrace.common.error_policy import ErrorPolicy
from millrace.common.source import EnumeratorContext, SourceSplit, SplitEnumerator
from millrace.connectors.errors import SourceFileError
from millrace.connectors.file_enumeration import WHOLE
from millrace.connectors.file_listing import list_files
from millrace.connectors.file_split_reader import (
    FileSourceSplit,
    explained,
    file_status,
    warn_of_change,
)
from millrace.connectors.path_partitions import PathPartitions
from millrace.connectors.source_file_cleaner import FileVersion, SourceFileCleaner
from millrace.filesystem.file_system import FileStatus
from millrace.filesystem.registry import file_system_of
from millrace.formats.file_format import FileFormat, FileRange

__all__ = ["FileEnumerator", "FileSelection"]


@dataclass(frozen=True, slots=True)
class FileSelection:
    """Filter of the files below the paths."""

    path_filter: Callable[[str], bool] | None = None
    only_new: bool = False
    """Whether files that exist at the first start are skipped."""
    with_origin: bool = False
    """Whether records come with their `FileOrigin`."""
    partitions: PathPartitions | None = None
    """Columns that stand in the files' paths."""


class FileEnumerator(SplitEnumerator):
    """Enumerator that lists files. Its state holds the files that it has seen, with their
    attributes, and the files that are read but not yet archived or deleted.

    Args:
        discovery_interval: ms between two looks; None for a single look.
        cleaner: archives or deletes files that have been read.
    """

    def __init__(
        self,
        file_format: FileFormat[Any],
        paths: Sequence[str],
        discovery_interval: int | None,
        split_size: int,
        error_policy: ErrorPolicy,
        selection: FileSelection,
        cleaner: SourceFileCleaner | None = None,
    ) -> None:
        self._format = file_format
        self._selection = selection
        self._logger = getLogger("millrace.source")
        self._paths = paths
        self._interval = discovery_interval
        self._split_size = split_size
        self._error_policy = error_policy
        self._seen: dict[str, FileVersion] | None = None
        self._cleaner = cleaner
        self._unread: dict[str, int] = {}
        """Per file, how many of its splits have not been read to their ends; with a cleaner."""
        self._last_discovery: int | None = None
        self._available_now = False
        self._listed_now = False
        """Whether such a run has found its files."""

    @property
    def files(self) -> list[str]:
        """Paths of the files found so far, in order, for the next source of a `HybridSource`. Files
        that have been archived or deleted are left out.
        """
        return sorted(self._seen or ())

    def start(self, context: EnumeratorContext) -> None:
        self._logger = context.logger
        if self._cleaner is not None:
            self._cleaner.start(context.logger)

    def prepare_for_available_now(self, now: int) -> None:
        self._available_now = True

    def discover(self, now: int) -> Sequence[SourceSplit]:
        if self.no_more_splits():
            return ()
        self._forget_cleaned()
        first, seen = self._seen is None, dict(self._seen or {})
        new: list[str] = []
        for path, version in self._listed().items():
            if path not in seen:
                new.append(path)
            elif seen[path] != version:
                warn_of_change(self._logger, path, seen[path][0], version[0])
            seen[path] = version
        passed_over = first and self._selection.only_new
        splits = [] if passed_over else [split for path in new for split in self._splits(path)]
        if self._cleaner is not None and not passed_over:
            self._note_unread(new, seen, splits)
        self._seen, self._last_discovery, self._listed_now = seen, now, True
        return splits

    def _listed(self) -> dict[str, FileVersion]:
        wanted = self._selection.path_filter
        files = [file for path in self._paths for file in self._files_of(path)]
        return {
            file.location: (file.length, file.modified)
            for file in files
            if wanted is None or wanted(file.location)
        }

    def _files_of(self, path: str) -> list[FileStatus]:
        try:
            return list_files(path)
        except SourceFileError:
            if self._seen is None or file_system_of(path).has_directories:
                raise
            return []  # in an object store a directory goes with its last file

    def no_more_splits(self) -> bool:
        if self._available_now:
            return self._listed_now
        return self._interval is None and self._seen is not None

    def next_discovery(self, now: int) -> int | None:
        if self._interval is None or (self._available_now and self._listed_now):
            return None
        return now if self._last_discovery is None else self._last_discovery + self._interval

    def _splits(self, path: str) -> list[FileSourceSplit]:
        status = FileStatus(path, 0, 0)
        try:
            with explained(path, "found"):
                status = file_status(path)
                ranges = self._format.ranges(path, status.length, self._split_size)
        except SourceFileError as error:
            if self._error_policy.fails or not error.damaged:
                raise
            ranges = [FileRange(0, WHOLE)]  # its reader finds the same, and tells of it
        return [
            FileSourceSplit(f"{path}:{r.start}-{r.end}", path, r, status.length, status.modified)
            for r in ranges
        ]

    # -- files that have been read -------------------------------------------------------------

    def _note_unread(
        self, new: Sequence[str], seen: dict[str, FileVersion], splits: Sequence[FileSourceSplit]
    ) -> None:
        for split in splits:
            self._unread[split.path] = self._unread.get(split.path, 0) + 1
        assert self._cleaner is not None
        for path in new:
            if path not in self._unread:  # there is nothing in it
                self._cleaner.add(path, seen[path])

    def handle_split_finished(self, split: FileSourceSplit) -> None:
        if self._cleaner is None or split.path not in self._unread:
            return
        self._unread[split.path] -= 1
        if not self._unread[split.path]:
            del self._unread[split.path]
            self._cleaner.add(split.path, (split.size, split.modified))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._cleaner is not None:
            self._forget_cleaned()
            self._cleaner.clean()

    def _forget_cleaned(self) -> None:
        """Forget deleted and archived files: a new file of the same name is a different file."""
        for path in self._cleaner.cleaned() if self._cleaner is not None else ():
            if self._seen is not None:
                self._seen.pop(path, None)

    def snapshot_state(self) -> dict[str, Any]:
        self._forget_cleaned()
        read = self._cleaner.waiting() if self._cleaner is not None else {}
        return {"seen": self._seen, "unread": self._unread, "read": read}

    def restore_state(self, state: dict[str, Any]) -> None:
        self._seen = state["seen"]
        if self._cleaner is not None:
            self._unread = dict(state["unread"])
            for path, version in state["read"].items():
                self._cleaner.add(path, version)

    def close(self) -> None:
        if self._cleaner is not None:
            self._cleaner.close()
