"""Conversion of times to text and back by Java's patterns (Flink docs, "System (Built-in)
Functions", Temporal).

As in Flink, timestamps have the patterns of ``DateTimeFormatter``, and texts, dates and numbers
those of ``SimpleDateFormat``.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.casting.cast import wall
from millrace.expressions.casting.from_text import parse_date, parse_timestamp
from millrace.expressions.casting.numbers import cast_number
from millrace.expressions.columns import CallSite, Datum, Frame, is_scalar, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import CallContext, FunctionResolutionError
from millrace.expressions.functions.date_patterns import (
    digits_of_second,
    finest_unit,
    format_time,
    parse_with,
)
from millrace.expressions.functions.java_zones import java_zone, zone_by_id
from millrace.expressions.functions.simple_date_patterns import format_simple, read_simple
from millrace.expressions.functions.unix_times import to_instants

__all__ = [
    "convert_tz",
    "date_format",
    "from_unixtime",
    "ltz_type",
    "to_date",
    "to_ltz",
    "to_timestamp",
    "unix_timestamp",
]

_DEFAULT = "yyyy-MM-dd HH:mm:ss"


def date_format(site: CallSite, value: Datum, pattern: Datum) -> Datum:
    """Times formatted as texts; NULL for an argument text that is not a time."""
    if isinstance(site.argument_types[0], (logical.CharType, logical.VarCharType)):
        return per_value(_format_text, pa.string(), value, pattern)
    if isinstance(site.argument_types[0], logical.DateType):
        days = value.cast(pa.timestamp("s"))
        return per_value(lambda t, p: format_simple(t, p, UTC), pa.string(), days, pattern)
    zoned = isinstance(site.argument_types[0], logical.LocalZonedTimestampType)
    local = wall(value, site.session.time_zone) if zoned else value
    unit = finest_unit(pattern.as_py()) if is_scalar(pattern) and pattern.is_valid else None
    if unit is not None:  # the fewer values there are, the fewer texts are made
        local = pc.floor_temporal(local, unit=unit)
    return per_value(format_time, pa.string(), local, pattern)


def _format_text(text: str, pattern: str) -> str | None:
    read = read_simple(text, _DEFAULT)
    return None if read is None else format_simple(read.time, pattern, UTC)


_SQL_TIME = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?: +([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{1,9}))?)?"
)


def _parsed(text: str, pattern: str = _DEFAULT) -> datetime | None:
    """The time of a text by a pattern or, if it does not match, by the default pattern."""
    if pattern != _DEFAULT:
        made = parse_with(text, pattern)
        return _sql_time(text.strip()) if made is None else made
    try:
        parsed: datetime = parse_timestamp(text, 6)
    except ValueError:
        return None
    return parsed


def _sql_time(text: str) -> datetime | None:
    """The time of a text such as ``2020-1-2 3:04:05``; None if the text is not a time."""
    match = _SQL_TIME.fullmatch(text)
    if not match:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    try:
        made = datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
    return made.replace(microsecond=int((match[7] or "").ljust(6, "0")[:6]))


def to_timestamp(site: CallSite, text: Datum, pattern: Datum | None = None) -> Datum:
    """Timestamps of texts; NULL for texts that are not times. Digits beyond milliseconds are
    truncated."""

    def millis(*arguments: str) -> datetime | None:
        made = _parsed(*arguments)
        return made and made.replace(microsecond=made.microsecond // 1000 * 1000)

    return per_value(millis, site.arrow, *_given(text, pattern))


def _given(*datums: Datum | None) -> tuple[Datum, ...]:
    return tuple(datum for datum in datums if datum is not None)


def to_date(site: CallSite, text: Datum, pattern: Datum | None = None) -> Datum:
    """Dates of texts; NULL for texts that are not dates."""
    return per_value(_date_of, site.arrow, *_given(text, pattern))


def _date_of(text: str, pattern: str | None = None) -> date | None:
    try:
        if pattern is None:
            return parse_date(text)
        read = read_simple(text, pattern)
        return None if read is None else (read.time - (read.offset or timedelta())).date()
    except (ValueError, OverflowError):
        return None


def to_ltz(
    site: CallSite, value: Datum, second: Datum | None = None, zone: Datum | None = None
) -> Datum:
    """Points in time, from a number of seconds or fractions of seconds, or from a text, a
    pattern and a zone."""
    if not isinstance(site.argument_types[0], (logical.CharType, logical.VarCharType)):
        digits = pa.scalar(3) if second is None else second
        return to_instants(value, digits, site.arrow)
    pattern = pa.scalar(_DEFAULT) if second is None else second
    names = pa.scalar("UTC") if zone is None else zone
    return per_value(_instant, site.arrow, value, pattern, names)


def _instant(text: str, pattern: str, name: str) -> datetime | None:
    zone = zone_by_id(name)
    if zone is None:
        raise EvaluationError(f"TO_TIMESTAMP_LTZ: there is no time zone {name!r}")
    made = _parsed(text, pattern)
    if made is None:
        return None
    try:
        return made.replace(tzinfo=zone).astimezone(UTC)
    except OverflowError:
        return None


def ltz_type(context: CallContext) -> LogicalType:
    """Type of TO_TIMESTAMP_LTZ. Its precision comes from the number's unit, or from the digits that
    the pattern reads, and is at least 3.
    """
    digits = context.literals[1] if len(context.literals) > 1 else 3
    if isinstance(context.types[0], (logical.CharType, logical.VarCharType)):
        digits = digits_of_second(digits) if isinstance(digits, str) else 3
    if digits is None:
        return logical.LocalZonedTimestampType(3)
    if not 0 <= digits <= _MOST_DIGITS:
        raise FunctionResolutionError(
            f"TO_TIMESTAMP_LTZ takes a precision from 0 to {_MOST_DIGITS}, not {digits}"
        )
    return logical.LocalZonedTimestampType(max(digits, 3))


_MOST_DIGITS = 9


def unix_timestamp(
    site: CallSite, frame: Frame, text: Datum | None = None, pattern: Datum | None = None
) -> Datum:
    """Seconds since 1970 of the current time, or of texts in the session's time zone."""
    if text is None:
        return pa.scalar(frame.instant // 1000)
    zone = ZoneInfo(site.session.time_zone)

    def seconds(text: str, pattern: str = _DEFAULT) -> int:
        read = read_simple(text, pattern)
        try:
            return _NO_TIME if read is None else int(read.instant(zone))
        except OverflowError:
            return _NO_TIME

    return per_value(seconds, site.arrow, *_given(text, pattern))


_NO_TIME = -(2**63)


def from_unixtime(site: CallSite, seconds: Datum, pattern: Datum | None = None) -> Datum:
    """Texts for seconds since 1970, in the session's time zone; NULL after the year 9999."""
    zone = ZoneInfo(site.session.time_zone)
    whole = cast_number(seconds, site.argument_types[0], logical.BigIntType(), pa.int64())

    def shown(second: int, pattern: str = _DEFAULT) -> str | None:
        try:
            local = datetime.fromtimestamp(second, zone)
        except (OverflowError, ValueError, OSError):
            return None
        return format_simple(local.replace(tzinfo=None), pattern, zone)

    return per_value(shown, pa.string(), *_given(whole, pattern))


def convert_tz(site: CallSite, text: Datum, source: Datum, target: Datum) -> Datum:
    """Text of a time in another zone; NULL if a zone is unknown."""
    return per_value(_converted, site.arrow, text, source, target)


def _converted(text: str, source: str, target: str) -> str | None:
    read, one, other = read_simple(text, _DEFAULT), java_zone(source), java_zone(target)
    if read is None or one is None or other is None:
        return None
    try:
        shown = datetime.fromtimestamp(read.instant(one), other)
    except (OverflowError, ValueError, OSError):
        return None
    return format_simple(shown.replace(tzinfo=None), _DEFAULT, other)
