"""Parquet files."""

from __future__ import annotations

from millrace.formats.avro import AvroParquetReaders, AvroParquetWriters
from millrace.formats.parquet import ParquetColumnarRowInputFormat
from millrace.formats.parquet_writer import ParquetBulkWriters

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
]
