"""Avro messages with schemas in a registry. Flink docs: "Confluent Avro format"."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.batch import Batch
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.row import Row
from millrace.common.types.type_information import TypeInformation
from millrace.formats.avro.avro_decoder import AvroDecoder
from millrace.formats.avro.avro_row import RowEncoder
from millrace.formats.avro.avro_schema import AvroSchema, require_avro_schema
from millrace.formats.avro.row_types import row_type_of
from millrace.formats.malformed_record import as_malformed
from millrace.formats.registry.registry_client import (
    RegisteredSchema,
    SchemaRegistryClient,
    SchemaRegistryError,
)
from millrace.formats.registry.registry_config import RegistryConfig
from millrace.formats.registry.wire_format import PREFIX_BYTES, prefix, schema_ids_of

__all__ = ["ConfluentRegistryAvroDeserializationSchema", "ConfluentRegistryAvroSerializationSchema"]

Properties = Mapping[str, str]


class ConfluentRegistryAvroDeserializationSchema(DeserializationSchema[Row], ResultTypeQueryable):
    """Reads messages as rows of one schema, although messages may have been written with other
    schemas; made by `for_generic`.

    Example:
        >>> schema = AvroSchema.parse_string(
        ...     '{"type": "record", "name": "W", "fields": [{"name": "n", "type": "int"}]}'
        ... )
        >>> read = ConfluentRegistryAvroDeserializationSchema.for_generic(
        ...     schema, "http://localhost:8081"
        ... )
        >>> read.get_produced_type().get_field_names()
        ['n']
    """

    def __init__(self, schema: AvroSchema, config: RegistryConfig) -> None:
        self._schema = schema
        self._config = config
        self._decoders: dict[int, AvroDecoder] = {}
        self._own = AvroDecoder(schema, schema)

    @staticmethod
    def for_generic(
        schema: AvroSchema, url: str, registry_configs: Properties | None = None
    ) -> ConfluentRegistryAvroDeserializationSchema:
        """Schema that reads rows of a given Avro schema. Messages with other schemas are converted
        by Avro's schema resolution.

        Args:
            schema: the one that rows are wanted in.
            url: address of the registry, or several separated by commas.
            registry_configs: see `RegistryConfig.create`.

        Raises:
            JobDefinitionError: the schema is not that of a record, or the registry's address or
                a property is none.
        """
        checked = require_avro_schema(schema, "for_generic")
        config = RegistryConfig.create(url, registry_configs)
        return ConfluentRegistryAvroDeserializationSchema(checked, config)

    def deserialize(self, message: bytes) -> Row:
        """Row of a message.

        Raises:
            MalformedRecordError: the message has no frame, or a schema that the registry does not
                know or that cannot be resolved, or is no record of it.
            SchemaRegistryError: the registry does not answer.
        """
        try:
            row: Row = self.deserialize_batch([message]).to_rows().values[0]
        except SchemaRegistryError:
            raise
        except Exception as error:  # whatever fastavro makes of bytes that are no Avro
            raise as_malformed(error).of(bytes(message)) from None
        return row

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        records: list[Any] = [None] * len(messages)
        for schema_id, positions in schema_ids_of(messages).items() if messages else ():
            decoder = self._decoders.get(schema_id) or self._decoder(schema_id)
            read = decoder.records_of([messages[at][PREFIX_BYTES:] for at in positions])
            if len(positions) == len(messages):
                return self._own.batch_of(read)
            for at, record in zip(positions, read, strict=True):
                records[at] = record
        return self._own.batch_of(records)

    def _decoder(self, schema_id: int) -> AvroDecoder:
        client = SchemaRegistryClient.of(self._config)
        try:
            writer = avro_schema_of(client, client.schema(schema_id))
            decoder = AvroDecoder(writer, self._schema)
        except JobDefinitionError as error:
            raise SerializationError(f"the schema with the id {schema_id}: {error}") from None
        self._decoders[schema_id] = decoder
        return decoder

    def get_produced_type(self) -> TypeInformation[Any]:
        """The type of the rows."""
        return row_type_of(self._schema.type)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConfluentRegistryAvroDeserializationSchema, (self._schema, self._config)


class ConfluentRegistryAvroSerializationSchema(SerializationSchema[Any]):
    """Writes rows (or tuples, dicts, dataclass instances) with a schema in a registry; made by
    `for_generic`."""

    def __init__(
        self, subject: str, schema: AvroSchema, config: RegistryConfig, auto_register: bool
    ) -> None:
        self._subject = subject
        self._schema = schema
        self._config = config
        self._auto_register = auto_register
        self._encoder = RowEncoder(schema)
        self._prefix: bytes | None = None

    @staticmethod
    def for_generic(
        subject: str,
        schema: AvroSchema,
        url: str,
        registry_configs: Properties | None = None,
        auto_register: bool = True,
    ) -> ConfluentRegistryAvroSerializationSchema:
        """Serialization schema for records of the given Avro schema.

        Args:
            subject: subject of the schema; see `SubjectName`.
            schema: schema of the records.
            url: address of the registry, or several separated by commas.
            registry_configs: see `RegistryConfig.create`.
            auto_register: register the schema if the registry lacks it; if False, this is an error.

        Raises:
            JobDefinitionError: the schema is not that of a record, the subject is none, or the
                registry's address or a property is none.
        """
        checked = require_avro_schema(schema, "for_generic")
        config = RegistryConfig.create(url, registry_configs)
        return ConfluentRegistryAvroSerializationSchema(
            required_subject(subject), checked, config, auto_register
        )

    def serialize(self, value: Any) -> bytes:
        """A record as bytes in Avro's binary encoding, after the frame of the registry's wire
        format.

        Raises:
            SerializationError: the value does not conform to the schema.
            SchemaRegistryError: the registry does not answer, or does not take the schema.
        """
        return self.serialize_batch([value])[0]

    def serialize_batch(self, values: Sequence[Any]) -> list[bytes]:
        if self._prefix is None:
            client = SchemaRegistryClient.of(self._config)
            schema = RegisteredSchema("AVRO", self._schema.to_json())
            self._prefix = prefix(client.schema_id(self._subject, schema, self._auto_register))
        return self._encoder.write(values, self._prefix)

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self._subject, self._schema, self._config, self._auto_register)
        return ConfluentRegistryAvroSerializationSchema, given


def required_subject(subject: Any) -> str:
    """The name of a subject.

    Raises:
        JobDefinitionError: the subject is empty or not a text.
    """
    if not isinstance(subject, str) or not subject:
        raise JobDefinitionError(
            f"a schema is registered under a subject such as 'orders-value', not {subject!r}"
        )
    return subject


def avro_schema_of(client: SchemaRegistryClient, schema: RegisteredSchema) -> AvroSchema:
    """The Avro schema with its references replaced by their definitions.

    Raises:
        SerializationError: the registered schema is not an Avro schema.
        SchemaRegistryError: the registry does not answer.
    """
    if schema.kind != "AVRO":
        raise SerializationError(f"the message is {schema.kind}, where Avro is expected")
    texts = {name: inner.text for name, inner in client.referenced(schema).items()}
    try:
        open_names = {name: json.loads(text) for name, text in texts.items()}
        return AvroSchema(_with_definitions(json.loads(schema.text), "", open_names))
    except (ValueError, RecursionError) as error:
        raise SerializationError(f"the registry's schema is not JSON: {error}") from None


def _with_definitions(schema: Any, namespace: str, undefined: dict[str, Any]) -> Any:
    """The schema with a definition at the first use of each referenced name."""
    if isinstance(schema, str):
        full = schema if "." in schema or not namespace else f"{namespace}.{schema}"
        name = full if full in undefined else schema
        if name not in undefined:
            return schema
        return _with_definitions(undefined.pop(name), "", undefined)
    if isinstance(schema, list):
        return [_with_definitions(branch, namespace, undefined) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    inner = schema.get("namespace", namespace)
    if "name" in schema and "." in str(schema["name"]):
        inner = str(schema["name"]).rpartition(".")[0]
    defined = dict(schema)
    for key in ("type", "items", "values"):
        if key in defined:
            defined[key] = _with_definitions(defined[key], inner, undefined)
    if isinstance(defined.get("fields"), list):
        defined["fields"] = [
            _with_definitions(entry, inner, undefined) for entry in defined["fields"]
        ]
    return defined
