"""Parquet files as a source. Flink docs: "Parquet format"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.row import Row
from millrace.filesystem.location import LOCAL_SCHEME, scheme_of
from millrace.filesystem.registry import file_system_of
from millrace.formats.file_format import BulkFormat, FileRange, FormatReader
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.parquet_writer import ParquetBulkWriters
from millrace.formats.records import records_from_columns, require_record_type

__all__ = ["ParquetBulkWriters", "ParquetColumnarRowInputFormat"]


class ParquetColumnarRowInputFormat(BulkFormat[Any]):
    """Each row of a Parquet file becomes a `Row` with names, or a dict; cut at row groups.

    Args:
        row_type: the columns to read, by name; None for all. The values have the types that the
            file gives them.
        batch_size: rows decoded at a time.
        record_type: ``Row`` or ``dict``.
        columnar: keep the rows in columns for `DataStream.map_batches`; whoever wants them one by
            one gets them as ``record_type`` says.

    Raises:
        JobDefinitionError: the record type is neither.
    """

    def __init__(
        self,
        row_type: RowTypeInfo | None = None,
        batch_size: int = 8192,
        record_type: type[Any] = Row,
        columnar: bool = False,
    ) -> None:
        self._columnar = columnar
        self._columns = None if row_type is None else tuple(row_type.get_field_names())
        self._batch_size = batch_size
        self._record_type = require_record_type(record_type)

    def ranges(self, path: str, size: int, split_size: int) -> Sequence[FileRange]:
        with _parquet_file(path) as file:
            metadata = file.metadata
            sizes = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
        return _group_ranges(sizes, split_size)

    def open(self, path: str, file_range: FileRange, position: Any) -> FormatReader[Any]:
        file = _parquet_file(path)
        try:
            names = self._names(file)
        except SerializationError:
            file.close()
            raise
        reader = ColumnarParquetReader if self._columnar else ParquetReader
        return reader(
            file,
            file_range,
            position or 0,
            names=names,
            batch_size=self._batch_size,
            record_type=self._record_type,
        )

    def _names(self, file: Any) -> tuple[str, ...]:
        available = file.schema_arrow.names
        for name in self._columns or ():
            if name not in available:
                raise SerializationError(f"no column {name!r}; it has {', '.join(available)}")
        return self._columns or tuple(available)


class ParquetReader(FormatReader[Any]):
    """Reads the rows of some row groups; its position is the number of rows read or lost."""

    def __init__(
        self,
        file: Any,
        groups: FileRange,
        position: int,
        *,
        names: tuple[str, ...],
        batch_size: int,
        record_type: type[Any],
    ) -> None:
        self._file = file
        self._names = names
        self._batch_size = batch_size
        self._record_type = record_type
        self._position = position
        rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        self._groups = groups
        self._first_row = sum(rows[: groups.start])
        self._sizes = rows[groups.start : groups.end]
        self._total: int = sum(self._sizes)
        self._lost = 0
        """Rows passed over since the last one that was read."""
        self._batches = self._all_batches()
        self._records = self._all_records()

    def read(self, max_records: int) -> RowBatch[Any] | ColumnBatch:
        from pyarrow import ArrowException

        self.skipped = 0
        try:
            records = self._next_records(max_records)
        except (ArrowException, OSError) as error:
            raise _damaged(error) from None
        self._position += len(records) + self._lost
        self._lost = 0
        return records

    def position(self) -> int:
        return self._position

    def finished(self) -> bool:
        return self._position >= self._total

    def close(self) -> None:
        self._file.close()

    def _next_records(self, count: int) -> RowBatch[Any] | ColumnBatch:
        return RowBatch(list(islice(self._records, count)))

    def _all_batches(self) -> Iterator[Any]:
        """Record batches from the position on; damaged row groups are passed over, if they may."""
        first, skipped = _first_group(self._sizes, self._position)
        groups = range(self._groups.start + first, self._groups.start + len(self._sizes))
        wanted = self._position - skipped
        row = self._position
        if self.on_malformed is None:
            for batch in self._batches_of(list(groups), wanted):
                yield batch
                row += batch.num_rows
            if row < self._total:
                raise SerializationError(f"damaged Parquet: {self._total - row} rows are missing")
            return
        for group, size in zip(groups, self._sizes[first:], strict=True):
            end = row - wanted + size
            try:
                for batch in self._batches_of([group], wanted):
                    yield batch
                    row += batch.num_rows
                if row < end:
                    raise SerializationError("it ends early")
            except (Exception, MemoryError) as error:
                self._lost += end - row
                offset = self._first_row + row
                reason = f"damaged Parquet, {end - row} rows of a row group are lost: {error}"
                self.malformed(MalformedRecordError(reason, None, offset))
            row, wanted = end, 0

    def _batches_of(self, groups: list[int], skipped: int) -> Iterator[Any]:
        """The batches of row groups but for the first rows."""
        names = list(self._names)
        for batch in self._file.iter_batches(self._batch_size, row_groups=groups, columns=names):
            rest = batch.slice(min(skipped, batch.num_rows))
            skipped -= batch.num_rows - rest.num_rows
            if rest.num_rows:
                yield rest

    def _all_records(self) -> Iterator[Any]:
        row = self._first_row + self._position
        for batch in self._batches:
            row += self._lost
            try:
                records = self._records_of(batch)
            except (ValueError, OverflowError):
                yield from self._one_by_one(batch, row)
            else:
                yield from records
            row += batch.num_rows

    def _records_of(self, batch: Any) -> list[Any]:
        columns = [batch.column(name).to_pylist() for name in self._names]
        return records_from_columns(self._record_type, self._names, columns)

    def _one_by_one(self, batch: Any, row: int) -> Iterator[Any]:
        """One of them has a value that Python has not: a text that is none, a date too far off."""
        for index in range(batch.num_rows):
            try:
                yield from self._records_of(batch.slice(index, 1))
            except (ValueError, OverflowError) as error:
                self.malformed(MalformedRecordError(f"{error}", None, row + index))
                self._lost += 1


class ColumnarParquetReader(ParquetReader):
    """The same, in columns: a batch is (part of) a record batch of the file."""

    _rest: Any = None

    def _next_records(self, count: int) -> RowBatch[Any] | ColumnBatch:
        if count == 0:
            return RowBatch([])
        batch = self._rest if self._rest is not None else next(self._batches, None)
        if batch is None:
            return RowBatch([])
        self._rest = batch.slice(count) if batch.num_rows > count else None
        form = "dict" if self._record_type is dict else "row"
        return ColumnBatch(batch.slice(0, count), form=form)


def _damaged(error: Exception) -> SerializationError:
    return SerializationError(f"damaged Parquet: {error}")


def _parquet_file(path: str) -> Any:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        local = scheme_of(path) == LOCAL_SCHEME
        file = path if local else file_system_of(path).open(path)
        return pa.parquet.ParquetFile(file, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # it could not be read at all
            raise
        raise SerializationError(f"not a complete Parquet file: {error}") from None


def _group_ranges(sizes: list[int], split_size: int) -> list[FileRange]:
    """Neighbouring row groups together, as long as they stay within ``split_size``."""
    ranges: list[FileRange] = []
    start, total = 0, 0
    for index, size in enumerate(sizes):
        if index > start and total + size > split_size:
            ranges.append(FileRange(start, index))
            start, total = index, 0
        total += size
    return [*ranges, FileRange(start, len(sizes))] if sizes else []


def _first_group(sizes: list[int], position: int) -> tuple[int, int]:
    """The first row group with unread rows, and how many rows stand before it."""
    skipped = 0
    for index, size in enumerate(sizes):
        if skipped + size > position:
            return index, skipped
        skipped += size
    return len(sizes), skipped
