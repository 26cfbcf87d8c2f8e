"""Conversion of rows to Protobuf messages and back. Flink docs: "Protobuf format"."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Self

from millrace.common.errors import SerializationError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.row import Row
from millrace.common.types.type_information import TypeInformation
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.protobuf.message_type import MessageType
from millrace.formats.protobuf.message_values import (
    getter_of,
    row_reader,
    row_type_of,
    row_writer,
)

__all__ = ["MessageEncoder", "ProtobufRowDeserializationSchema", "ProtobufRowSerializationSchema"]

_IN_COLUMNS = (
    logical.BooleanType,
    logical.IntType,
    logical.BigIntType,
    logical.FloatType,
    logical.DoubleType,
    logical.VarCharType,
    logical.VarBinaryType,
)
"""Types whose values a column returns unchanged."""


class _OfMessageType:
    """Base of schemas that are made from a message type, by class or descriptor set."""

    def __init__(self, message_type: MessageType) -> None:
        self._message_type = message_type

    @classmethod
    def for_class(cls, message_class: Any) -> Self:
        """Schema for messages of a class that ``protoc`` generated; workers do not need its module.

        Raises:
            JobDefinitionError: the class is not such a class, or its type contains itself.
        """
        return cls(MessageType.of_class(message_class))

    @classmethod
    def for_descriptor_set(
        cls, descriptor_set: bytes | str | os.PathLike[str], message_name: str
    ) -> Self:
        """Schema for messages of a type in a descriptor set.

        Args:
            descriptor_set: its bytes, or the file that ``protoc --include_imports
                --descriptor_set_out`` wrote.
            message_name: the full name of the type, such as ``shop.Order``.

        Raises:
            JobDefinitionError: the descriptor set lacks the type, or the type contains itself.
        """
        return cls(MessageType.of_descriptor_set(descriptor_set, message_name))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._message_type,)


class ProtobufRowDeserializationSchema(
    _OfMessageType, DeserializationSchema[Row], ResultTypeQueryable
):
    """Reads messages of a type as rows. Batches of messages are read as columns if no field is a
    message, a map or a uint64. Made by `for_class` or `for_descriptor_set`.

    Example:
        >>> from google.protobuf.wrappers_pb2 import StringValue
        >>> schema = ProtobufRowDeserializationSchema.for_class(StringValue)
        >>> schema.deserialize(StringValue(value="mill").SerializeToString())
        Row(value='mill')
    """

    def __init__(self, message_type: MessageType, defaults: bool = False) -> None:
        super().__init__(message_type)
        self._defaults = defaults
        self._class = message_type.message_class
        descriptor = self._class.DESCRIPTOR
        self._row_type = row_type_of(descriptor)
        self._row = row_reader(descriptor, defaults)
        self._getters = [getter_of(field, defaults) for field in descriptor.fields]
        self._columnar = bool(self._getters) and all(map(_has_column, self._row_type.types))

    def with_default_values(self) -> Self:
        """The same schema, but fields that are not set get defaults instead of None: in proto2 the
        declared default, and for a message the row of its defaults. Flink: ``read-default-values``.
        """
        return type(self)(self._message_type, True)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._message_type, self._defaults)

    def deserialize(self, message: bytes) -> Row:
        """Row of a message.

        Raises:
            MalformedRecordError: the message is not of the type.
        """
        try:
            row: Row = self._row(self._class.FromString(message))
        except Exception as error:  # DecodeError, or a value that Python does not have
            raise MalformedRecordError(
                f"not a message of the type {self._message_type.name}: {error}", bytes(message)
            ) from None
        return row

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        read = list(map(self._class.FromString, messages))
        if not self._columnar:
            return RowBatch(list(map(self._row, read)))
        import pyarrow as pa

        pairs = zip(self._getters, self._row_type.types, strict=True)
        columns = [
            pa.array(list(map(get, read)), arrow_type(kind.logical_type)) for get, kind in pairs
        ]
        names = self._row_type.get_field_names()
        return ColumnBatch(pa.RecordBatch.from_arrays(columns, names), form="row")

    def get_produced_type(self) -> TypeInformation[Any]:
        """The type of the rows."""
        return self._row_type


class MessageEncoder:
    """Writes rows as messages of a type.

    Args:
        message_type: the type.
        null_text: see `ProtobufRowSerializationSchema.with_null_text`; None if None is refused.
    """

    def __init__(self, message_type: MessageType, null_text: str | None = None) -> None:
        self._name = message_type.name
        self._class = message_type.message_class
        self._fill: Callable[[Any, Any], None] = row_writer(self._class.DESCRIPTOR, null_text)

    def write(self, record: Any) -> bytes:
        """The bytes of a row's message.

        Raises:
            SerializationError: the record does not fit the type.
        """
        message = self._class()
        try:
            self._fill(message, record)
            data: bytes = message.SerializeToString()
        except Exception as error:  # the library raises many kinds
            raise SerializationError(
                f"{repr(record)[:300]} is not a message of the type {self._name}: {error}"
            ) from None
        return data


class ProtobufRowSerializationSchema(_OfMessageType, SerializationSchema[Any]):
    """Writes rows (or tuples, dicts, dataclass instances) as messages of a type; None leaves a
    field out. Made by `for_class` or `for_descriptor_set`.

    Example:
        >>> from google.protobuf.wrappers_pb2 import Int32Value
        >>> ProtobufRowSerializationSchema.for_class(Int32Value).serialize(Row(value=7))
        b'\\x08\\x07'
    """

    def __init__(self, message_type: MessageType, null_text: str | None = None) -> None:
        super().__init__(message_type)
        self._null_text = null_text
        self._encoder = MessageEncoder(message_type, null_text)

    def with_null_text(self, text: str) -> Self:
        """The same schema, but it accepts None in lists and maps. In lists and maps of texts, None
        is written as this text; in those of other types, as the default value. Without this option
        such a None is refused, because Protobuf does not support it. Flink:
        ``write-null-string-literal``."""
        return type(self)(self._message_type, text)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._message_type, self._null_text)

    def serialize(self, value: Any) -> bytes:
        """A row as the bytes of a Protobuf message.

        Raises:
            SerializationError: the row does not fit the type.
        """
        return self._encoder.write(value)


def _has_column(kind: TypeInformation[Any]) -> bool:
    if isinstance(kind, RowTypeInfo):
        return False
    logical_type = kind.logical_type
    if isinstance(logical_type, logical.ArrayType):
        logical_type = logical_type.element_type
    return isinstance(logical_type, _IN_COLUMNS)
