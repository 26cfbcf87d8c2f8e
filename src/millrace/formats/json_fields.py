"""Msgspec types for the fields of JSON objects, with the same values as
`JsonRowDeserializationSchema` reads one by one.

Where msgspec refuses a value that the schema takes, such as a number in quotes, messages are read
one by one. What it reads otherwise (dates and times in other notations, base64) it reads as text
here, which the schema's own functions then convert.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from typing import Annotated, Any

import msgspec

from millrace.common.types.composite_types import ListTypeInfo, MapTypeInfo, RowTypeInfo
from millrace.common.types.row import named_row
from millrace.common.types.type_information import BasicTypeInfo, TypeInformation
from millrace.common.types.value_types import (
    BigDecTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from millrace.formats.scalar_text import is_bytes, scalar_text

__all__ = ["TIMES", "FieldReading", "column_reader", "readings_of", "struct_of", "without_utc"]

Convert = Callable[[Any], Any]

TIMES = (DateTypeInfo, TimeTypeInfo, TimestampTypeInfo, InstantTypeInfo)
"""Types whose JSON texts are times, with or without a Z at the end."""


def _whole(bits: int) -> Any:
    """Msgspec type of integers with this number of bits: messages with other numbers are read
    one by one."""
    return Annotated[int, msgspec.Meta(ge=-(2 ** (bits - 1)), le=2 ** (bits - 1) - 1)]


_BASIC: dict[str, Any] = {
    "BYTE": _whole(8),
    "SHORT": _whole(16),
    "INT": _whole(32),
    "LONG": _whole(64),
    "BIG_INT": int,
    **dict.fromkeys(("FLOAT", "DOUBLE"), float),
    "BOOLEAN": bool,
    "STRING": str,
}
_EXACT = ("BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "DOUBLE", "STRING")


def _always(values: Sequence[Any]) -> bool:
    return True


def _never(values: Sequence[Any]) -> bool:
    return False


def _without_zone(values: Sequence[Any]) -> bool:
    """Whether a column has no place for a part of the times: a zone, or nanoseconds."""
    return all(
        value is None or (value.tzinfo is None and not getattr(value, "nanosecond", 0))
        for value in values
    )


@dataclass(frozen=True, slots=True)
class FieldReading:
    """Rules for the reading of one field of JSON objects."""

    decoded: Any
    """Type that msgspec decodes the field to."""
    convert: Convert | None = None
    """Conversion of the decoded value, unless it is null; None if no conversion is needed."""
    is_exact: Callable[[Sequence[Any]], bool] = _never
    """Whether a column of the field's type returns exactly these values."""
    convert_column: Callable[[list[Any]], list[Any]] | None = None
    """Conversion of all values of a column, nulls included, if that is faster than ``convert`` for
    each value."""

    def converted(self, values: list[Any]) -> list[Any]:
        """Values for the field's column, converted from decoded JSON values."""
        if self.convert_column is not None:
            return self.convert_column(values)
        convert = self.convert
        if convert is None:
            return values
        return [None if value is None else convert(value) for value in values]


def without_utc(text: str) -> str:
    """Text of a time without the UTC offset that Flink appends.

    >>> without_utc("2026-01-02 03:04:05Z")
    '2026-01-02 03:04:05'
    """
    return text.removesuffix("Z") if text[:1].isdigit() and ":" in text else text


def readings_of(row_type: RowTypeInfo, strict: bool) -> list[FieldReading] | None:
    """The reading of each field of a row type; None if any field has no reading."""
    readings = [_reading(kind, strict) for kind in row_type.types]
    known = [reading for reading in readings if reading is not None]
    return known if len(known) == len(readings) else None


def struct_of(names: Sequence[str], fields: Sequence[FieldReading], strict: bool) -> type:
    """Struct type for an object, with the attributes f0, f1 and so on. The garbage collector does
    not track its instances, because they are never part of a cycle.
    """
    attributes = [f"f{index}" for index in range(len(names))]
    optional = [_optional(field.decoded) for field in fields]
    members: list[Any] = (
        list(zip(attributes, optional, strict=True))
        if strict
        else [(name, kind, None) for name, kind in zip(attributes, optional, strict=True)]
    )
    renamed = dict(zip(attributes, names, strict=True))
    return msgspec.defstruct("Object", members, rename=renamed, gc=False)


def column_reader(index: int) -> Callable[[Sequence[Any]], list[Any]]:
    """Function that reads one attribute of many structs of the same type. The attribute is fixed in
    the function's code, so that Python specialises the code for the type, which halves the time.

    >>> pair = struct_of(["word", "n"], [FieldReading(str), FieldReading(int)], strict=True)
    >>> column_reader(1)([pair("to", 2), pair("be", 3)])
    [2, 3]
    """
    made: Callable[[Sequence[Any]], list[Any]] = eval(
        f"lambda rows: [row.f{index:d} for row in rows]"
    )
    return made


