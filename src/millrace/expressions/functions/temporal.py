"""Temporal functions (Flink docs, "System (Built-in) Functions", Temporal)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.casting.cast import wall, zoned
from millrace.expressions.casting.from_text import parse_timestamp
from millrace.expressions.columns import CallSite, Datum, Frame, is_scalar, per_value
from millrace.expressions.function_definition import (
    CallContext,
    FunctionDefinition,
    Signature,
)
from millrace.expressions.functions.date_patterns import finest_unit, format_time, parse_with
from millrace.expressions.functions.mathematics import WHOLE_KERNELS, whole_type
from millrace.expressions.functions.time_arithmetic import add_months, months_from
from millrace.expressions.result_types import always, fixed

__all__ = ["TEMPORAL"]

CATEGORY = "Temporal"
TEXT = "<CHARACTER_STRING>"
_DEFAULT = "yyyy-MM-dd HH:mm:ss"
_EPOCH = datetime(1970, 1, 1)


def _local(site: CallSite, value: Datum, position: int = 0) -> Datum:
    """Points in time as the session's clocks show them; other times as they are."""
    if isinstance(site.argument_types[position], logical.LocalZonedTimestampType):
        return wall(value, site.session.time_zone)
    return value


def _week_day(value: Datum) -> Datum:
    return pc.day_of_week(value, count_from_zero=False, week_start=7)


def _centuries(value: Datum) -> Datum:
    return pc.divide(pc.add(pc.year(value), 99), 100)


def _seconds(value: Datum) -> Datum:
    return pc.cast(value, pa.timestamp("s"), safe=False).cast(pa.int64())


_FIELDS: dict[str, Callable[[Datum], Datum]] = {
    "MILLENNIUM": lambda v: pc.divide(pc.add(pc.year(v), 999), 1000),
    "CENTURY": _centuries,
    "DECADE": lambda v: pc.divide(pc.year(v), 10),
    "YEAR": pc.year,
    "ISOYEAR": pc.iso_year,
    "QUARTER": pc.quarter,
    "MONTH": pc.month,
    "WEEK": pc.iso_week,
    "DAY": pc.day,
    "DOY": pc.day_of_year,
    "DOW": _week_day,
    "ISODOW": lambda v: pc.day_of_week(v, count_from_zero=False, week_start=1),
    "HOUR": pc.hour,
    "MINUTE": pc.minute,
    "SECOND": pc.second,
    "MILLISECOND": pc.millisecond,
    "MICROSECOND": lambda v: pc.add(pc.multiply(pc.millisecond(v), 1000), pc.microsecond(v)),
    "EPOCH": _seconds,
}
_ALIASES = {"DAYOFYEAR": "DOY", "DAYOFMONTH": "DAY", "DAYOFWEEK": "DOW"}
_INTERVAL_MICROS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000}


def _extract(site: CallSite, value: Datum) -> Datum:
    """The payload is the unit; functions such as YEAR have it as their name."""
    unit = _ALIASES.get(site.function, site.payload or site.function)
    if isinstance(site.argument_types[0], logical.YearMonthIntervalType):
        return pc.divide(value, 12) if unit == "YEAR" else _rest(value, 12)
    if isinstance(site.argument_types[0], logical.DayTimeIntervalType):
        return _of_interval(value.cast(pa.int64()), unit)
    if unit in ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND") and (
        pa.types.is_date(value.type)
    ):
        value = value.cast(pa.timestamp("s"))
    return _FIELDS[unit](_local(site, value)).cast(pa.int64())


def _of_interval(micros: Datum, unit: str) -> Datum:
    size = _INTERVAL_MICROS.get(unit, 1_000_000)
    whole = pc.divide(micros, size)
    return whole if unit in ("DAY", "EPOCH") else _rest(whole, 24 if unit == "HOUR" else 60)


def _rest(value: Datum, size: int) -> Datum:
    return pc.subtract(value, pc.multiply(pc.divide(value, size), size))


