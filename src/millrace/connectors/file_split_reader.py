"""Reader of one piece of a file, with errors that name the file."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from logging import Logger
from typing import Any, NamedTuple, TypeVar

from millrace.common.error_policy import ErrorPolicy
from millrace.common.errors import SerializationError
from millrace.common.source import ReaderContext, SourceSplit, SplitReader
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.connectors.errors import SourceFileError
from millrace.connectors.file_origin import read_with_origins
from millrace.connectors.malformed_records import MalformedRecords
from millrace.connectors.path_partitions import PathPartitions, partitioned
from millrace.filesystem.file_system import FileStatus
from millrace.filesystem.registry import file_system_of
from millrace.formats.file_format import FileFormat, FileRange, FormatReader
from millrace.formats.malformed_record import MalformedRecordError

__all__ = [
    "FilePosition",
    "FileSourceSplit",
    "FileSplitReader",
    "explained",
    "file_status",
    "warn_of_change",
]

T = TypeVar("T")


@dataclass(frozen=True)
class FileSourceSplit(SourceSplit):
    """A piece of a file, with the file's attributes at the time it was listed."""

    path: str
    file_range: FileRange
    size: int
    """Bytes."""
    modified: float
    """Seconds since the epoch of Unix."""


class FilePosition(NamedTuple):
    """Position at which the format's reader continues (None means the start), and whether the
    piece is finished."""

    offset: Any
    finished: bool


class FileSplitReader(SplitReader[T]):
    """Reads one piece of a file, which it opens at the first request for records."""

    with_origin = False
    partitions: PathPartitions | None = None

    def __init__(
        self,
        split: FileSourceSplit,
        file_format: FileFormat[T],
        position: FilePosition | None,
        error_policy: ErrorPolicy,
        context: ReaderContext,
    ) -> None:
        self._split = split
        self._format = file_format
        self._position = position or FilePosition(None, finished=False)
        self._reader: FormatReader[T] | None = None
        self._logger = context.logger
        self._malformed: MalformedRecords | None = None
        if not error_policy.fails:
            self._malformed = MalformedRecords(error_policy, context, split.path)

    def read(self, max_records: int) -> RowBatch[T] | ColumnBatch:
        self.skipped = 0
        if self._position.finished:
            return RowBatch([])
        try:
            with explained(self._split.path, f"after position {self._position.offset}"):
                return self._read(max_records)
        except SourceFileError as error:
            if self._malformed is None or not error.damaged:
                raise
            self._pass_over_rest(self._malformed, error)
            return RowBatch([])

    def _read(self, max_records: int) -> RowBatch[T] | ColumnBatch:
        reader = self._reader or self._open()
        batch: RowBatch[T] | ColumnBatch
        if self.with_origin:
            file = self._split.path, self._split.size, self._split.modified
            batch, self.skipped = read_with_origins(reader, max_records, file)
        else:
            batch, self.skipped = reader.read(max_records), reader.skipped
        self._position = FilePosition(reader.position(), reader.finished())
        if self._position.finished:
            self._check_unchanged()
        return batch

    def _pass_over_rest(self, malformed: MalformedRecords, error: SourceFileError) -> None:
        offset = self._position.offset
        malformed.take(MalformedRecordError(error.reason, None, offset if offset else 0))
        self._position = FilePosition(offset, finished=True)
        self.skipped = 1

    def position(self) -> FilePosition:
        return self._position

    def finished(self) -> bool:
        return self._position.finished

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _open(self) -> FormatReader[T]:
        split = self._split
        self._check_size(file_status(split.path))
        opened = self._format.open(split.path, split.file_range, self._position.offset)
        reader = partitioned(opened, self.partitions, split.path)
        if self._malformed is not None:
            reader.on_malformed = self._malformed.take
        self._reader = reader
        return reader

    def _check_size(self, status: FileStatus) -> None:
        if status.length < self._split.size:
            raise SourceFileError(
                self._split.path,
                f"it shrank from {self._split.size} to {status.length} bytes since it was "
                "found; files must not change before they have been read",
                damaged=True,
            )

    def _check_unchanged(self) -> None:
        """Refuse to continue with a file that has changed since it was first read."""
        split = self._split
        status = file_system_of(split.path).status(split.path)
        if status is None or (status.length, status.modified) == (split.size, split.modified):
            return
        try:
            self._check_size(status)
        except SourceFileError as error:
            if self._malformed is None:
                raise
            self._malformed.take(MalformedRecordError(error.reason, None, status.length))
        else:
            warn_of_change(self._logger, split.path, split.size, status.length)


def warn_of_change(logger: Logger, path: str, before: int, after: int) -> None:
    """Log that a file was appended to or replaced."""
    logger.warning(
        "%s changed since it was found (from %d to %d bytes): added or replaced content may "
        "be missing. Write files under a name that begins with a dot, then rename them",
        *(path, before, after),
    )


def file_status(path: str) -> FileStatus:
    status = file_system_of(path).status(path)
    if status is None:
        raise FileNotFoundError(path)
    return status


_HOW_TO_SKIP = (
    "; to continue without it, set set_error_policy(ErrorPolicy.skip()) of the source, or "
    "ErrorPolicy.side_output(tag) to keep it"
)


@contextmanager
def explained(path: str, where: str) -> Iterator[None]:
    """Add the file's name to errors in this ``with`` block."""
    try:
        yield
    except FileNotFoundError:
        reason = "it vanished since it was found; files must stay until they have been read"
        raise SourceFileError(path, reason, damaged=True) from None
    except MalformedRecordError as error:
        raise SourceFileError(path, f"{error}{_HOW_TO_SKIP}", damaged=True) from error
    except SerializationError as error:
        raise SourceFileError(path, f"{where}: {error}{_HOW_TO_SKIP}", damaged=True) from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        # decompressors raise an OSError of no number for content, the system one with a number
        damaged = getattr(error, "errno", None) is None
        hint = _HOW_TO_SKIP if damaged else ""
        raise SourceFileError(path, f"{where}: {error}{hint}", damaged) from error
