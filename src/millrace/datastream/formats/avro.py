"""Avro files and messages (``pip install 'millrace[avro]'``)."""

from __future__ import annotations

from millrace.common.serialization import (
    BulkWriterFactory,
    DeserializationSchema,
    SerializationSchema,
)
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.type_information import TypeInformation
from millrace.formats.avro import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "BulkWriterFactory",
    "DeserializationSchema",
    "GenericRecordAvroTypeInfo",
    "ResultTypeQueryable",
    "SerializationSchema",
    "TypeInformation",
]
