"""A source of files: a fixed set, or directories that are watched. Flink docs: "FileSystem"."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Generic, TypeVar

from millrace.common.error_policy import ErrorPolicy, require_error_policy
from millrace.common.errors import JobDefinitionError
from millrace.common.source import (
    Boundedness,
    ReaderContext,
    SplitEnumerator,
    SplitReader,
    SplitSource,
)
from millrace.common.time.amounts import Duration, Time, millis
from millrace.common.types.composite_types import RowTypeInfo
from millrace.connectors.file_enumeration import (
    WHOLE,
    FileEnumeratorProvider,
    FileSplitAssignerProvider,
)
from millrace.connectors.file_enumerator import FileEnumerator, FileSelection
from millrace.connectors.file_split_reader import FileSourceSplit, FileSplitReader
from millrace.connectors.index_range import require_at_least
from millrace.connectors.path_partitions import PathPartitions
from millrace.connectors.source_file_cleaner import CleanUp, SourceFileCleaner
from millrace.filesystem.registry import resolved
from millrace.formats.file_format import FileFormat

__all__ = ["FileSource", "FileSourceBuilder", "FileSourceSplit"]

T = TypeVar("T")

DEFAULT_SPLIT_SIZE = 64 << 20
_FAIL = ErrorPolicy.fail()


_ALL = FileSelection()


class FileSource(SplitSource[T]):
    """Reads files below some paths, recursively; files named ``.*`` and ``_*`` are ignored.

    Large files of text and JSON lines are read in pieces by several subtasks, so are the row
    groups of Parquet; compressed files (.gz, .bz2, .xz, .zst) and CSV are read whole. A file must
    be complete when it appears: write it under a hidden name and rename it. It must stay as it is
    until it was read.

    >>> from millrace.formats.stream_format import StreamFormat
    >>> source = FileSource.for_record_stream_format(
    ...     StreamFormat.text_line_format(), "/data/logs"
    ... ).monitor_continuously(Duration.of_seconds(5)).build()
    >>> source.boundedness.name
    'CONTINUOUS_UNBOUNDED'
    """

    def __init__(
        self,
        file_format: FileFormat[T],
        paths: Sequence[str],
        discovery_interval: int | None = None,
        split_size: int = DEFAULT_SPLIT_SIZE,
        error_policy: ErrorPolicy = _FAIL,
        selection: FileSelection = _ALL,
        clean_up: CleanUp | None = None,
    ) -> None:
        self._format = file_format
        self._clean_up = clean_up
        self._error_policy = error_policy
        self._selection = selection
        self._paths = tuple(paths)
        self._discovery_interval = discovery_interval
        self._split_size = split_size

    @staticmethod
    def for_record_stream_format(
        stream_format: FileFormat[T], *paths: str | os.PathLike[str]
    ) -> FileSourceBuilder[T]:
        """Builder of a source of text, CSV or JSON lines.

        Raises:
            JobDefinitionError: no paths, or not a format.
            UnsupportedFileSystemSchemeError: a path is of another file system.
        """
        return FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(
        bulk_format: FileFormat[T], *paths: str | os.PathLike[str]
    ) -> FileSourceBuilder[T]:
        """Builder of a source of Parquet files.

        Raises:
            JobDefinitionError: no paths, or not a format.
            UnsupportedFileSystemSchemeError: a path is of another file system.
        """
        return FileSourceBuilder(bulk_format, paths)

    @property
    def boundedness(self) -> Boundedness:
        if self._discovery_interval is None:
            return Boundedness.BOUNDED
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def supports_available_now(self) -> bool:
        """Always true: an available-now run reads the files that exist when it begins."""
        return True

    @property
    def requires_checkpoints(self) -> bool:
        """Whether files are archived or deleted after reading."""
        return self._clean_up is not None

    def create_enumerator(self) -> SplitEnumerator:
        return FileEnumerator(
            self._format,
            self._paths,
            self._discovery_interval,
            self._split_size,
            self._error_policy,
            self._selection,
            SourceFileCleaner(self._clean_up) if self._clean_up is not None else None,
        )

    def create_split_reader(
        self, split: FileSourceSplit, position: Any, context: ReaderContext
    ) -> SplitReader[T]:
        reader = FileSplitReader(split, self._format, position, self._error_policy, context)
        reader.with_origin = self._selection.with_origin
        reader.partitions = self._selection.partitions
        return reader


class FileSourceBuilder(Generic[T]):
    """Collects the options of a `FileSource`."""

    def __init__(self, file_format: FileFormat[T], paths: Sequence[str | os.PathLike[str]]) -> None:
        if not isinstance(file_format, FileFormat):
            raise JobDefinitionError(
                f"a FileSource takes a format such as StreamFormat.text_line_format() first, then "
                f"paths; got {file_format!r}"
            )
        if not paths:
            raise JobDefinitionError("a FileSource needs at least one path")
        self._format = file_format
        self._paths = [resolved(path) for path in paths]
        self._discovery_interval: int | None = None
        self._split_size = DEFAULT_SPLIT_SIZE
        self._splits_files = True
        self._error_policy = _FAIL
        self._selection = _ALL
        self._archive: str | None = None
        self._deletes = False

    def monitor_continuously(
        self, discovery_interval: Duration | Time | timedelta
    ) -> FileSourceBuilder[T]:
        """Look for new files at this interval; the source is unbounded.

        Raises:
            JobDefinitionError: the interval is not positive.
        """
        interval = millis(discovery_interval)
        if interval <= 0:
            raise JobDefinitionError(f"the discovery interval must be positive, not {interval} ms")
        self._discovery_interval = interval
        return self

    def process_static_file_set(self) -> FileSourceBuilder[T]:
        """Read the files that exist when the job starts, then end (the default)."""
        self._discovery_interval = None
        return self

    def set_split_size(self, split_size: int) -> FileSourceBuilder[T]:
        """Cut files into pieces of about this many bytes (default 64 MiB).

        Raises:
            JobDefinitionError: it is not at least 1.
        """
        require_at_least(1, split_size=split_size)
        self._split_size = split_size
        return self

    def set_path_filter(self, path_filter: Callable[[str], bool]) -> FileSourceBuilder[T]:
        """Read only files whose path the function accepts.

        Raises:
            JobDefinitionError: the argument is not a function.
        """
        if not callable(path_filter):
            raise JobDefinitionError(f"set_path_filter() takes a function, not {path_filter!r}")
        self._selection = replace(self._selection, path_filter=path_filter)
        return self

    def with_origin(self) -> FileSourceBuilder[Any]:
        """Return pairs of each record and its `FileOrigin`: path and position in the file.

        Reading takes a few times longer.
        """
        self._selection = replace(self._selection, with_origin=True)
        return self

    def set_partition_columns(self, row_type: RowTypeInfo) -> FileSourceBuilder[Any]:
        """Add columns from the paths, as in ``year=2024/month=2``, to the records, which must be
        dicts, rows or columns.

        Args:
            row_type: names and types of the columns: text, numbers, booleans, dates, times.

        Raises:
            JobDefinitionError: the argument is not such a type.
        """
        self._selection = replace(self._selection, partitions=PathPartitions(row_type))
        return self

    def start_from_now(self) -> FileSourceBuilder[T]:
        """Skip files that exist when the job starts for the first time; for
        `monitor_continuously`."""
        self._selection = replace(self._selection, only_new=True)
        return self

    def archive_after_reading(self, directory: str | os.PathLike[str]) -> FileSourceBuilder[T]:
        """Move files that have been read to a directory, in which they keep their relative paths.

        A file is moved when a checkpoint is complete that contains its end; the job must have a
        directory for checkpoints. Spark: ``cleanSource`` of the file source.

        Raises:
            UnsupportedFileSystemSchemeError: the directory is of another file system.
        """
        self._archive, self._deletes = resolved(directory), False
        return self

    def delete_after_reading(self) -> FileSourceBuilder[T]:
        """Delete a file when a complete checkpoint covers the file's last record. The job must have
        a directory for checkpoints.
        """
        self._archive, self._deletes = None, True
        return self

    def set_error_policy(self, error_policy: ErrorPolicy) -> FileSourceBuilder[T]:
        """Choose the error policy for records, and whole files, that cannot be read.

        Raises:
            JobDefinitionError: the argument is not an `ErrorPolicy`.
        """
        self._error_policy = require_error_policy(error_policy)
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder[T]:
        """Choose whether large files are read in pieces.

        Raises:
            JobDefinitionError: the argument is not a `FileEnumeratorProvider`.
        """
        if not isinstance(file_enumerator, FileEnumeratorProvider):
            raise JobDefinitionError(
                "set_file_enumerator() takes a FileEnumeratorProvider, such as "
                f"default_non_splittable_file_enumerator(); got {file_enumerator!r}"
            )
        self._splits_files = file_enumerator.splits_files
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder[T]:
        """Choose the subtasks that get the splits; only one assigner exists (see the provider).

        Raises:
            JobDefinitionError: the argument is not a `FileSplitAssignerProvider`.
        """
        if not isinstance(split_assigner, FileSplitAssignerProvider):
            raise JobDefinitionError(
                "set_split_assigner() takes FileSplitAssignerProvider."
                f"locality_aware_split_assigner(), got {split_assigner!r}"
            )
        return self

    def build(self) -> FileSource[T]:
        """The source with all settings made so far.

        Raises:
            JobDefinitionError: the archive is among what is read, or the other way round.
        """
        split_size = self._split_size if self._splits_files else WHOLE
        clean_up = None
        if self._deletes or self._archive is not None:
            clean_up = CleanUp.create(self._paths, self._archive)
        return FileSource(
            self._format,
            self._paths,
            self._discovery_interval,
            split_size,
            self._error_policy,
            self._selection,
            clean_up,
        )
