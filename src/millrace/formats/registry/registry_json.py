"""JSON messages with schemas in a registry (Confluent docs, "JSON Schema Serializer")."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.batch import Batch
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.row import Row
from millrace.common.types.type_information import TypeInformation
from millrace.formats.json_row import JsonRowDeserializationSchema, JsonRowSerializationSchema
from millrace.formats.json_schema import type_of_json_schema
from millrace.formats.registry.registry_avro import required_subject
from millrace.formats.registry.registry_client import RegisteredSchema, SchemaRegistryClient
from millrace.formats.registry.registry_config import RegistryConfig
from millrace.formats.registry.wire_format import PREFIX_BYTES, prefix, schema_ids_of

__all__ = ["ConfluentRegistryJsonDeserializationSchema", "ConfluentRegistryJsonSerializationSchema"]

Properties = Mapping[str, str]


class ConfluentRegistryJsonDeserializationSchema(DeserializationSchema[Row], ResultTypeQueryable):
    """Reads framed JSON objects as rows of a type; this needs no requests to the registry.

    Args:
        type_info: type of the rows, ``Types.ROW_NAMED([names], [types])``.

    Raises:
        JobDefinitionError: the type is not a row type.

    Example:
        >>> from millrace.common import Types
        >>> row_type = Types.ROW_NAMED(["n"], [Types.LONG()])
        >>> schema = ConfluentRegistryJsonDeserializationSchema(row_type)
        >>> schema.deserialize(b'\\0\\0\\0\\0\\1{"n": 7}')
        Row(n=7)
    """

    def __init__(self, type_info: TypeInformation[Any]) -> None:
        self._rows = JsonRowDeserializationSchema.builder().type_info(type_info).build()

    def deserialize(self, message: bytes) -> Row:
        """Row of a message.

        Raises:
            MalformedRecordError: the message has no frame, or is not JSON of the type.
        """
        schema_ids_of([message])
        row = self._rows.deserialize(message[PREFIX_BYTES:])
        assert row is not None  # parse errors are not ignored
        return row

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        if messages:
            schema_ids_of(messages)
        return self._rows.deserialize_batch([message[PREFIX_BYTES:] for message in messages])

    def get_produced_type(self) -> TypeInformation[Any]:
        """The type of the rows."""
        return self._rows.get_produced_type()


class ConfluentRegistryJsonSerializationSchema(SerializationSchema[Any]):
    """Writes rows as JSON objects with a schema in a registry.

    Args:
        subject: subject of the schema; see `SubjectName`.
        json_schema: the text of a JSON Schema, which also gives the type of the rows.
        url: address of the registry, or several separated by commas.
        registry_configs: see `RegistryConfig.create`.
        auto_register: register the schema if the registry lacks it; if False, this is an error.

    Raises:
        JobDefinitionError: the schema describes no object, the subject is none, or the registry's
            address or a property is none.
    """

    def __init__(
        self,
        subject: str,
        json_schema: str,
        url: str,
        registry_configs: Properties | None = None,
        auto_register: bool = True,
    ) -> None:
        if not isinstance(json_schema, str):
            raise JobDefinitionError(f"a JSON Schema is given as its text, not as {json_schema!r}")
        row_type = type_of_json_schema(json_schema)
        self._given = (required_subject(subject), json_schema, url, registry_configs, auto_register)
        self._config = RegistryConfig.create(url, registry_configs)
        self._rows = JsonRowSerializationSchema.builder().with_type_info(row_type).build()
        self._prefix: bytes | None = None

    def serialize(self, value: Any) -> bytes:
        """A row as the text of a JSON object, after the frame of the registry's wire format.

        Raises:
            SerializationError: the row is not of the schema's type.
            SchemaRegistryError: the registry does not answer, or does not take the schema.
        """
        if self._prefix is None:
            subject, text, _, _, registers = self._given
            schema = RegisteredSchema("JSON", json.dumps(json.loads(text)))
            client = SchemaRegistryClient.of(self._config)
            self._prefix = prefix(client.schema_id(subject, schema, registers))
        return self._prefix + self._rows.serialize(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConfluentRegistryJsonSerializationSchema, self._given
