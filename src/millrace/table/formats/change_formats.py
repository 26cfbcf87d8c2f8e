"""Formats whose messages are changes of a database's rows: Debezium's, Canal's and Maxwell's.

Flink docs: "Debezium Format", "Canal Format", "Maxwell Format".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from millrace.common.config.config_options import ConfigOptions
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.logical.logical_type import RowType
from millrace.formats.changes import (
    CanalJsonDeserializationSchema,
    CanalJsonSerializationSchema,
    DebeziumJsonDeserializationSchema,
    DebeziumJsonSerializationSchema,
    MaxwellJsonDeserializationSchema,
    MaxwellJsonSerializationSchema,
)
from millrace.formats.changes.change_schema import ChangeSerializationSchema
from millrace.table.formats.message_format import MessageFormat, Read
from millrace.table.formats.row_type_info import row_type_info

__all__ = ["CHANGE_FORMATS"]

ALL_KINDS = frozenset({"+I", "-U", "+U", "-D"})

SCHEMA_INCLUDE = (
    ConfigOptions.key("debezium-json.schema-include").boolean_type().default_value(False)
)
DEBEZIUM_IGNORES = (
    ConfigOptions.key("debezium-json.ignore-parse-errors").boolean_type().default_value(False)
)
CANAL_IGNORES = (
    ConfigOptions.key("canal-json.ignore-parse-errors").boolean_type().default_value(False)
)
DATABASE = ConfigOptions.key("canal-json.database.include").string_type().no_default_value()
TABLE = ConfigOptions.key("canal-json.table.include").string_type().no_default_value()
MAXWELL_IGNORES = (
    ConfigOptions.key("maxwell-json.ignore-parse-errors").boolean_type().default_value(False)
)


class ChangeFormat(MessageFormat):
    """Rows with their kinds. An update is written as a delete and an insert, as Flink does."""

    changes = ALL_KINDS
    accepts = frozenset()
    writes: ClassVar[type[ChangeSerializationSchema]]

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        return self.writes(row_type_info(columns, "JSON", nested=True))


class DebeziumJsonFormat(ChangeFormat):
    """``before``, ``after`` and ``op``."""

    options = (SCHEMA_INCLUDE, DEBEZIUM_IGNORES)
    ignores = DEBEZIUM_IGNORES
    writes = DebeziumJsonSerializationSchema

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        fields = row_type_info(self.read_columns(physical, wanted), "JSON", nested=True)
        return DebeziumJsonDeserializationSchema(fields, read(SCHEMA_INCLUDE))


class CanalJsonFormat(ChangeFormat):
    """``data``, ``old`` and ``type``."""

    options = (CANAL_IGNORES, DATABASE, TABLE)
    ignores = CANAL_IGNORES
    writes = CanalJsonSerializationSchema

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        fields = row_type_info(self.read_columns(physical, wanted), "JSON", nested=True)
        return CanalJsonDeserializationSchema(fields, read(DATABASE), read(TABLE))


class MaxwellJsonFormat(ChangeFormat):
    """``data``, ``old`` and ``type`` of one row."""

    options = (MAXWELL_IGNORES,)
    ignores = MAXWELL_IGNORES
    writes = MaxwellJsonSerializationSchema

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        return MaxwellJsonDeserializationSchema(
            row_type_info(self.read_columns(physical, wanted), "JSON", nested=True)
        )


CHANGE_FORMATS: dict[str, MessageFormat] = {
    "canal-json": CanalJsonFormat(),
    "debezium-json": DebeziumJsonFormat(),
    "maxwell-json": MaxwellJsonFormat(),
}
"""By the value of the option ``format``."""
