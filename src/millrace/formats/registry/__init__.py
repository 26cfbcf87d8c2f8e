"""Messages with schemas in a registry, in Confluent's wire format."""

from __future__ import annotations

from millrace.formats.registry.registry_avro import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)
from millrace.formats.registry.registry_client import SchemaRegistryError
from millrace.formats.registry.registry_json import (
    ConfluentRegistryJsonDeserializationSchema,
    ConfluentRegistryJsonSerializationSchema,
)
from millrace.formats.registry.registry_protobuf import (
    ConfluentRegistryProtobufDeserializationSchema,
    ConfluentRegistryProtobufSerializationSchema,
)
from millrace.formats.registry.subject_names import SubjectName

__all__ = [
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
    "ConfluentRegistryJsonDeserializationSchema",
    "ConfluentRegistryJsonSerializationSchema",
    "ConfluentRegistryProtobufDeserializationSchema",
    "ConfluentRegistryProtobufSerializationSchema",
    "SchemaRegistryError",
    "SubjectName",
]
