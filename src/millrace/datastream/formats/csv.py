"""CSV files."""

from __future__ import annotations

from millrace.formats.csv import CsvReaderFormat
from millrace.formats.csv_encoder import CsvBulkWriters
from millrace.formats.csv_row import CsvRowDeserializationSchema, CsvRowSerializationSchema
from millrace.formats.csv_schema import CsvSchema, CsvSchemaBuilder

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
