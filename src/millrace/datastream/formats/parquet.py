"""Parquet files."""

from __future__ import annotations

from millrace.formats.parquet import ParquetColumnarRowInputFormat
from millrace.formats.parquet_writer import ParquetBulkWriters

__all__ = [
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
]
