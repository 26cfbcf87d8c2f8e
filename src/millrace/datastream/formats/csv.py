"""CSV files."""

from __future__ import annotations

from millrace.common.serialization import (
    BulkWriterFactory,
    DeserializationSchema,
    RowDataBulkWriterFactory,
    SerializationSchema,
)
from millrace.common.types.logical.logical_type import NumericType, RowType
from millrace.common.types.type_information import TypeInformation
from millrace.formats.csv import CsvReaderFormat
from millrace.formats.csv_encoder import CsvBulkWriters
from millrace.formats.csv_row import CsvRowDeserializationSchema, CsvRowSerializationSchema
from millrace.formats.csv_schema import CsvSchema, CsvSchemaBuilder
from millrace.formats.stream_format import StreamFormat

__all__ = [
    "BulkWriterFactory",
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
    "DeserializationSchema",
    "NumericType",
    "RowDataBulkWriterFactory",
    "RowType",
    "SerializationSchema",
    "StreamFormat",
    "TypeInformation",
]