def _reading(kind: TypeInformation[Any], strict: bool) -> FieldReading | None:
    if isinstance(kind, BasicTypeInfo) and kind.label in _BASIC:
        is_exact = _always if kind.label in _EXACT else _never
        return FieldReading(_BASIC[kind.label], None, is_exact)
    if isinstance(kind, BigDecTypeInfo):
        return FieldReading(msgspec.Raw, _decimal, convert_column=_decimals)
    if isinstance(kind, TIMES):
        return _time_reading(kind)
    if is_bytes(kind):
        return FieldReading(str, scalar_text(kind).read, _always)
    if isinstance(kind, ListTypeInfo):
        return _list_reading(kind, strict)
    if isinstance(kind, MapTypeInfo):
        return _map_reading(kind, strict)
    return _row_reading(kind, strict) if isinstance(kind, RowTypeInfo) else None


_IN_DECIMALS = b'+-.0123456789Ee"\n'
"""Characters of decimals, with or without quotes, that Python and Java read alike, and the ends of
lines between them."""
_NULL = msgspec.Raw(b"null")


def _decimal(value: msgspec.Raw) -> Decimal | None:
    """The decimal of a raw number, text or null."""
    decimal: Decimal | None = _decimals([value])[0]
    return decimal


def _decimals(values: list[Any]) -> list[Any]:
    """The decimals of a column of raw values, which has no Python frame for each of them.

    Raises:
        ValueError: there are other characters, such as the blanks and underscores that Python's
            decimals may have and Java's may not: the messages are read one by one.
    """
    raw = b"\n".join([_NULL if value is None else value for value in values])
    if raw.replace(b"null", b"").translate(None, _IN_DECIMALS):
        raise ValueError("a text may not be a number")
    lines = raw.decode()
    if "n" not in lines:
        lines = lines.replace('"', "")
    texts = lines.split("\n") if values else []
    if len(texts) != len(values):
        raise ValueError("a text has more than one line")
    if "n" not in lines:
        return list(map(Decimal, texts))
    return [None if text == "null" else Decimal(text.replace('"', "")) for text in texts]


def _time_reading(kind: TypeInformation[Any]) -> FieldReading:
    read = scalar_text(kind).read
    exact: dict[type, Callable[[Sequence[Any]], bool]] = {
        DateTypeInfo: _always,
        TimeTypeInfo: _without_zone,
        TimestampTypeInfo: _without_zone,
    }
    return FieldReading(str, lambda text: read(without_utc(text)), exact.get(type(kind), _never))


def _optional(decoded: Any) -> Any:
    """Msgspec type of a value or null; a raw value may be null anyway."""
    return decoded if decoded is msgspec.Raw else decoded | None


def _list_reading(kind: ListTypeInfo, strict: bool) -> FieldReading | None:
    element = _reading(kind.element_type, strict)
    if element is None:
        return None
    decoded = list[_optional(element.decoded)]  # type: ignore[misc, valid-type]
    convert = element.convert
    if convert is None:
        return FieldReading(decoded, None, element.is_exact)
    is_exact = _always if element.is_exact is _always else _never
    return FieldReading(
        decoded,
        lambda values: [None if value is None else convert(value) for value in values],
        is_exact,
    )


def _map_reading(kind: MapTypeInfo, strict: bool) -> FieldReading | None:
    value = _reading(kind.value_type, strict)
    key = kind.key_type
    if value is None or not (isinstance(key, BasicTypeInfo) and key.label == "STRING"):
        return None
    decoded = dict[str, _optional(value.decoded)]  # type: ignore[misc, valid-type]
    convert = value.convert
    if convert is None:
        return FieldReading(decoded)
    return FieldReading(
        decoded,
        lambda entries: {k: None if v is None else convert(v) for k, v in entries.items()},
    )


def _row_reading(kind: RowTypeInfo, strict: bool) -> FieldReading | None:
    fields = readings_of(kind, strict)
    if not fields:
        return None
    names = tuple(kind.get_field_names())
    parts = [(attrgetter(f"f{index}"), field.convert) for index, field in enumerate(fields)]

    def convert(decoded: Any) -> Any:
        return named_row(names, [_part(get(decoded), of_part) for get, of_part in parts])

    return FieldReading(struct_of(names, fields, strict), convert)


def _part(value: Any, convert: Convert | None) -> Any:
    return value if convert is None or value is None else convert(value)
