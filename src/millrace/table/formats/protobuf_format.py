"""Protobuf messages as rows. Flink docs: "Protobuf Format"."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from millrace.common.config.config_options import ConfigOptions
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.formats.protobuf import (
    ProtobufRowDeserializationSchema,
    ProtobufRowSerializationSchema,
)
from millrace.formats.protobuf.message_type import MessageType
from millrace.formats.protobuf.table_rows import RowsByName, RowsWithTimes
from millrace.table.formats.message_format import MessageFormat, Read

__all__ = ["PROTOBUF_FORMATS"]

CLASS = ConfigOptions.key("protobuf.message-class-name").string_type().no_default_value()
DESCRIPTORS = ConfigOptions.key("protobuf.descriptor-set").string_type().no_default_value()
IGNORES = ConfigOptions.key("protobuf.ignore-parse-errors").boolean_type().default_value(False)
DEFAULTS = ConfigOptions.key("protobuf.read-default-values").boolean_type().default_value(False)
NULL_TEXT = ConfigOptions.key("protobuf.write-null-string-literal").string_type().default_value("")


class ProtobufFormat(MessageFormat):
    """Protobuf fields by the columns' names; other fields are ignored."""

    options = (CLASS, DESCRIPTORS, IGNORES, DEFAULTS, NULL_TEXT)
    ignores = IGNORES
    text = False

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        message_type = _message_type(physical, read)
        rows = ProtobufRowDeserializationSchema(message_type, read(DEFAULTS))
        return RowsWithTimes(physical, rows) if _has_times(message_type, physical.names) else rows

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        written = ProtobufRowSerializationSchema(_message_type(columns, read), read(NULL_TEXT))
        return RowsByName(columns.names, written)


def _message_type(columns: RowType, read: Read) -> MessageType:
    """The type of messages.

    Raises:
        JobDefinitionError: it is not there, or lacks a field of a column's name.
    """
    name, descriptors = read(CLASS), read(DESCRIPTORS)
    if name is None:
        raise JobDefinitionError(f"'format' = 'protobuf' needs the option '{CLASS.key}'")
    if descriptors is not None:
        message_type = MessageType.of_descriptor_set(descriptors, name)
    else:
        message_type = MessageType.of_class(_imported(name))
    fields = {field.name: field for field in message_type.message_class.DESCRIPTOR.fields}
    for column in columns.fields:
        if column.name not in fields:
            raise JobDefinitionError(
                f"the message type {message_type.name} has no field {column.name!r} for the column "
                f"of this name; its fields are {', '.join(fields)}"
            )
        of_message = fields[column.name].message_type
        wanted = None if of_message is None else columns_for(of_message.full_name, column.type)
        if wanted is not None and not fields[column.name].is_repeated:
            raise JobDefinitionError(
                f"column {column.name} is of {column.type}: {of_message.full_name} is {wanted}"
            )
    return message_type


def _has_times(message_type: MessageType, names: Sequence[str]) -> bool:
    """Whether some fields of messages contain times, at any depth."""

    def has(descriptor: Any) -> bool:
        if descriptor is None or descriptor.full_name in (TIMESTAMP, DURATION):
            return descriptor is not None
        of_library = descriptor.full_name.startswith("google.protobuf.")
        return not of_library and any(has(field.message_type) for field in descriptor.fields)

    fields = message_type.message_class.DESCRIPTOR.fields
    return any(has(field.message_type) for field in fields if field.name in names)


def _imported(name: str) -> Any:
    module, _, inside = name.partition(":") if ":" in name else name.rpartition(".")
    try:
        return getattr(import_module(module), inside)
    except (ImportError, AttributeError, ValueError) as error:
        raise JobDefinitionError(
            f"'{CLASS.key}' = '{name}' cannot be imported ({error}); write a class that "
            f"protoc generated as 'module:Name', or set '{DESCRIPTORS.key}' and the full "
            "name of the message"
        ) from None


PROTOBUF_FORMATS: dict[str, MessageFormat] = {"protobuf": ProtobufFormat()}
"""Formats by the value of the option ``format``."""


TIMESTAMP, DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
_PARTS = ("seconds", "nanos")
_COLUMNS: dict[str, tuple[tuple[type[LogicalType], ...], str]] = {
    TIMESTAMP: (
        (logical.LocalZonedTimestampType, logical.TimestampType),
        "TIMESTAMP_LTZ, TIMESTAMP (in UTC)",
    ),
    DURATION: ((logical.DayTimeIntervalType,), "INTERVAL DAY TO SECOND"),
}


def columns_for(name: str, kind: LogicalType) -> str | None:
    """Column types for the message type with the given full name, if they differ from ``kind``;
    None if ``kind`` fits."""
    if name not in _COLUMNS:
        return None
    kinds, texts = _COLUMNS[name]
    if isinstance(kind, kinds) or (isinstance(kind, RowType) and kind.names == _PARTS):
        return None
    return f"{texts} or ROW<seconds BIGINT, nanos INT>"
