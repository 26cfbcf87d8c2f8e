"""Conversion of table rows to JSON objects, byte for byte as in Flink. Flink docs: "JSON
format"."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from decimal import Context, Decimal
from typing import Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import SerializationSchema
from millrace.common.time.nanosecond_datetime import in_utc, text_of_datetime
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.row import Row
from millrace.expressions.casting.text_of import double_text, float_text
from millrace.formats.json_writing import (
    Write,
    array_writer,
    nullable_writer,
    object_text,
    quoted,
    row_writer,
)

__all__ = ["JsonStyle", "TableJsonSerializationSchema"]

_WHOLE = (logical.TinyIntType, logical.SmallIntType, logical.IntType, logical.BigIntType)
_TEXT = (logical.CharType, logical.VarCharType)
_BYTES = (logical.BinaryType, logical.VarBinaryType)
_EXACT = Context(prec=100)


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """Options for the JSON form of rows.

    Attributes:
        iso_timestamps: a ``T`` between date and time, where SQL has a blank.
        null_keys: treatment of map entries without a key: ``FAIL``, ``DROP`` or ``LITERAL``.
        null_key_literal: the key that they have with ``LITERAL``.
        plain_decimals: digits as declared, ``0.0000001``; otherwise as short as can be, ``1E-7``.
        leaves_nulls_out: fields without a value are not written.
    """

    iso_timestamps: bool = False
    null_keys: str = "FAIL"
    null_key_literal: str = "null"
    plain_decimals: bool = False
    leaves_nulls_out: bool = False


class TableJsonSerializationSchema(SerializationSchema[Row]):
    """Writes rows of a table as JSON objects.

    Args:
        columns: columns of the rows.
        style: options where JSON leaves a choice.

    Raises:
        JobDefinitionError: JSON does not hold a column's type.

    Example:
        >>> columns = RowType.of(("n", logical.DecimalType(10, 2)), ("f", logical.DoubleType()))
        >>> TableJsonSerializationSchema(columns).serialize(Row(Decimal("1.50"), 1e10))
        b'{"n":1.5,"f":1.0E10}'
    """

    def __init__(self, columns: RowType, style: JsonStyle = JsonStyle()) -> None:
        self._columns, self._style = columns, style
        self._write = _Writers(style).of_row(columns)

    def serialize(self, value: Row) -> bytes:
        """A row as the text of a JSON object.

        Raises:
            SerializationError: a value is not of its column's type.
        """
        return self.serialize_batch([value])[0]

    def serialize_batch(self, values: Sequence[Row]) -> list[bytes]:
        write = self._write
        serialized = []
        for value in values:
            try:
                serialized.append(write(value).encode())
            except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
                raise SerializationError(
                    f"{repr(value)[:300]} cannot be written as JSON: {error}"
                ) from error
        return serialized

    def __reduce__(self) -> tuple[Any, ...]:
        return TableJsonSerializationSchema, (self._columns, self._style)


class _Writers:
    def __init__(self, style: JsonStyle) -> None:
        self._style = style

    def of_row(self, kind: RowType) -> Write:
        fields = [self._of(field.type, field.name) for field in kind.fields]
        return row_writer(kind.names, fields, self._style.leaves_nulls_out)

    def _of(self, kind: LogicalType, column: str) -> Write:
        if isinstance(kind, RowType):
            return self.of_row(kind)
        if type(kind) is logical.ArrayType:
            return array_writer(self._of(kind.element_type, column))
        if type(kind) is logical.MapType and isinstance(kind.key_type, _TEXT):
            return self._of_map(nullable_writer(self._of(kind.value_type, column)))
        write = self._of_scalar(kind)
        if write is None:
            raise JobDefinitionError(
                f"column {column} is of type {kind}, which JSON cannot hold; possible are "
                "scalar types and arrays, rows and maps with keys of text"
            )
        return write

    def _of_map(self, item: Write) -> Write:
        def write(entries: Any) -> str:
            # Arrow gives maps as pairs
            pairs = dict(entries).items()
            return object_text(
                [
                    (self._null_key() if key is None else key, item(value))
                    for key, value in pairs
                    if key is not None or self._style.null_keys != "DROP"
                ]
            )

        return write

    def _null_key(self) -> str:
        if self._style.null_keys == "FAIL":
            raise ValueError(
                "a map has an entry without a key; set 'map-null-key.mode' of the format to "
                "'DROP' or 'LITERAL'"
            )
        return self._style.null_key_literal

    def _of_scalar(self, kind: LogicalType) -> Write | None:
        if isinstance(kind, _WHOLE):
            return lambda value: str(int(value))
        if isinstance(kind, logical.DecimalType):
            return self._decimal_writer(kind.scale)
        if isinstance(kind, logical.TimestampType):
            return self._timestamp
        if isinstance(kind, logical.LocalZonedTimestampType):
            return self._point_in_time
        return next((write for types, write in _PLAIN if isinstance(kind, types)), None)

    def _decimal_writer(self, scale: int) -> Write:
        if self._style.plain_decimals:
            return lambda value: f"{Decimal(value):.{scale}f}"
        return lambda value: str(_EXACT.normalize(Decimal(value)))

    def _timestamp(self, value: datetime) -> str:
        text = text_of_datetime(value, "T" if self._style.iso_timestamps else " ")
        return f'"{_shortened(text)}"'

    def _point_in_time(self, value: datetime) -> str:
        at = in_utc(value) if value.tzinfo else value
        return f'{self._timestamp(at)[:-1]}Z"'


def _shortened(text: str) -> str:
    """Text of a time without trailing zeros in its fraction.

    >>> _shortened("01:02:03.100000")
    '01:02:03.1'
    """
    return text.rstrip("0") if "." in text else text


def _time(value: time) -> str:
    return f'"{_shortened(value.isoformat())}"'


def _number(text: Callable[[float], str]) -> Write:
    return lambda value: text(value) if math.isfinite(value) else quoted(text(value))


_PLAIN: tuple[tuple[Any, Write], ...] = (
    (_TEXT, quoted),
    (logical.BooleanType, lambda value: "true" if value else "false"),
    (logical.FloatType, _number(float_text)),
    (logical.DoubleType, _number(double_text)),
    (_BYTES, lambda value: f'"{base64.b64encode(bytes(value)).decode()}"'),
    (logical.DateType, lambda value: f'"{value.isoformat()}"'),
    (logical.TimeType, _time),
)
