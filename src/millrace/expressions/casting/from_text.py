"""Casts from text: Flink's ``BinaryStringDataUtil`` and ``DateTimeUtils``."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.fitted_decimal import rounded_decimal
from millrace.common.types.logical.logical_type import LogicalType

__all__ = ["nanoseconds", "parse_date", "parse_time", "parse_timestamp", "parser_of"]

_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
_WHOLE = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?|[+-]?\.[0-9]+")
_EXACT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_FLOAT = re.compile(rf"[+-]?(NaN|Infinity)|{_EXACT.pattern}[dDfF]?")
_DATE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_TIME = re.compile(r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{0,9}))?)?)?")
_LONGEST_WHOLE = 19
"""Digits of the greatest BIGINT."""
_FIRST_NANOS, _LAST_NANOS = -(2**63) + 1, 2**63 - 1


def parser_of(kind: LogicalType) -> Callable[[str], Any] | None:
    """Function that parses texts to values of a type, in the form that Arrow accepts; it raises
    ValueError for invalid texts.
    """
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
    raise ValueError("it is not one of TRUE, T, YES, Y, 1, FALSE, F, NO, N, 0")


def _whole(text: str, kind: logical.IntegralType) -> int:
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise ValueError("it is not a number" if text else "it is empty")
    digits = text.lstrip("+-").partition(".")[0].lstrip("0") or "0"
    value = 0 if len(digits) > _LONGEST_WHOLE else int(digits) * (-1 if text[0] == "-" else 1)
    if len(digits) > _LONGEST_WHOLE or not kind.holds(value):
        raise ValueError(f"it is beyond the range of {kind.NAME}")
    return value


def _decimal(text: str, kind: logical.DecimalType) -> Decimal:
    text = text.strip()
    if not _EXACT.fullmatch(text):
        raise ValueError("it is not a number" if text else "it is empty")
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError("its exponent is beyond that of any number") from None
    made = rounded_decimal(value, kind.precision, kind.scale)
    if made is None:
        raise ValueError(f"it is beyond the range of {kind.text()}")
    return made


def _float(text: str) -> float:
    text = text.strip()
    if not _FLOAT.fullmatch(text):
        raise ValueError("it is not a number")
    return float(text.rstrip("dDfF") if not text.endswith("ity") else text)


def parse_date(text: str) -> date:
    """The date at the beginning of a text such as ``2020-1-2``, ``2020-1`` or ``2020``; a time of
    day after the date is ignored.
    """
    match = _DATE.fullmatch(text.strip().partition(" ")[0])
    if not match:
        raise ValueError("a date is written yyyy-MM-dd")
    return date(*(int(part or 1) for part in match.groups()))


def parse_time(text: str) -> time:
    """A time of day such as ``12:13`` or ``12:13:14.5``."""
    match = _TIME.fullmatch(text.strip())
    if not match:
        raise ValueError("a time is written HH:mm:ss")
    hour, minute, second, fraction = match.groups()
    micros = int((fraction or "").ljust(6, "0")[:6])
    return time(int(hour), int(minute or 0), int(second or 0), micros)


def parse_timestamp(text: str, precision: int) -> Any:
    """A timestamp such as ``2020-01-02 10:11:12.123``, truncated to a precision.

    Returns:
        A datetime; nanoseconds since 1970 where the precision is beyond a datetime's.
    """
    day_text, blank, clock = text.partition(" ")
    if day_text.count("-") != 2 or not _DATE.fullmatch(day_text):
        raise ValueError("a timestamp is written yyyy-MM-dd HH:mm:ss.SSS")
    day, match = parse_date(day_text), _TIME.fullmatch(clock if blank else "00:00:00")
    if not match or match[3] is None:
        raise ValueError("a timestamp is written yyyy-MM-dd HH:mm:ss.SSS")
    whole = datetime.combine(day, parse_time(clock.partition(".")[0] or "0:00:00"))
    digits = (match[4] or "").ljust(9, "0")[:precision].ljust(9, "0")
    if precision <= 6:
        return whole.replace(microsecond=int(digits[:6]))
    return nanoseconds(whole, digits)


def nanoseconds(second: datetime, fraction: str) -> int:
    """Nanoseconds since 1970, given whole seconds and the digits of the fraction.

    Raises:
        ValueError: the number does not fit into 64 bits.

    >>> nanoseconds(datetime(1970, 1, 1, 0, 0, 1), "5")
    1500000000
    """
    whole = (second - datetime(1970, 1, 1)) // timedelta(seconds=1)
    made = whole * 10**9 + int(fraction.ljust(9, "0"))
    if not _FIRST_NANOS <= made <= _LAST_NANOS:
        raise ValueError(
            "timestamps with more than 6 digits of a second must be in the years 1678 to 2261"
        )
    return made


_PARSERS: dict[type[LogicalType], Callable[[str], Any]] = {
    logical.BooleanType: _boolean,
    logical.FloatType: _float,
    logical.DoubleType: _float,
    logical.DateType: parse_date,
    logical.TimeType: parse_time,
}
