"""Casts to text. Flink: ``CharVarCharTrimPadCastRule`` and similar rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.bitmap_values import bitmap_text
from millrace.expressions.columns import Datum, per_value
from millrace.expressions.parameters import CHARACTERS

__all__ = ["double_text", "float_text", "text_of", "trimmed_or_padded"]


def text_of(kind: LogicalType, zone: str) -> Callable[[Datum], Datum]:
    """Caster from a type to text, which shows points in time in the given zone."""
    if isinstance(kind, (*CHARACTERS, logical.NullType)):
        return lambda datum: datum.cast(pa.string())
    if isinstance(kind, logical.BooleanType):
        return _boolean
    if isinstance(kind, (logical.IntegralType, logical.DateType)):
        return lambda datum: datum.cast(pa.string())
    if isinstance(kind, logical.TimestampType):
        return lambda datum: _timestamp(datum, kind.precision)
    if isinstance(kind, logical.LocalZonedTimestampType):
        return lambda datum: _timestamp(_wall(datum, zone), kind.precision)
    if isinstance(kind, (logical.BinaryType, logical.VarBinaryType)):
        return lambda datum: per_value(
            lambda raw: raw.decode("utf-8", "replace"), pa.string(), datum
        )
    render = value_text(kind, zone)
    return lambda datum: per_value(render, pa.string(), datum)


def _boolean(datum: Datum) -> Datum:
    return pc.if_else(datum, pa.scalar("TRUE"), pa.scalar("FALSE"))


def _wall(datum: Datum, zone: str) -> Datum:
    if zone == "UTC":
        return datum.cast(pa.timestamp(datum.type.unit))
    return pc.local_timestamp(datum.cast(pa.timestamp(datum.type.unit, zone)))


def _timestamp(datum: Datum, precision: int) -> Datum:
    """Texts of timestamps, with as many digits as the precision has, or more if they are not
    zero, as in Flink."""
    text = datum.cast(pa.string())
    if precision % 3 == 0:
        return text
    digits = (precision + 2) // 3 * 3
    pattern = f"0{{1,{digits - precision}}}$"
    text = pc.replace_substring_regex(text, pattern, "")
    return pc.replace_substring_regex(text, r"\.$", "")


def value_text(kind: LogicalType, zone: str) -> Callable[[Any], str]:
    """Function that converts one Python value of a type to text."""
    simple = _RENDER.get(type(kind))
    if simple is not None:
        return simple
    if isinstance(kind, (logical.TimestampType, logical.LocalZonedTimestampType)):
        return lambda value: _one_timestamp(value, kind, zone)
    if isinstance(kind, logical.TimeType):
        return lambda value: _time(value, kind.precision)
    if isinstance(kind, (logical.MapType, logical.MultisetType)):
        return _map(kind, zone)
    if isinstance(kind, logical.ArrayType):
        element = value_text(kind.element_type, zone)
        return lambda values: "[" + ", ".join(map(_or_null(element), values)) + "]"
    if isinstance(kind, logical.RowType):
        fields = [_or_null(value_text(field.type, zone)) for field in kind.fields]
        return lambda row: _row(row, fields)
    return str


def _or_null(render: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: "NULL" if value is None else render(value)


def _row(row: Any, fields: list[Callable[[Any], str]]) -> str:
    pairs = zip(fields, row.values(), strict=True)
    return "(" + ", ".join(render(value) for render, value in pairs) + ")"


def _map(kind: LogicalType, zone: str) -> Callable[[Any], str]:
    multiset = isinstance(kind, logical.MultisetType)
    value_kind = logical.IntType() if multiset else kind.children()[1]
    key = _or_null(value_text(kind.children()[0], zone))
    value = _or_null(value_text(value_kind, zone))
    return lambda pairs: "{" + ", ".join(f"{key(k)}={value(v)}" for k, v in pairs) + "}"


def double_text(value: float) -> str:
    """Text of a double, as Java writes it.

    >>> double_text(1e10), double_text(0.001), double_text(100.0)
    ('1.0E10', '0.001', '100.0')
    """
    return _java(value, repr(value))


def float_text(value: float) -> str:
    """Text of a 4-byte float, as Java writes it.

    >>> float_text(6252143.0), float_text(20.1)
    ('6252143.0', '20.1')
    """
    return _java(value, str(np.float32(value)))


def _java(value: float, shortest: str) -> str:
    if math.isnan(value):
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return shortest[: -len(shortest.lstrip("-"))] + "0.0"
    if 1e-3 <= abs(value) < 1e7:
        text = shortest if "e" not in shortest else format(Decimal(shortest), "f")
        return text if "." in text else f"{text}.0"
    sign, digits, exponent = Decimal(shortest).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) - 1 + int(exponent)
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"


def _time(value: time, precision: int) -> str:
    """Text of a time of day; if its type has fractional digits, at least one is shown, as in
    Flink."""
    digits = f"{value.microsecond:06d}"[:precision].rstrip("0") or "0"
    return value.isoformat("seconds") + (f".{digits}" if precision else "")


def _one_timestamp(value: Any, kind: Any, zone: str) -> str:
    if isinstance(value, int):
        value, nanos = divmod(value, 10**9)
        value = datetime(1970, 1, 1) + timedelta(seconds=value)
        if isinstance(kind, logical.LocalZonedTimestampType):
            value = value.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        digits = f"{nanos:09d}"
    else:
        if value.tzinfo is not None:
            value = value.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        digits = f"{value.microsecond:06d}"
    kept = digits.rstrip("0")
    kept = digits[: max(len(kept), kind.precision)]
    seconds: str = value.isoformat(sep=" ", timespec="seconds")
    return f"{seconds}.{kept}" if kept else seconds


def _months(value: int) -> str:
    years, months = divmod(abs(value), 12)
    return f"{'-' if value < 0 else '+'}{years}-{months:02d}"


def _day_time(value: timedelta) -> str:
    millis = abs(value) // timedelta(milliseconds=1)
    rest, millis = divmod(millis, 1000)
    rest, seconds = divmod(rest, 60)
    rest, minutes = divmod(rest, 60)
    days, hours = divmod(rest, 24)
    sign = "-" if value < timedelta(0) else "+"
    return f"{sign}{days} {hours:02d}:{minutes:02d}:{seconds:02d}.{millis:03d}"


_RENDER: dict[type[LogicalType], Callable[[Any], str]] = {
    logical.BooleanType: lambda value: "TRUE" if value else "FALSE",
    logical.FloatType: float_text,
    logical.DoubleType: double_text,
    logical.DecimalType: lambda value: format(value, "f"),
    logical.DateType: date.isoformat,
    logical.YearMonthIntervalType: _months,
    logical.DayTimeIntervalType: _day_time,
    logical.BinaryType: lambda raw: raw.decode("utf-8", "replace"),
    logical.VarBinaryType: lambda raw: raw.decode("utf-8", "replace"),
    logical.BitmapType: bitmap_text,
}


def trimmed_or_padded(datum: Datum, target: LogicalType, fits: int | None) -> Datum:
    """Texts truncated to the target's length, and padded with blanks for CHAR.

    Args:
        datum: texts.
        target: CHAR or VARCHAR.
        fits: length of the longest possible text; None if it is unknown.
    """
    length = target.length  # type: ignore[attr-defined]
    if length < logical.MAX_LENGTH and (fits is None or fits > length):
        datum = pc.utf8_slice_codeunits(datum, 0, length)
    if isinstance(target, logical.CharType):
        datum = pc.utf8_rpad(datum, length, " ")
    return datum
