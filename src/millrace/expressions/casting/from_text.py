"""Casts from text: Flink's ``BinaryStringDataUtil`` and ``DateTimeUtils``."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType

__all__ = ["parse_date", "parse_time", "parse_timestamp", "parser_of"]

_DIGITS = Context(prec=76)
"""More than a decimal has: the default would not do for 38."""
_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
_WHOLE = re.compile(r"[+-]?\d+(\.\d*)?|[+-]?\.\d+")
_FLOAT = re.compile(r"[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?)")
_DATE = re.compile(r"(\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?)?")


def parser_of(kind: LogicalType) -> Callable[[str], Any] | None:
    """Makes a value of a text, in what Arrow takes for the type; ValueError where it cannot."""
    if isinstance(kind, logical.IntegralType):
        return lambda text: _whole(text, kind)
    if isinstance(kind, logical.DecimalType):
        return lambda text: _decimal(text, kind)
    if isinstance(kind, logical.TimestampType):
        return lambda text: parse_timestamp(text, kind.precision)
    return _PARSERS.get(type(kind))


def _boolean(text: str) -> bool:
    lower = text.lower()
    if lower in _TRUE or lower in _FALSE:
        return lower in _TRUE
    raise ValueError("it is none of TRUE, T, YES, Y, 1, FALSE, F, NO, N, 0")


def _whole(text: str, kind: logical.IntegralType) -> int:
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise ValueError("it is no number" if text else "it is empty")
    value = int(text.partition(".")[0] or "0") if text.partition(".")[0] not in "+-" else 0
    if not kind.holds(value):
        raise ValueError(f"it is beyond the range of {kind.NAME}")
    return value


def _decimal(text: str, kind: logical.DecimalType) -> Decimal:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        raise ValueError("it is no number") from None
    if not value.is_finite():
        raise ValueError("it is no number")
    value = value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, _DIGITS)
    if value.copy_abs() >= Decimal(10) ** (kind.precision - kind.scale):
        raise ValueError(f"it is beyond the range of {kind.text()}")
    return value


def _float(text: str) -> float:
    text = text.strip()
    if not _FLOAT.fullmatch(text):
        raise ValueError("it is no number")
    return float(text.rstrip("dDfF") if not text.endswith("ity") else text)


def parse_date(text: str) -> date:
    """The date at the beginning of a text such as ``2020-1-2``, ``2020-1`` or ``2020``; a time
    behind is left out."""
    found = _DATE.fullmatch(text.strip().partition(" ")[0])
    if not found:
        raise ValueError("a date is written yyyy-MM-dd")
    return date(*(int(part or 1) for part in found.groups()))


def parse_time(text: str) -> time:
    """A time of day such as ``12:13`` or ``12:13:14.5``."""
    found = _TIME.fullmatch(text.strip())
    if not found:
        raise ValueError("a time is written HH:mm:ss")
    hour, minute, second, fraction = found.groups()
    micros = int((fraction or "").ljust(6, "0")[:6])
    return time(int(hour), int(minute or 0), int(second or 0), micros)


def parse_timestamp(text: str, precision: int) -> Any:
    """A timestamp such as ``2020-01-02 10:11:12.123``, cut to a precision.

    Returns:
        A datetime; nanoseconds since 1970 where the precision is beyond a datetime's.
    """
    day_text, blank, clock = text.partition(" ")
    if day_text.count("-") != 2 or not _DATE.fullmatch(day_text):
        raise ValueError("a timestamp is written yyyy-MM-dd HH:mm:ss.SSS")
    day, found = parse_date(day_text), _TIME.fullmatch(clock if blank else "00:00:00")
    if not found or found[3] is None:
        raise ValueError("a timestamp is written yyyy-MM-dd HH:mm:ss.SSS")
    whole = datetime.combine(day, parse_time(clock.partition(".")[0] or "0:00:00"))
    digits = (found[4] or "").ljust(9, "0")[:precision].ljust(9, "0")
    if precision <= 6:
        return whole.replace(microsecond=int(digits[:6]))
    seconds = (whole - datetime(1970, 1, 1)).total_seconds()
    return int(seconds) * 10**9 + int(digits)


_PARSERS: dict[type[LogicalType], Callable[[str], Any]] = {
    logical.BooleanType: _boolean,
    logical.FloatType: _float,
    logical.DoubleType: _float,
    logical.DateType: parse_date,
    logical.TimeType: parse_time,
}
