"""Parquet files of records with an Avro schema. Flink docs: "Parquet format", Avro records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO

from millrace.common.serialization import BulkWriter
from millrace.common.types.batch import BatchForm, ColumnBatch, RowBatch
from millrace.formats.arrow_types import arrow_schema
from millrace.formats.avro.avro_schema import AvroSchema, require_avro_schema
from millrace.formats.avro.parquet_values import (
    read_conversion,
    stored_row_type,
    write_conversion,
)
from millrace.formats.file_format import BulkFormat, FileRange, FormatReader
from millrace.formats.parquet import ParquetColumnarRowInputFormat
from millrace.formats.parquet_writer import ParquetWriterFactory

__all__ = ["AvroParquetReaders", "AvroParquetWriters"]


class AvroParquetReaders:
    """Makes formats that read Parquet files as records with an Avro schema."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkFormat[Any]:
        """Format that reads each row as a dict of the schema's fields, without other columns.

        Raises:
            JobDefinitionError: the schema is not that of a record.
        """
        checked = require_avro_schema(schema, "AvroParquetReaders.for_generic_record")
        plain = ParquetColumnarRowInputFormat(stored_row_type(checked.type), record_type=dict)
        has_others = read_conversion(checked.type) is not None
        return _AvroParquetFormat(plain, checked) if has_others else plain


class AvroParquetWriters:
    """Makes factories of Parquet writers for records with an Avro schema."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> ParquetWriterFactory:
        """Factory for files with the columns of a schema, from dicts and all other inputs of
        `ParquetBulkWriters`.

        Raises:
            JobDefinitionError: the schema is not that of a record.
        """
        checked = require_avro_schema(schema, "AvroParquetWriters.for_generic_record")
        return _AvroParquetWriterFactory(checked)


class _AvroParquetFormat(BulkFormat[Any]):
    """Makes records from rows whose types Parquet stores differently: unions, maps, fields of
    type null."""

    def __init__(self, plain: ParquetColumnarRowInputFormat, schema: AvroSchema) -> None:
        self._plain, self._schema = plain, schema

    def ranges(self, path: str, size: int, split_size: int) -> Sequence[FileRange]:
        return self._plain.ranges(path, size, split_size)

    def open(self, path: str, file_range: FileRange, position: Any) -> FormatReader[Any]:
        convert = read_conversion(self._schema.type)
        assert convert is not None
        return _AvroParquetReader(self._plain.open(path, file_range, position), convert)


class _AvroParquetReader(FormatReader[Any]):
    def __init__(self, reader: FormatReader[Any], convert: Callable[[Any], Any]) -> None:
        self._reader, self._convert = reader, convert

    def read(self, max_records: int) -> RowBatch[Any] | ColumnBatch:
        self._reader.on_malformed = self.on_malformed
        batch = self._reader.read(max_records)
        self.skipped = self._reader.skipped
        return RowBatch(list(map(self._convert, batch.to_rows().values)))

    def position(self) -> Any:
        return self._reader.position()

    def finished(self) -> bool:
        return self._reader.finished()

    def close(self) -> None:
        self._reader.close()


class _AvroParquetWriterFactory(ParquetWriterFactory):
    def __init__(self, schema: AvroSchema) -> None:
        row_type = stored_row_type(schema.type)
        super().__init__(row_type, arrow_schema(row_type), "snappy")
        self._avro = schema
        if write_conversion(schema.type) is not None:
            self.takes = BatchForm.ROWS

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        plain = super().create(stream)
        convert = write_conversion(self._avro.type)
        return plain if convert is None else _AvroParquetWriter(plain, convert)

    def join(self, files: Iterable[BinaryIO], target: BinaryIO) -> None:
        # what the files have is converted already
        ParquetWriterFactory(self._row_type, self._schema, self._compression).join(files, target)


class _AvroParquetWriter(BulkWriter[Any]):
    def __init__(self, plain: BulkWriter[Any], convert: Callable[[Any], Any]) -> None:
        self._plain, self._convert = plain, convert

    def add_elements(self, elements: Sequence[Any]) -> None:
        self._plain.add_elements(list(map(self._convert, elements)))

    def flush(self) -> None:
        self._plain.flush()

    def finish(self) -> None:
        self._plain.finish()
