"""Avro formats of messages: with the table's schema, and with schemas of a registry.

Flink docs: "Avro Format", "Confluent Avro Format", "Debezium Format".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.logical.logical_type import RowType, VarCharType
from millrace.common.types.row import ALL_ROW_KINDS
from millrace.formats.avro import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
)
from millrace.formats.avro.avro_json import (
    AvroJsonDeserializationSchema,
    AvroJsonSerializationSchema,
)
from millrace.formats.avro.table_schema import table_schema
from millrace.formats.changes.debezium_avro import (
    DebeziumAvroDeserializationSchema,
    DebeziumAvroSerializationSchema,
)
from millrace.formats.registry import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)
from millrace.table.formats.message_format import MessageFormat, Read

__all__ = ["AVRO_FORMATS", "RegistryFormat"]

ENCODING = (
    ConfigOptions.key("avro.encoding")
    .string_type()
    .default_value("binary")
    .one_of("binary", "json")
)
LEGACY = ConfigOptions.key("avro.timestamp_mapping.legacy").boolean_type().default_value(True)


class AvroMessageFormat(MessageFormat):
    """Avro records whose messages contain no schema: the schema follows from the table's
    columns."""

    options = (ENCODING, LEGACY)
    text = False

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        written = table_schema(physical, read(LEGACY))
        chosen = table_schema(self.read_columns(physical, wanted), read(LEGACY))
        rows = AvroRowDeserializationSchema(None, written.to_json(), chosen.to_json())
        return AvroJsonDeserializationSchema(written, rows) if _as_json(read) else rows

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        schema = table_schema(columns, read(LEGACY))
        rows = AvroRowSerializationSchema(None, schema.to_json())
        return AvroJsonSerializationSchema(schema, rows) if _as_json(read) else rows


def _as_json(read: Read) -> bool:
    return bool(read(ENCODING) == "json")


_CLIENT = (
    ("basic-auth.credentials-source", "basic.auth.credentials.source"),
    ("basic-auth.user-info", "basic.auth.user.info"),
    ("bearer-auth.credentials-source", "bearer.auth.credentials.source"),
    ("bearer-auth.token", "bearer.auth.token"),
    *(
        (f"properties.{key}", key)
        for key in (
            *("basic.auth.credentials.source", "basic.auth.user.info"),
            *("bearer.auth.credentials.source", "bearer.auth.token"),
            *("ssl.ca.location", "request.patience.ms"),
        )
    ),
)
"""Options of the format, and the properties of the registry's client that they set."""


class RegistryFormat(MessageFormat):
    """Avro records with a schema in a registry; each message begins with the id of its schema.

    Attributes:
        identifier: value of the option ``format``.
        subject: option with the registry's subject for the schema of written messages.
    """

    text = False
    identifier: ClassVar[str]

    def __init__(self) -> None:
        def option(name: str) -> ConfigOption[Any]:
            return ConfigOptions.key(f"{self.identifier}.{name}").string_type().no_default_value()

        self._url, self.subject = option("url"), option("subject")
        self._schema = option("schema")
        self._client = [(option(name), key) for name, key in _CLIENT]
        self._legacy = (
            ConfigOptions.key(f"{self.identifier}.timestamp_mapping.legacy")
            .boolean_type()
            .default_value(True)
        )
        of_client = [client_option for client_option, _ in self._client]
        self.options = (self._url, self.subject, self._schema, self._legacy, *of_client)

    def _reading(self, columns: RowType, read: Read) -> ConfluentRegistryAvroDeserializationSchema:
        # of a schema that is given only its columns are wanted, by name
        schema = table_schema(columns, read(self._legacy))
        return ConfluentRegistryAvroDeserializationSchema.for_generic(
            schema, self._address(read), self._properties(read)
        )

    def _writing(self, columns: RowType, read: Read) -> ConfluentRegistryAvroSerializationSchema:
        subject, given = read(self.subject), read(self._schema)
        if subject is None:
            raise JobDefinitionError(
                f"'format' = '{self.identifier}' needs the option '{self.subject.key}' to write"
            )
        schema = table_schema(columns, read(self._legacy))
        if given is not None:
            schema = _same_fields(AvroSchema.parse_string(given), schema, self._schema.key)
        return ConfluentRegistryAvroSerializationSchema.for_generic(
            subject, schema, self._address(read), self._properties(read)
        )

    def _address(self, read: Read) -> str:
        url = read(self._url)
        if url is None:
            raise JobDefinitionError(
                f"'format' = '{self.identifier}' needs the option '{self._url.key}', the address "
                "of the schema registry"
            )
        return str(url)

    def _properties(self, read: Read) -> dict[str, str]:
        given = [(key, read(option)) for option, key in self._client]
        return {key: value for key, value in given if value is not None}


def _same_fields(given: AvroSchema, of_table: AvroSchema, key: str) -> AvroSchema:
    """The given schema, if it has the table's columns in the same order.

    Raises:
        JobDefinitionError: it has others.
    """
    names = [entry.name for entry in given.type.fields]
    columns = [entry.name for entry in of_table.type.fields]
    if names != columns:
        raise JobDefinitionError(
            f"'{key}' has the fields {', '.join(names)}, but the table has the columns "
            f"{', '.join(columns)}"
        )
    return given


class ConfluentAvroFormat(RegistryFormat):
    """Inserted rows, with a schema in a registry."""

    identifier = "avro-confluent"

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        return self._reading(self.read_columns(physical, wanted), read)

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        return self._writing(columns, read)


class DebeziumAvroFormat(RegistryFormat):
    """Changes with ``before``, ``after`` and ``op``, with a schema in a registry."""

    identifier = "debezium-avro-confluent"
    changes = ALL_ROW_KINDS
    accepts = frozenset()

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        columns = _envelope(self.read_columns(physical, wanted))
        return DebeziumAvroDeserializationSchema(self._reading(columns, read))

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        return DebeziumAvroSerializationSchema(self._writing(_envelope(columns), read))


def _envelope(columns: RowType) -> RowType:
    row = columns.with_nullable(True)
    return RowType.of(("before", row), ("after", row), ("op", VarCharType()))


AVRO_FORMATS: dict[str, MessageFormat] = {
    "avro": AvroMessageFormat(),
    "avro-confluent": ConfluentAvroFormat(),
    "debezium-avro-confluent": DebeziumAvroFormat(),
}
"""Formats by the value of the option ``format``."""
