"""Avro: container files, and messages (``pip install 'millrace[avro]'``)."""

from __future__ import annotations

from millrace.formats.avro.avro_bulk_writers import AvroBulkWriters
from millrace.formats.avro.avro_input_format import AvroInputFormat
from millrace.formats.avro.avro_parquet import AvroParquetReaders, AvroParquetWriters
from millrace.formats.avro.avro_row import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)
from millrace.formats.avro.avro_schema import AvroSchema
from millrace.formats.avro.record_type_info import GenericRecordAvroTypeInfo

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroParquetReaders",
    "AvroParquetWriters",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
]
