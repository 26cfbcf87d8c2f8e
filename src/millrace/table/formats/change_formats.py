"""Formats of changes of a database's rows: Debezium's, Canal's, Maxwell's and GoldenGate's.

Flink docs: "Debezium Format", "Canal Format", "Maxwell Format", "Ogg Format".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import ALL_ROW_KINDS
from millrace.formats.changes import (
    CanalJsonDeserializationSchema,
    CanalJsonSerializationSchema,
    DebeziumJsonDeserializationSchema,
    DebeziumJsonSerializationSchema,
    MaxwellJsonDeserializationSchema,
    MaxwellJsonSerializationSchema,
    OggJsonDeserializationSchema,
    OggJsonSerializationSchema,
)
from millrace.formats.changes.change_metadata import (
    CANAL_METADATA,
    DEBEZIUM_METADATA,
    MAXWELL_METADATA,
    OGG_METADATA,
    ChangeMetadata,
)
from millrace.formats.changes.change_schema import ChangeSerializationSchema
from millrace.table.formats.json_options import JsonOptions
from millrace.table.formats.message_format import MessageFormat, Read
from millrace.table.formats.row_type_info import row_type_info

__all__ = ["CHANGE_FORMATS"]


SCHEMA_INCLUDE = (
    ConfigOptions.key("debezium-json.schema-include").boolean_type().default_value(False)
)
DATABASE = ConfigOptions.key("canal-json.database.include").string_type().no_default_value()
TABLE = ConfigOptions.key("canal-json.table.include").string_type().no_default_value()


class ChangeFormat(MessageFormat):
    """Rows with their kinds. An update is written as a delete and an insert, as in Flink."""

    changes = ALL_ROW_KINDS
    accepts = frozenset()
    json: ClassVar[JsonOptions]
    more: ClassVar[tuple[ConfigOption[Any], ...]] = ()
    writes: ClassVar[type[ChangeSerializationSchema]]

    def __init__(self) -> None:
        self.options = (*self.json.all, *self.more)
        self.ignores = self.json.ignores

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        fields = row_type_info(columns, "JSON", nested=True)
        return self.writes(fields, self.json.serializer(columns, read))


class DebeziumJsonFormat(ChangeFormat):
    """Debezium's JSON, with ``before``, ``after`` and ``op``."""

    json = JsonOptions("debezium-json")
    more = (SCHEMA_INCLUDE,)
    writes = DebeziumJsonSerializationSchema
    metadata = DEBEZIUM_METADATA

    def metadata_reader(self, key: str, read: Read) -> ChangeMetadata:
        return replace(self.metadata[key], wrapped=read(SCHEMA_INCLUDE))

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        fields = row_type_info(self.read_columns(physical, wanted), "JSON", nested=True)
        return DebeziumJsonDeserializationSchema(
            fields, read(SCHEMA_INCLUDE), null_for_wrong_fields=read(self.json.ignores)
        )

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        if read(SCHEMA_INCLUDE):
            raise JobDefinitionError(
                f"'{SCHEMA_INCLUDE.key}' applies only to reading; messages are written "
                "without a schema"
            )
        return super().serializer(columns, read)


class CanalJsonFormat(ChangeFormat):
    """Canal's JSON, with ``data``, ``old`` and ``type``."""

    json = JsonOptions("canal-json")
    more = (DATABASE, TABLE)
    writes = CanalJsonSerializationSchema
    metadata = CANAL_METADATA

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        fields = row_type_info(self.read_columns(physical, wanted), "JSON", nested=True)
        return CanalJsonDeserializationSchema(
            fields, read(DATABASE), read(TABLE), null_for_wrong_fields=read(self.json.ignores)
        )


class MaxwellJsonFormat(ChangeFormat):
    """Maxwell's JSON, with ``data``, ``old`` and ``type`` of one row."""

    json = JsonOptions("maxwell-json")
    writes = MaxwellJsonSerializationSchema
    metadata = MAXWELL_METADATA

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        fields = row_type_info(self.read_columns(physical, wanted), "JSON", nested=True)
        return MaxwellJsonDeserializationSchema(
            fields, null_for_wrong_fields=read(self.json.ignores)
        )


class OggJsonFormat(ChangeFormat):
    """GoldenGate's JSON, with ``before``, ``after`` and ``op_type``."""

    json = JsonOptions("ogg-json")
    writes = OggJsonSerializationSchema
    metadata = OGG_METADATA

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        fields = row_type_info(self.read_columns(physical, wanted), "JSON", nested=True)
        return OggJsonDeserializationSchema(fields, null_for_wrong_fields=read(self.json.ignores))


CHANGE_FORMATS: dict[str, MessageFormat] = {
    "canal-json": CanalJsonFormat(),
    "debezium-json": DebeziumJsonFormat(),
    "maxwell-json": MaxwellJsonFormat(),
    "ogg-json": OggJsonFormat(),
}
"""Formats by the value of the option ``format``."""
