"""Single values of declared types as text, for the schemas that write rows as CSV and JSON."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import NANOS_PER_SECOND, Instant
from millrace.common.time.nanosecond_datetime import datetime_of_text
from millrace.common.types.composite_types import PrimitiveArrayTypeInfo
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.type_information import BasicTypeInfo, TypeInformation
from millrace.common.types.value_types import (
    BigDecTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from millrace.formats.number_text import (
    decimal_number,
    floating_number,
    whole_number,
    whole_number_of,
)

__all__ = ["BITS", "ScalarText", "is_bytes", "scalar_text", "scalar_type"]

BITS = {"BYTE": 8, "SHORT": 16, "INT": 32, "LONG": 64}
"""Sizes of the whole numbers, by the labels of their types."""


@dataclass(frozen=True, slots=True)
class ScalarText:
    """Functions that read and write the values of a type as text.

    ``read`` raises ValueError or ArithmeticError for text that stands for no such value.
    """

    write: Callable[[Any], str]
    read: Callable[[str], Any]
    is_number: bool = False
    """Whether JSON contains the text without quotes."""


def scalar_text(type_info: TypeInformation[Any]) -> ScalarText:
    """Text conversion of a scalar type.

    Raises:
        JobDefinitionError: the type has no text, for example that of pickled values.
    """
    if isinstance(type_info, BasicTypeInfo) and type_info.label in _BASIC:
        return _BASIC[type_info.label]
    for kind, text in _KINDS:
        if isinstance(type_info, kind):
            return text
    if is_bytes(type_info):
        return _BYTES
    raise JobDefinitionError(
        f"values of type {type_info.name} cannot be written as text; declare a string, a number, "
        "a boolean, a date, a time or bytes, and lists, maps and rows of these"
    )


def scalar_type(kind: TypeInformation[Any] | LogicalType) -> TypeInformation[Any]:
    """Type of values that are written as a single text; ``DataTypes`` of tables are accepted, too.

    Raises:
        JobDefinitionError: the type of tables is made of others, or has no text.

    Example:
        >>> scalar_type(logical.IntType()).name
        'INT'
    """
    if isinstance(kind, TypeInformation):
        return kind
    for logical_type, information in _INFORMATION:
        if isinstance(kind, logical_type):
            return information
    raise JobDefinitionError(
        f"values of type {kind} cannot be written as text; declare a string, a number, a boolean, "
        "a date, a time or bytes"
    )


_INFORMATION: tuple[tuple[Any, TypeInformation[Any]], ...] = (
    (logical.BooleanType, BasicTypeInfo("BOOLEAN")),
    (logical.TinyIntType, BasicTypeInfo("BYTE")),
    (logical.SmallIntType, BasicTypeInfo("SHORT")),
    (logical.IntType, BasicTypeInfo("INT")),
    (logical.BigIntType, BasicTypeInfo("LONG")),
    (logical.FloatType, BasicTypeInfo("FLOAT")),
    (logical.DoubleType, BasicTypeInfo("DOUBLE")),
    (logical.DecimalType, BigDecTypeInfo()),
    ((logical.CharType, logical.VarCharType), BasicTypeInfo("STRING")),
    (logical.DateType, DateTypeInfo()),
    (logical.TimeType, TimeTypeInfo()),
    ((logical.TimestampType, logical.LocalZonedTimestampType), TimestampTypeInfo()),
    (
        (logical.BinaryType, logical.VarBinaryType),
        PrimitiveArrayTypeInfo(BasicTypeInfo("BYTE")),
    ),
)


def is_bytes(type_info: TypeInformation[Any]) -> bool:
    """Whether values of the type are bytes, that is, arrays of the primitive ``byte``."""
    return (
        isinstance(type_info, PrimitiveArrayTypeInfo)
        and isinstance(type_info.element_type, BasicTypeInfo)
        and type_info.element_type.label == "BYTE"
    )


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _whole(value: Any) -> str:
    return str(int(value))


def _float(value: Any) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a number")
    return repr(float(value))


def _date(text: str) -> date:
    return date.fromisoformat(_with_hyphens(text))


def _time(text: str) -> time:
    return time.fromisoformat(_with_colons(text))


def _timestamp(text: str) -> datetime:
    return datetime_of_text(_with_hyphens(text if len(text) == _DAY else _with_colons(text)))


def _with_hyphens(text: str) -> str:
    """The text of a day. Python also takes 20240102 and 2024-W01-2, which Flink does not."""
    if text[4:5] != "-" or text[7:8] != "-":
        raise ValueError(f"{text[:_SHOWN]!r} is not a date such as 2024-01-02")
    return text


def _with_colons(text: str) -> str:
    """The text of a time of day. Python also takes 10, T10 and 1030, which Flink does not."""
    if ":" not in text or text[:1] == "T":
        raise ValueError(f"{text[:_SHOWN]!r} is not a time such as 10:30")
    return text


def _instant(text: str) -> Instant:
    at = _timestamp(text)
    nanosecond = getattr(at, "nanosecond", 0)
    since = (at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = since.days * 86_400 + since.seconds
    return Instant(seconds, since.microseconds * (NANOS_PER_SECOND // 1_000_000) + nanosecond)


def _decimal(value: Any) -> str:
    """All digits of the number; in exponent notation if the digits would fill megabytes."""
    number = Decimal(value)
    return f"{number:f}" if abs(number.adjusted()) < _MOST_DIGITS else str(number)


_MOST_DIGITS = 10_000
_DAY = len("2024-01-02")
_SHOWN = 100
_STRING = ScalarText(str, str)
_WHOLE = ScalarText(_whole, whole_number, is_number=True)


def _whole_of(bits: int) -> ScalarText:
    return ScalarText(_whole, lambda text: whole_number_of(text, bits), is_number=True)


_FLOAT = ScalarText(_float, floating_number, is_number=True)
_BYTES = ScalarText(
    lambda value: base64.b64encode(bytes(value)).decode(),
    lambda text: base64.b64decode(text, validate=True),
)
_BASIC = {
    "STRING": _STRING,
    "CHAR": _STRING,
    "BOOLEAN": ScalarText(lambda value: str(bool(value)).lower(), _boolean, is_number=True),
    **{label: _whole_of(bits) for label, bits in BITS.items()},
    "BIG_INT": _WHOLE,
    **dict.fromkeys(("FLOAT", "DOUBLE"), _FLOAT),
    "BYTES": _BYTES,
}
_KINDS: tuple[tuple[type, ScalarText], ...] = (
    (BigDecTypeInfo, ScalarText(_decimal, decimal_number, is_number=True)),
    (DateTypeInfo, ScalarText(lambda value: value.isoformat(), _date)),
    (TimeTypeInfo, ScalarText(lambda value: value.isoformat(), _time)),
    (TimestampTypeInfo, ScalarText(lambda value: value.isoformat(" "), _timestamp)),
    (
        InstantTypeInfo,
        ScalarText(lambda value: value.to_datetime().isoformat(" "), _instant),
    ),
)