def _round_to(name: str, kernel: Callable[..., Datum]) -> Callable[..., Datum]:
    """FLOOR and CEIL: of numbers, or with a unit as payload, of times."""

    def round_to(site: CallSite, value: Datum) -> Datum:
        if site.payload is None:
            return WHOLE_KERNELS[name](site, value)
        local = _local(site, value)
        kind = local.type
        if pa.types.is_date(kind):
            local = local.cast(pa.timestamp("s"))
        unit = site.payload.lower()
        if unit in ("decade", "century", "millennium"):
            years = {"decade": 10, "century": 100, "millennium": 1000}[unit]
            made = kernel(local, years, "year")
        else:
            made = kernel(local, 1, unit, week_starts_monday=False)
        if isinstance(site.argument_types[0], logical.LocalZonedTimestampType):
            return zoned(made, site.session.time_zone, site.arrow)
        return made.cast(kind, safe=False)

    return round_to


def _round_type(context: CallContext) -> LogicalType:
    return whole_type(context)


def _date_format(site: CallSite, value: Datum, pattern: Datum) -> Datum:
    if isinstance(site.argument_types[0], (logical.CharType, logical.VarCharType)):
        return per_value(lambda t, p: format_time(_timestamp_of(t), p), pa.string(), value, pattern)
    local = _local(site, value)
    if local.type.unit == "ns":
        local = local.cast(pa.timestamp("us"), safe=False)
    unit = finest_unit(pattern.as_py()) if is_scalar(pattern) and pattern.is_valid else None
    if unit is not None:  # the fewer values there are, the fewer texts are made
        local = pc.floor_temporal(local, unit=unit)
    return per_value(format_time, pa.string(), local, pattern)


def _timestamp_of(text: str) -> datetime:
    made: datetime = parse_timestamp(text, 6)
    return made


def _parsed(text: str, pattern: str | None = None) -> datetime | None:
    """Flink cuts what is behind the milliseconds."""
    if pattern is not None and pattern != _DEFAULT:
        return parse_with(text, pattern)
    try:
        return _timestamp_of(text)
    except ValueError:
        return None


