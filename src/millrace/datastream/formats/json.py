"""JSON messages and files."""

from __future__ import annotations

from millrace.common import typeinfo
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.type_information import TypeInformation
from millrace.formats.json_row import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

__all__ = [
    "DeserializationSchema",
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
    "SerializationSchema",
    "TypeInformation",
    "typeinfo",
]
