"""Columns of files as columns of a table, with columns from their paths and metadata.

Flink docs: "FileSystem SQL Connector", Partition Files and Available Metadata.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millrace.common.errors import JobExecutionError, SerializationError
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.columns import kinds_of
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowType
from millrace.connectors.file_split_reader import file_status
from millrace.connectors.path_partitions import PathPartitions
from millrace.filesystem.file_system import FileStatus
from millrace.formats.file_format import FileFormat, FileRange, FormatReader
from millrace.table_runtime.columns import ColumnConversion, schema_of

__all__ = ["FILE_METADATA", "PartitionFilter", "TableFileFormat"]

FILE_METADATA: dict[str, tuple[str, Callable[[FileStatus], Any]]] = {
    "file.modification-time": ("TIMESTAMP_LTZ(3)", lambda file: int(file.modified * 1000)),
    "file.name": ("STRING", lambda file: posixpath.basename(file.location)),
    "file.path": ("STRING", lambda file: file.location),
    "file.size": ("BIGINT", lambda file: file.length),
}
"""Type and getter of each metadata key of a file."""


class TableFileFormat(FileFormat[Any]):
    """Format that adds columns with one value per file to the columns of another format.

    Args:
        inner: reads the files.
        columns: columns of the result, in order.
        in_files: names of the columns inside the files, in order.
        partitions: reader of columns in paths.
        metadata: key of each metadata column.
    """

    def __init__(
        self,
        inner: FileFormat[Any],
        columns: RowType,
        in_files: Sequence[str],
        partitions: PathPartitions | None,
        metadata: Mapping[str, str],
    ) -> None:
        self._inner = inner
        self._columns = columns
        self._in_files = tuple(in_files)
        self._partitions = partitions
        self._metadata = dict(metadata)

    def ranges(self, path: str, size: int, split_size: int) -> Sequence[FileRange]:
        return self._inner.ranges(path, size, split_size)

    def open(self, path: str, file_range: FileRange, position: Any) -> FormatReader[Any]:
        values = {} if self._partitions is None else self._partitions.values(path)
        if self._metadata:
            file = file_status(path)
            values |= {name: FILE_METADATA[key][1](file) for name, key in self._metadata.items()}
        reader = self._inner.open(path, file_range, position)
        return _TableFileReader(reader, self._columns, self._in_files, values)


class _TableFileReader(FormatReader[Any]):
    def __init__(
        self,
        reader: FormatReader[Any],
        columns: RowType,
        in_files: tuple[str, ...],
        values: dict[str, Any],
    ) -> None:
        self._reader = reader
        self._schema = schema_of(columns)
        self._values = values
        read = RowType(tuple(field for field in columns.fields if field.name in in_files))
        self._read_names = read.names
        self._convert = ColumnConversion(read, in_files)

    def read(self, max_records: int) -> RowBatch[Any] | ColumnBatch:
        import pyarrow as pa

        self._reader.on_malformed = self.on_malformed
        batch = self._reader.read(max_records)
        self.skipped = self._reader.skipped
        if not len(batch):
            return RowBatch([])
        # of rows that are only counted it does not matter what they have
        converted = self._converted(batch) if self._read_names else None
        columns = [
            converted.data.column(field.name)
            if converted is not None and field.name in self._read_names
            else pa.repeat(_scalar(self._values.get(field.name), field.type), len(batch))
            for field in self._schema
        ]
        data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return ColumnBatch(data, None, _kinds(batch), "row")

    def _converted(self, batch: RowBatch[Any] | ColumnBatch) -> ColumnBatch:
        try:
            return self._convert(batch)
        except JobExecutionError as error:  # which the source tells with the file's name
            raise SerializationError(str(error)) from None

    def position(self) -> Any:
        return self._reader.position()

    def finished(self) -> bool:
        return self._reader.finished()

    def close(self) -> None:
        self._reader.close()


def _kinds(batch: RowBatch[Any] | ColumnBatch) -> Any:
    return batch.row_kinds if isinstance(batch, ColumnBatch) else kinds_of(batch.values)


def _scalar(value: Any, kind: Any) -> Any:
    import pyarrow as pa

    if isinstance(value, int) and pa.types.is_timestamp(kind):
        return pa.scalar(value, pa.timestamp("ms", kind.tz)).cast(kind)
    return pa.scalar(value, kind)


class PartitionFilter:
    """Filter of files by their path: whether a file may have rows that satisfy a condition on
    partition columns.

    Args:
        partitions: reader of columns in paths.
        columns: columns that the condition reads.
        evaluate: gives the condition's value per row.
    """

    def __init__(
        self,
        partitions: PathPartitions,
        columns: RowType,
        evaluate: Callable[[Any], Any],
    ) -> None:
        self._partitions, self._columns, self._evaluate = partitions, columns, evaluate
        self._known: dict[str, bool] = {}

    def __call__(self, path: str) -> bool:
        directory = posixpath.dirname(path)
        if directory not in self._known:
            self._known[directory] = self._may_have(path)
        return self._known[directory]

    def _may_have(self, path: str) -> bool:
        import pyarrow as pa

        try:
            values = self._partitions.values(path)
        except SerializationError:
            return True  # the reader tells what is wrong
        columns = [
            pa.array([values.get(field.name)], arrow_type(field.type))
            for field in self._columns.fields
        ]
        row = pa.RecordBatch.from_arrays(columns, schema=schema_of(self._columns))
        return bool(self._evaluate(row)[0].as_py())

    def __reduce__(self) -> tuple[Any, ...]:
        return PartitionFilter, (self._partitions, self._columns, self._evaluate)