def _to_timestamp(site: CallSite, text: Datum, pattern: Datum | None = None) -> Datum:
    def millis(*arguments: str) -> datetime | None:
        made = _parsed(*arguments)
        return made and made.replace(microsecond=made.microsecond // 1000 * 1000)

    return per_value(millis, site.arrow, *_given(text, pattern))


def _given(*datums: Datum | None) -> tuple[Datum, ...]:
    return tuple(datum for datum in datums if datum is not None)


def _to_date(site: CallSite, text: Datum, pattern: Datum | None = None) -> Datum:
    def day(*arguments: str) -> Any:
        made = _parsed(*arguments)
        return made and made.date()

    return per_value(day, site.arrow, *_given(text, pattern))


def _to_ltz(
    site: CallSite, value: Datum, second: Datum | None = None, zone: Datum | None = None
) -> Datum:
    """Of a number of seconds or milliseconds, or of a text, a pattern and a zone."""
    if isinstance(site.argument_types[0], (logical.CharType, logical.VarCharType)):
        name = "UTC" if zone is None else zone.as_py()
        made = per_value(_parsed, pa.timestamp("ms"), *_given(value, second))
        return zoned(made, name, site.arrow)
    digits = 3 if second is None else second.as_py()
    exact = pa.types.is_decimal(value.type)
    number = pc.trunc(value).cast(pa.int64()) if exact else value
    millis = pc.multiply(number, 1000 if digits == 0 else 1)
    return millis.cast(pa.int64(), safe=False).cast(site.arrow)


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None


def _unix_timestamp(
    site: CallSite, frame: Frame, text: Datum | None = None, pattern: Datum | None = None
) -> Datum:
    if text is None:
        return pa.scalar(frame.instant // 1000)
    zone = ZoneInfo(site.session.time_zone)

    def seconds(*arguments: str) -> int:
        made = _parsed(*arguments)
        if made is None:
            return -(2**63)
        # of an hour that comes twice the second one; one that is left out is in the next
        return int(max(made.replace(tzinfo=zone, fold=n).timestamp() for n in (0, 1)) // 1)

    return per_value(seconds, site.arrow, *_given(text, pattern))


def _from_unixtime(site: CallSite, seconds: Datum, pattern: Datum | None = None) -> Datum:
    instants = seconds.cast(pa.int64()).cast(pa.timestamp("s", "UTC"))
    local = wall(instants, site.session.time_zone)
    return per_value(
        format_time, pa.string(), local, pa.scalar(_DEFAULT) if pattern is None else pattern
    )


def _convert_tz(text: str, source: str, target: str) -> str | None:
    made, one, other = _parsed(text), _zone(source), _zone(target)
    if made is None or one is None or other is None:
        return None
    return format_time(made.replace(tzinfo=one).astimezone(other), _DEFAULT)


_UNITS = {
    "SECOND": timedelta(seconds=1),
    "MINUTE": timedelta(minutes=1),
    "HOUR": timedelta(hours=1),
    "DAY": timedelta(days=1),
    "WEEK": timedelta(weeks=1),
    "MILLISECOND": timedelta(milliseconds=1),
    "MICROSECOND": timedelta(microseconds=1),
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _add(site: CallSite, count: Datum, value: Datum) -> Datum:
    unit = site.payload.upper().removeprefix("SQL_TSI_")
    if unit in _MONTHS:
        return add_months(value, pc.multiply(count.cast(pa.int64()), _MONTHS[unit]))
    if pa.types.is_date(value.type) and not pa.types.is_date(site.arrow):
        value = value.cast(site.arrow)
    if pa.types.is_date(value.type):
        days = pc.multiply(count.cast(pa.int64()), _UNITS[unit].days)
        return pc.add(value.cast(pa.int32()), days).cast(pa.int32()).cast(pa.date32())
    micros = pc.multiply(count.cast(pa.int64()), _UNITS[unit] // timedelta(microseconds=1))
    span = micros.cast(pa.duration("us")).cast(pa.duration(value.type.unit), safe=False)
    return pc.add(value, span)


def _add_type(context: CallContext) -> LogicalType:
    kind = context.types[1].with_nullable(context.any_nullable)
    unit = str(context.payload).upper().removeprefix("SQL_TSI_")
    if isinstance(kind, logical.DateType) and unit in ("HOUR", "MINUTE", "SECOND"):
        return logical.TimestampType(6, nullable=kind.is_nullable)
    return kind


def _difference(site: CallSite, one: Datum, other: Datum) -> Datum:
    unit = site.payload.upper().removeprefix("SQL_TSI_")
    zoned = [isinstance(kind, logical.LocalZonedTimestampType) for kind in site.argument_types]
    pair = (one, other) if all(zoned) else (_local(site, one, 0), _local(site, other, 1))
    first, second = (each.cast(pa.timestamp("us"), safe=False) for each in pair)
    if unit not in _MONTHS:
        micros = pc.subtract(second, first).cast(pa.int64())
        return pc.divide(micros, _UNITS[unit] // timedelta(microseconds=1))
    return per_value(
        # a quarter or a year is some whole months, towards zero
        lambda a, b: int(months_from(a, b) / _MONTHS[unit]),
        pa.int32(),
        first,
        second,
    )


def _difference_type(context: CallContext) -> LogicalType:
    return logical.IntType(nullable=context.any_nullable)


def _now(site: CallSite, frame: Frame, *precision: Datum) -> Datum:
    instant = pa.scalar(frame.instant, pa.int64()).cast(pa.timestamp("ms", "UTC"))
    kind = site.result_type
    if isinstance(kind, logical.LocalZonedTimestampType):
        return instant
    local = wall(instant, site.session.time_zone)
    if isinstance(kind, logical.TimeType):
        return local.cast(pa.time32("ms")).cast(site.arrow, safe=False)
    return local.cast(site.arrow, safe=False)


def _temporal(
    name: str,
    signatures: tuple[Signature, ...],
    result: Any,
    kernel: Any,
    text: str,
    *examples: tuple[str, str],
    may_fail: bool = False,
) -> FunctionDefinition:
    return FunctionDefinition(
        name,
        signatures,
        result,
        kernel,
        category=CATEGORY,
        text=text,
        examples=examples,
        may_fail=may_fail,
    )


_NO_WATERMARK = -(2**63)
"""Of an operator that none has reached yet."""
_LAST_WATERMARK = 253_402_300_799_999
"""In ms: the last that dates have, in place of that of the end of the input."""


def _watermark_type(context: CallContext) -> LogicalType:
    zoned = isinstance(context.types[0], logical.LocalZonedTimestampType)
    return logical.LocalZonedTimestampType(3) if zoned else logical.TimestampType(3)


def _current_watermark(site: CallSite, frame: Frame, time: Datum) -> Datum:
    if frame.watermark is None:
        raise ValueError("there are watermarks in SELECT and WHERE of streams only")
    at = None if frame.watermark == _NO_WATERMARK else min(frame.watermark, _LAST_WATERMARK)
    return pa.scalar(at, pa.int64()).cast(pa.timestamp("ms", site.arrow.tz))


def _clock(name: str, kind: str, text: str) -> FunctionDefinition:
    return FunctionDefinition(
        name,
        ((), ("INT",)) if name == "CURRENT_TIMESTAMP" else ((),),
        fixed(f"{kind} NOT NULL"),
        _now,
        of_batch=True,
        deterministic=False,
        category=CATEGORY,
        text=text,
        examples=((f"{name} IS NOT NULL", "TRUE"),),
    )


_TIME: Signature = ("<DATETIME>",)
_UNITS_OF = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAYOFYEAR", "DAYOFMONTH", "DAYOFWEEK", "HOUR",
             "MINUTE", "SECOND")  # fmt: skip
_OF_DATE = "TIMESTAMP '2020-03-04 05:06:07'"
_ANSWERS = (2020, 1, 3, 10, 64, 4, 4, 5, 6, 7)

TEMPORAL: tuple[FunctionDefinition, ...] = (
    _temporal(
        "EXTRACT",
        (_TIME, ("<INTERVAL>",)),
        always("BIGINT"),
        _extract,
        "A field of a time: YEAR, MONTH, DAY, HOUR, EPOCH and others.",
        ("EXTRACT(YEAR FROM DATE '2020-03-04')", "2020"),
    ),
    *(
        _temporal(
            name,
            (_TIME,),
            always("BIGINT"),
            _extract,
            f"The same as EXTRACT({_ALIASES.get(name, name)} FROM time).",
            (f"{name}({_OF_DATE})", str(answer)),
        )
        for name, answer in zip(_UNITS_OF, _ANSWERS, strict=True)
    ),
    _temporal(
        "FLOOR",
        (("<NUMERIC>",), _TIME),
        _round_type,
        _round_to("FLOOR", pc.floor_temporal),
        "A number down to an integer, or a time down to a unit.",
        ("FLOOR(-1.2)", "-2"),
        ("FLOOR(DATE '2020-03-04' TO MONTH)", "2020-03-01"),
    ),
    _temporal(
        "CEIL",
        (("<NUMERIC>",), _TIME),
        _round_type,
        _round_to("CEIL", pc.ceil_temporal),
        "A number up to an integer, or a time up to a unit.",
        ("CEIL(1.2)", "2"),
        ("CEIL(DATE '2020-03-04' TO YEAR)", "2021-01-01"),
    ),
    _temporal(
        "DATE_FORMAT",
        (("<TIMESTAMP>", TEXT), ("DATE", TEXT), (TEXT, TEXT)),
        fixed("STRING"),
        _date_format,
        "A time as text by a pattern of Java.",
        ("DATE_FORMAT('2020-03-04 05:06:07', 'yyyyMMdd')", "20200304"),
        may_fail=True,
    ),
    _temporal(
        "TO_DATE",
        ((TEXT, f"{TEXT}?"),),
        fixed("DATE"),
        _to_date,
        "The date of a text, by a pattern of Java (yyyy-MM-dd); NULL where it is none.",
        ("TO_DATE('2020-03-04')", "2020-03-04"),
    ),
    _temporal(
        "TO_TIMESTAMP",
        ((TEXT, f"{TEXT}?"),),
        fixed("TIMESTAMP(3)"),
        _to_timestamp,
        "The timestamp of a text, by a pattern of Java (yyyy-MM-dd HH:mm:ss); NULL where"
        " it is none.",
        ("TO_TIMESTAMP('2020-03-04')", "2020-03-04 00:00:00.000"),
    ),
    _temporal(
        "TO_TIMESTAMP_LTZ",
        (("<NUMERIC>", "INT?"), (TEXT, f"{TEXT}?", f"{TEXT}?")),
        fixed("TIMESTAMP_LTZ(3)"),
        _to_ltz,
        "The point in time of seconds (0) or milliseconds (3) since 1970, or of a text.",
        ("TO_TIMESTAMP_LTZ(1000, 3)", "1970-01-01 00:00:01.000"),
    ),
    FunctionDefinition(
        "UNIX_TIMESTAMP",
        ((), (TEXT, f"{TEXT}?")),
        lambda c: logical.BigIntType(nullable=c.any_nullable),
        _unix_timestamp,
        of_batch=True,
        category=CATEGORY,
        text="Seconds since 1970, of now or of a text in the session's zone.",
        examples=(("UNIX_TIMESTAMP('1970-01-02 00:00:00')", "86400"),),
    ),
    _temporal(
        "FROM_UNIXTIME",
        (("<NUMERIC>", f"{TEXT}?"),),
        fixed("STRING"),
        _from_unixtime,
        "The text of seconds since 1970 in the session's zone.",
        ("FROM_UNIXTIME(44)", "1970-01-01 00:00:44"),
    ),
    _temporal(
        "CONVERT_TZ",
        ((TEXT, TEXT, TEXT),),
        fixed("STRING"),
        lambda site, *datums: per_value(_convert_tz, site.arrow, *datums),
        "The text of a time in another zone.",
        ("CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'America/Los_Angeles')", "1969-12-31 16:00:00"),
    ),
    _temporal(
        "TIMESTAMPADD",
        (("<INTEGER_NUMERIC>", "<DATETIME>"),),
        _add_type,
        _add,
        "A time so many units later.",
        ("TIMESTAMPADD(MONTH, 1, DATE '2020-01-31')", "2020-02-29"),
    ),
    _temporal(
        "TIMESTAMPDIFF",
        (("<DATETIME>", "<DATETIME>"),),
        _difference_type,
        _difference,
        "How many whole units are between two times.",
        ("TIMESTAMPDIFF(DAY, DATE '2020-03-04', DATE '2020-03-09')", "5"),
    ),
    _clock("CURRENT_DATE", "DATE", "Today in the session's zone."),
    _clock("CURRENT_TIME", "TIME(0)", "The time of day in the session's zone."),
    _clock("LOCALTIME", "TIME(0)", "The time of day in the session's zone."),
    _clock("CURRENT_TIMESTAMP", "TIMESTAMP_LTZ(3)", "The present point in time."),
    _clock("LOCALTIMESTAMP", "TIMESTAMP(3)", "The present time in the session's zone."),
    _clock("NOW", "TIMESTAMP_LTZ(3)", "The present point in time."),
    _clock("CURRENT_ROW_TIMESTAMP", "TIMESTAMP_LTZ(3)", "The present point in time."),
    FunctionDefinition(
        "CURRENT_WATERMARK",
        (("<TIMESTAMP>",),),
        _watermark_type,
        _current_watermark,
        of_batch=True,
        deterministic=False,
        category=CATEGORY,
        text="The watermark that has reached the row's operator, NULL before the first; of the "
        "time attribute's type. At the end of the input it is the last instant of the year 9999. "
        "For SELECT and WHERE of streams.",
    ),
    _clock("PROCTIME", "TIMESTAMP_LTZ(3)", "Processing time: the instant of the epoch."),
)
