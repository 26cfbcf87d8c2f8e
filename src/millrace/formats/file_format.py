"""Base of the formats of file sources: splitting of files, and reading of splits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.formats.malformed_record import MalformedRecordError

__all__ = ["BulkFormat", "FileFormat", "FileRange", "FormatReader"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class FileRange:
    """A piece of a file, in units that the format chooses (bytes, row groups)."""

    start: int
    end: int


class FormatReader(ABC, Generic[T]):
    """Reads the records of one `FileRange`."""

    on_malformed: Callable[[MalformedRecordError], None] | None = None
    """Function that is called with each unreadable record; None if the first one raises its
    error."""
    skipped = 0
    """Number of records that the last `read` passed to `on_malformed`; they count towards its
    limit."""

    def malformed(self, error: MalformedRecordError) -> None:
        """Handle an unreadable record: pass the error to the handler, which skips the record, or
        raise it if there is no handler.

        Raises:
            MalformedRecordError: no handler is set.
        """
        if self.on_malformed is None:
            raise error
        self.skipped += 1
        self.on_malformed(error)

    @abstractmethod
    def read(self, max_records: int) -> RowBatch[T] | ColumnBatch:
        """At most ``max_records`` records; empty only at the end, or if all records were
        malformed."""

    @abstractmethod
    def position(self) -> Any:
        """Position at which reading continues: picklable, comparable with ``==``, small."""

    @abstractmethod
    def finished(self) -> bool:
        """Whether every record of the range has been read."""

    def close(self) -> None:
        """Close the file."""


class FileFormat(ABC, Generic[T_co]):
    """Reads files as records. Must be picklable. Write a `StreamFormat` or a `BulkFormat`."""

    @abstractmethod
    def ranges(self, path: str, size: int, split_size: int) -> Sequence[FileRange]:
        """Cut the file of ``size`` bytes into pieces of about ``split_size`` bytes."""

    @abstractmethod
    def open(self, path: str, file_range: FileRange, position: Any) -> FormatReader[T_co]:
        """A reader of the piece that continues at ``position`` (None means its start)."""


class BulkFormat(FileFormat[T_co]):
    """A format that opens files itself and reads them batch by batch, such as Parquet."""
