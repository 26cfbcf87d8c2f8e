"""Messages of Protobuf as rows. Flink docs: "Protobuf Format"."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from millrace.common.config.config_options import ConfigOptions
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import Row
from millrace.formats.protobuf import (
    ProtobufRowDeserializationSchema,
    ProtobufRowSerializationSchema,
)
from millrace.formats.protobuf.message_type import MessageType
from millrace.table.formats.message_format import MessageFormat, Read

__all__ = ["PROTOBUF_FORMATS"]

CLASS = ConfigOptions.key("protobuf.message-class-name").string_type().no_default_value()
DESCRIPTORS = ConfigOptions.key("protobuf.descriptor-set").string_type().no_default_value()
IGNORES = ConfigOptions.key("protobuf.ignore-parse-errors").boolean_type().default_value(False)
_NOT_IN_TABLES = ("google.protobuf.Timestamp", "google.protobuf.Duration")


class ProtobufFormat(MessageFormat):
    """Fields by the columns' names; those that are no columns are left out."""

    options = (CLASS, DESCRIPTORS, IGNORES)
    ignores = IGNORES
    text = False

    def deserializer(
        self, physical: RowType, wanted: Sequence[str], read: Read
    ) -> DeserializationSchema[Any]:
        return ProtobufRowDeserializationSchema(_message_type(physical, read))

    def serializer(self, columns: RowType, read: Read) -> SerializationSchema[Any]:
        written = ProtobufRowSerializationSchema(_message_type(columns, read))
        return _NamedRows(columns.names, written)


def _message_type(columns: RowType, read: Read) -> MessageType:
    """The type of messages.

    Raises:
        JobDefinitionError: it is not there, or lacks a field of a column's name.
    """
    name, descriptors = read(CLASS), read(DESCRIPTORS)
    if name is None:
        raise JobDefinitionError(f"'format' = 'protobuf' needs the option '{CLASS.key}'")
    if descriptors is not None:
        found = MessageType.of_descriptor_set(descriptors, name)
    else:
        found = MessageType.of_class(_imported(name))
    fields = {field.name: field for field in found.message_class.DESCRIPTOR.fields}
    for column in columns.names:
        if column not in fields:
            raise JobDefinitionError(
                f"the message type {found.name} has no field {column!r} for the column of that "
                f"name; there are {', '.join(fields)}"
            )
        of_message = fields[column].message_type
        if of_message is not None and of_message.full_name in _NOT_IN_TABLES:
            raise JobDefinitionError(
                f"column {column}: {of_message.full_name} is not there for tables; leave the "
                "column out, or read the topic with the DataStream API"
            )
    return found


def _imported(name: str) -> Any:
    module, _, inside = name.partition(":") if ":" in name else name.rpartition(".")
    try:
        return getattr(import_module(module), inside)
    except (ImportError, AttributeError, ValueError) as error:
        raise JobDefinitionError(
            f"'{CLASS.key}' = '{name}' is not there ({error}); write a class that protoc generated "
            f"as 'module:Name', or give '{DESCRIPTORS.key}' and the full name of the message"
        ) from None


class _NamedRows(SerializationSchema[Row]):
    """Gives the rows of a table their columns' names."""

    def __init__(self, names: Sequence[str], inner: SerializationSchema[Any]) -> None:
        self._names, self._inner = tuple(names), inner

    def serialize(self, value: Row) -> bytes:
        return self.serialize_batch([value])[0]

    def serialize_batch(self, values: Sequence[Row]) -> list[bytes]:
        named = [dict(zip(self._names, value, strict=True)) for value in values]
        return list(self._inner.serialize_batch(named))


PROTOBUF_FORMATS: dict[str, MessageFormat] = {"protobuf": ProtobufFormat()}
"""By the value of the option ``format``."""
