"""Parquet files as a source. Flink docs: "Parquet format"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any

from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.column_values import column_values
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import Row
from millrace.filesystem.location import LOCAL_SCHEME, scheme_of
from millrace.filesystem.registry import file_system_of
from millrace.formats.arrow_damage import damage, invalidity
from millrace.formats.columnar_row_input_format import (
    ColumnarRowInputFormat,
    with_missing_columns,
)
from millrace.formats.file_format import FileRange, FormatReader
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.parquet_writer import ParquetBulkWriters
from millrace.formats.records import records_from_columns

__all__ = ["ParquetBulkWriters", "ParquetColumnarRowInputFormat"]


class ParquetColumnarRowInputFormat(ColumnarRowInputFormat):
    """Reads each row of a Parquet file as a `Row` with names, or as a dict; files are split at row
    groups.

    Args:
        row_type, batch_size, record_type, columnar: see `ColumnarRowInputFormat`.
        hadoop_config: settings of the JVM's reader, which have no meaning here.
        is_utc_timestamp: without effect: times without a zone are read unchanged.
        is_case_sensitive: whether column names in the file must have the same case as in
            ``row_type``.

    Raises:
        JobDefinitionError: ``hadoop_config`` is something else, such as a size of batches that was
            given by its former place.
    """

    def __init__(
        self,
        row_type: RowTypeInfo | RowType | None = None,
        hadoop_config: Configuration | None = None,
        batch_size: int = 8192,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
        record_type: type[Any] = Row,
        columnar: bool = False,
    ) -> None:
        if hadoop_config is not None and not isinstance(hadoop_config, Configuration):
            raise JobDefinitionError(
                f"hadoop_config must be a Configuration, not {hadoop_config!r}; pass later "
                "arguments by name, such as batch_size="
            )
        super().__init__(row_type, batch_size, record_type, columnar)
        self._is_case_sensitive = is_case_sensitive

    def ranges(self, path: str, size: int, split_size: int) -> Sequence[FileRange]:
        with damage("not a complete Parquet file"), _parquet_file(path) as file:
            metadata = file.metadata
            sizes = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
        return _group_ranges(sizes, split_size)

    def open(self, path: str, file_range: FileRange, position: Any) -> FormatReader[Any]:
        reader = ColumnarParquetReader if self._columnar else ParquetReader
        with damage("not a complete Parquet file"), ExitStack() as opened:
            file = opened.enter_context(_parquet_file(path))
            available = file.schema_arrow.names
            names = self._names(available)
            made = reader(
                file,
                file_range,
                position or 0,
                names=names,
                stored={} if self._is_case_sensitive else _stored_names(names, available),
                batch_size=self._batch_size,
                record_type=self._record_type,
            )
            opened.pop_all()
            return made


def _stored_names(names: Sequence[str], available: Sequence[str]) -> dict[str, str]:
    """The file's spelling of each requested column whose name differs from the file's only in
    case."""
    by_lower = {name.lower(): name for name in available}
    pairs = ((name, by_lower.get(name.lower(), name)) for name in names)
    return {name: stored for name, stored in pairs if stored != name and name not in available}


class ParquetReader(FormatReader[Any]):
    """Reads the rows of some row groups; its position is the number of rows read or lost."""

    def __init__(
        self,
        file: Any,
        groups: FileRange,
        position: int,
        *,
        names: tuple[str, ...],
        stored: Mapping[str, str],
        batch_size: int,
        record_type: type[Any],
    ) -> None:
        self._file = file
        self._names = names
        self._stored = stored
        """Names of columns in the file whose spelling differs."""
        self._batch_size = batch_size
        self._record_type = record_type
        self._position = position
        rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        self._groups = groups
        self._first_row = sum(rows[: groups.start])
        self._sizes = rows[groups.start : groups.end]
        self._total: int = sum(self._sizes)
        self._lost = 0
        """Number of rows skipped since the last row that was read."""
        self._batches = self._all_batches()
        self._records = self._all_records()

    def read(self, max_records: int) -> RowBatch[Any] | ColumnBatch:
        self.skipped = 0
        with damage("damaged Parquet"):
            records = self._next_records(max_records)
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
        """Record batches from the position on; damaged row groups are skipped if the error
        policy allows it."""
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
        """Batches of row groups without the first ``skipped`` rows."""
        known = set(self._file.schema_arrow.names)
        meant = {self._stored.get(name, name): name for name in self._names}
        names = [name for name in meant if name in known]
        for batch in self._file.iter_batches(self._batch_size, row_groups=groups, columns=names):
            rest = batch.slice(min(skipped, batch.num_rows))
            skipped -= batch.num_rows - rest.num_rows
            if self._stored:
                rest = rest.rename_columns([meant[name] for name in rest.schema.names])
            if rest.num_rows:
                yield with_missing_columns(rest, self._names)

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
        columns = [column_values(batch.column(name), self._record_type) for name in self._names]
        return records_from_columns(self._record_type, self._names, columns)

    def _one_by_one(self, batch: Any, row: int) -> Iterator[Any]:
        """Records read one by one, because one has a value that Python cannot represent: invalid
        text or a very distant date."""
        for index in range(batch.num_rows):
            try:
                yield from self._records_of(batch.slice(index, 1))
            except (ValueError, OverflowError) as error:
                self.malformed(MalformedRecordError(f"{error}", None, row + index))
                self._lost += 1


class ColumnarParquetReader(ParquetReader):
    """Reads rows in columns: a batch is (part of) a record batch of the file."""

    _rest: Any = None

    def _next_records(self, count: int) -> RowBatch[Any] | ColumnBatch:
        if count == 0:
            return RowBatch([])
        batch = self._rest if self._rest is not None else next(self._batches, None)
        if batch is None:
            return RowBatch([])
        self._rest = batch.slice(count) if batch.num_rows > count else None
        form = "dict" if self._record_type is dict else "row"
        part = batch.slice(0, count)
        return ColumnBatch(part if self.on_malformed is None else self._valid(part), form=form)

    def _valid(self, batch: Any) -> Any:
        """Rows whose values conform to their types. Damaged pages may decode to invalid texts,
        which would otherwise go unnoticed until they are used."""
        if invalidity(batch) is None:
            return batch
        import pyarrow as pa

        row, kept = self._first_row + self._position + self._lost, list[int]()
        for index in range(batch.num_rows):
            reason = invalidity(batch.take(pa.array([index])))
            if reason is None:
                kept.append(index)
            else:
                self.malformed(MalformedRecordError(reason, None, row + index))
                self._lost += 1
        return batch.take(pa.array(kept, pa.int64()))


def _parquet_file(path: str) -> Any:
    from pyarrow.parquet import ParquetFile

    file = path if scheme_of(path) == LOCAL_SCHEME else file_system_of(path).open(path)
    return ParquetFile(file, page_checksum_verification=True)


def _group_ranges(sizes: list[int], split_size: int) -> list[FileRange]:
    """Ranges of neighbouring row groups, each of at most ``split_size`` bytes if possible."""
    ranges: list[FileRange] = []
    start, total = 0, 0
    for index, size in enumerate(sizes):
        if index > start and total + size > split_size:
            ranges.append(FileRange(start, index))
            start, total = index, 0
        total += size
    return [*ranges, FileRange(start, len(sizes))] if sizes else []


def _first_group(sizes: list[int], position: int) -> tuple[int, int]:
    """First row group with unread rows, and the number of rows before it."""
    skipped = 0
    for index, size in enumerate(sizes):
        if skipped + size > position:
            return index, skipped
        skipped += size
    return len(sizes), skipped
