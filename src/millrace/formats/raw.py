"""Messages that consist of a single value. Flink docs: "Raw format"."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.row import Row, named_row
from millrace.common.types.type_information import BasicTypeInfo, TypeInformation
from millrace.formats.charset import decode_text
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.scalar_text import is_bytes

__all__ = [
    "RawFormatDeserializationSchema",
    "RawFormatSerializationSchema",
    "RawValueSerializationSchema",
]

_CODES = {
    "BOOLEAN": ("?", "bool"),
    "BYTE": ("b", "int8"),
    "SHORT": ("h", "int16"),
    "INT": ("i", "int32"),
    "LONG": ("q", "int64"),
    "FLOAT": ("f", "float32"),
    "DOUBLE": ("d", "float64"),
}
"""Letter for `struct` and name in NumPy of each type."""
_ENDIANNESS = {"big-endian": ">", "little-endian": "<"}


class _RawField:
    """The single field of the rows, and the encoding of its value.

    Args:
        type_info: type of rows with one field: text, bytes, a number or a boolean.
        charset: charset of text.
        endianness: ``big-endian`` or ``little-endian``, for numbers.

    Raises:
        JobDefinitionError: the type is another, or the charset or the endianness is unknown.
    """

    def __init__(self, type_info: TypeInformation[Any], charset: str, endianness: str) -> None:
        if not isinstance(type_info, RowTypeInfo) or len(type_info.types) != 1:
            raise JobDefinitionError(
                "the raw format needs the type of rows with one field, such as "
                f"Types.ROW_NAMED(['log'], [Types.STRING()]); got {type_info!r}"
            )
        if endianness not in _ENDIANNESS:
            raise JobDefinitionError(
                f"endianness is big-endian or little-endian, not {endianness!r}"
            )
        try:
            "".encode(charset)
        except LookupError:
            raise JobDefinitionError(f"there is no charset {charset!r}") from None
        self.given = (type_info, charset, endianness)
        self.names = tuple(type_info.get_field_names())
        self.charset = charset
        kind = type_info.types[0]
        label = kind.label if isinstance(kind, BasicTypeInfo) else ""
        self.is_text = label in ("STRING", "CHAR")
        self.is_bytes = is_bytes(kind) or label == "BYTES"
        self.code: struct.Struct | None = None
        self.dtype = ""
        if label in _CODES:
            order = _ENDIANNESS[endianness]
            self.code = struct.Struct(order + _CODES[label][0])
            self.dtype = _CODES[label][1]
            self.order = order
        elif not self.is_text and not self.is_bytes:
            raise JobDefinitionError(
                f"the raw format has no {kind.name}: its field is text, bytes, a number or a "
                "boolean"
            )


class _OfRawField:
    """Base of schemas for rows with a single field, made from the row type and the encoding of the
    field.
    """

    def __init__(
        self,
        type_info: TypeInformation[Any],
        charset: str = "UTF-8",
        endianness: str = "big-endian",
    ) -> None:
        self._field = _RawField(type_info, charset, endianness)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._field.given


class RawFormatDeserializationSchema(_OfRawField, DeserializationSchema[Row], ResultTypeQueryable):
    """Reads each message as a row with a single field, its value.

    Args:
        type_info: type of rows with one field: text, bytes, a number or a boolean.
        charset: charset of text.
        endianness: ``big-endian`` or ``little-endian``, for numbers.

    Example:
        >>> from millrace.common import Types
        >>> row_type = Types.ROW_NAMED(["n"], [Types.INT()])
        >>> RawFormatDeserializationSchema(row_type).deserialize(b"\\0\\0\\1\\2")
        Row(n=258)

    Raises:
        JobDefinitionError: the type is another, or the charset or the endianness is unknown.
    """

    def deserialize(self, message: bytes) -> Row:
        """Row of a message.

        Raises:
            MalformedRecordError: the message is no such value.
        """
        return named_row(self._field.names, [self._value(message)])

    def _value(self, message: bytes) -> Any:
        field = self._field
        if field.is_text:
            return decode_text(message, field.charset)
        if field.code is None:
            return bytes(message)
        if len(message) != field.code.size:
            raise MalformedRecordError(
                f"a message of {len(message)} bytes, where a number of {field.code.size} is "
                "expected",
                bytes(message),
            )
        return field.code.unpack(message)[0]

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        """Rows of the messages, as one column."""
        import pyarrow as pa

        field = self._field
        if field.is_bytes:
            column = pa.array(messages, pa.binary())
        elif field.is_text:
            column = pa.array([decode_text(message, field.charset) for message in messages])
        elif field.code is not None and set(map(len, messages)) == {field.code.size}:
            column = pa.array(self._numbers(b"".join(messages)))
        else:
            return RowBatch(list(map(self.deserialize, messages)))
        return ColumnBatch(pa.RecordBatch.from_arrays([column], list(field.names)), form="row")

    def _numbers(self, data: bytes) -> Any:
        import numpy as np

        if self._field.dtype == "bool":
            return np.frombuffer(data, np.uint8) != 0
        stored = np.dtype(self._field.order + np.dtype(self._field.dtype).str[1:])
        return np.frombuffer(data, stored).astype(self._field.dtype)

    def get_produced_type(self) -> TypeInformation[Any]:
        """The type of the rows."""
        return self._field.given[0]


class RawFormatSerializationSchema(_OfRawField, SerializationSchema[Any]):
    """Writes the only field of each row as the message.

    Args:
        type_info: type of rows with one field: text, bytes, a number or a boolean.
        charset: charset of text.
        endianness: ``big-endian`` or ``little-endian``, for numbers.

    Raises:
        JobDefinitionError: the type is another, or the charset or the endianness is unknown.
    """

    def serialize(self, value: Any) -> bytes:
        """The field of a row as the bytes of a message.

        Raises:
            SerializationError: the row has other fields, or the value is not of the type.
        """
        field = self._field
        try:
            [item] = value
            if field.is_text:
                return str.encode(item, field.charset)
            return bytes(memoryview(item)) if field.code is None else field.code.pack(item)
        except (TypeError, ValueError, struct.error) as error:
            raise SerializationError(
                f"{repr(value)[:300]} is not one value of the raw format's type "
                f"{self._field.given[0].name}: {error}"
            ) from None


class RawValueSerializationSchema(RawFormatSerializationSchema):
    """Serializer of a single value, which writes NULL as an empty message."""

    def serialize(self, value: Any) -> bytes:
        return b"" if value[0] is None else super().serialize(value)
