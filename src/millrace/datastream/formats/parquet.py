"""Parquet files."""

from __future__ import annotations

from millrace.common.config.configuration import Configuration
from millrace.common.serialization import BulkWriterFactory, RowDataBulkWriterFactory
from millrace.common.types.logical.logical_type import RowType
from millrace.formats.avro import AvroParquetReaders, AvroParquetWriters
from millrace.formats.avro.avro_schema import AvroSchema
from millrace.formats.file_format import BulkFormat
from millrace.formats.parquet import ParquetColumnarRowInputFormat
from millrace.formats.parquet_writer import ParquetBulkWriters
from millrace.formats.stream_format import StreamFormat

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "AvroSchema",
    "BulkFormat",
    "BulkWriterFactory",
    "Configuration",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
    "RowDataBulkWriterFactory",
    "RowType",
    "StreamFormat",
]
