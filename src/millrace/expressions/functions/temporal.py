"""Temporal functions (Flink docs, "System (Built-in) Functions", Temporal)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.call_options import CallOptions, TemporalUnit, option
from millrace.expressions.casting.cast import wall, zoned
from millrace.expressions.columns import CallSite, Datum, Frame, per_value
from millrace.expressions.function_definition import (
    CallContext,
    FunctionDefinition,
    FunctionResolutionError,
    Signature,
    documented,
)
from millrace.expressions.functions.date_texts import (
    convert_tz,
    date_format,
    from_unixtime,
    ltz_type,
    to_date,
    to_ltz,
    to_timestamp,
    unix_timestamp,
)
from millrace.expressions.functions.mathematics import WHOLE_KERNELS, whole_type
from millrace.expressions.functions.time_arithmetic import (
    add_months,
    add_span,
    months_from,
    since_1970,
)
from millrace.expressions.functions.time_rounding import ROUNDED_UNITS, rounded_time
from millrace.expressions.parameters import NUMBERS
from millrace.expressions.result_types import fixed

__all__ = ["TEMPORAL"]

CATEGORY = "Temporal"
TEXT = "<CHARACTER_STRING>"


def _local(site: CallSite, value: Datum, position: int = 0) -> Datum:
    """Wall-clock times of points in time in the session's zone; other times unchanged."""
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
    "NANOSECOND": lambda v: pc.add(pc.multiply(_FIELDS["MICROSECOND"](v), 1000), pc.nanosecond(v)),
    "EPOCH": _seconds,
}
_INTERVAL_MICROS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000}
_OF_DAY = ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND")
_OF_SPAN = ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "EPOCH")
_OF_MONTHS = ("YEAR", "QUARTER", "MONTH")


def _extract(site: CallSite, value: Datum) -> Datum:
    return _field(site, _unit(site.options), value)


def _field_of(unit: TemporalUnit, site: CallSite, value: Datum) -> Datum:
    return _field(site, unit, value)


def _field(site: CallSite, unit: TemporalUnit, value: Datum) -> Datum:
    if isinstance(site.argument_types[0], logical.YearMonthIntervalType):
        if unit == "QUARTER":
            return pc.add(pc.divide(_rest(value, 12), 3), 1)
        return pc.divide(value, 12) if unit == "YEAR" else _rest(value, 12)
    if isinstance(site.argument_types[0], logical.DayTimeIntervalType):
        return _of_interval(value.cast(pa.int64()), unit)
    if unit in _OF_DAY and pa.types.is_date(value.type):
        value = value.cast(pa.timestamp("s"))
    if unit == "EPOCH" and pa.types.is_time(value.type):
        value = since_1970(value)
    return _FIELDS[unit](_local(site, value)).cast(pa.int64())


def _extract_type(context: CallContext) -> LogicalType:
    return _field_type(context, _unit(context.options))


def _field_type(context: CallContext, unit: TemporalUnit) -> LogicalType:
    """Type of a field of a time; refuses fields that the time does not have, such as the year of
    a time of day."""
    kind = context.types[0]
    if isinstance(kind, logical.TimeType):
        has: tuple[str, ...] = (*_OF_DAY, "EPOCH")
    elif isinstance(kind, logical.DayTimeIntervalType):
        has = _OF_SPAN
    else:
        has = _OF_MONTHS if isinstance(kind, logical.YearMonthIntervalType) else tuple(_FIELDS)
    if unit not in has:
        raise FunctionResolutionError(
            f"a value of type {kind} has no field {unit}; it has {', '.join(has)}"
        )
    return logical.BigIntType(nullable=kind.is_nullable)


def _of_interval(micros: Datum, unit: str) -> Datum:
    if unit in ("MILLISECOND", "MICROSECOND"):
        return pc.divide(_rest(micros, 1_000_000), 1000 if unit == "MILLISECOND" else 1)
    size = _INTERVAL_MICROS.get(unit, 1_000_000)
    whole = pc.divide(micros, size)
    return whole if unit in ("DAY", "EPOCH") else _rest(whole, 24 if unit == "HOUR" else 60)


def _rest(value: Datum, size: int) -> Datum:
    return pc.subtract(value, pc.multiply(pc.divide(value, size), size))


def _round_to(name: str, kernel: Callable[..., Datum]) -> Callable[..., Datum]:
    """Kernel of FLOOR and CEIL, for numbers or, with a unit, for times."""

    def round_to(site: CallSite, value: Datum) -> Datum:
        unit = option(TemporalUnit, site.options)
        if unit is None:
            return WHOLE_KERNELS[name](site, value)
        local = _local(site, value)
        made = rounded_time(local, unit, kernel)
        if not isinstance(site.argument_types[0], logical.LocalZonedTimestampType):
            return made
        if unit in _OF_DAY:  # of an hour that comes twice the one it is in
            return pc.add(value, pc.subtract(made, local))
        return zoned(made, site.session.time_zone, site.arrow)

    return round_to


def _round_type(context: CallContext) -> LogicalType:
    kind = context.types[0]
    if (context.options is None) != isinstance(kind, (*NUMBERS, logical.NullType)):
        raise FunctionResolutionError(
            f"{context.name} takes a number, or a time and a unit: {context.name}(x TO HOUR)"
        )
    if context.options is None:
        return whole_type(context)
    units = _OF_DAY if isinstance(kind, logical.TimeType) else ROUNDED_UNITS
    if context.options not in units:
        raise FunctionResolutionError(
            f"a {kind} is not rounded to {context.options}: take one of {', '.join(units)}"
        )
    return kind


_UNITS = {
    "SECOND": timedelta(seconds=1),
    "MINUTE": timedelta(minutes=1),
    "HOUR": timedelta(hours=1),
    "DAY": timedelta(days=1),
    "WEEK": timedelta(weeks=1),
    "MILLISECOND": timedelta(milliseconds=1),
    "MICROSECOND": timedelta(microseconds=1),
}
_MONTHS = {
    "MONTH": 1,
    "QUARTER": 3,
    "YEAR": 12,
    "DECADE": 120,
    "CENTURY": 1200,
    "MILLENNIUM": 12_000,
}


def _unit(options: CallOptions | None) -> TemporalUnit:
    assert isinstance(options, TemporalUnit)
    return options


def _check_unit(context: CallContext) -> TemporalUnit:
    """The unit of a call.

    Raises:
        FunctionResolutionError: it is no span of time, or a time of day does not have it.
    """
    unit = _unit(context.options)
    if unit not in _UNITS and unit not in _MONTHS:
        known = ", ".join((*_MONTHS, *_UNITS))
        raise FunctionResolutionError(f"{context.name} takes {known}, not {unit}")
    if unit in _MONTHS and any(isinstance(kind, logical.TimeType) for kind in context.types):
        raise FunctionResolutionError(f"{context.name}: a time of day has no {unit}")
    return unit


def _add(site: CallSite, count: Datum, value: Datum) -> Datum:
    unit, whole = _unit(site.options), count.cast(pa.int64())
    if unit in _MONTHS:
        return add_months(value, pc.multiply_checked(whole, _MONTHS[unit]))
    if pa.types.is_date(value.type) and not pa.types.is_date(site.arrow):
        value = value.cast(site.arrow)
    micros = pc.multiply_checked(whole, _UNITS[unit] // timedelta(microseconds=1))
    return add_span(value, micros)


def _add_type(context: CallContext) -> LogicalType:
    unit = _check_unit(context)
    kind = context.types[1].with_nullable(context.any_nullable)
    if isinstance(kind, logical.DateType) and unit in _OF_DAY:
        return logical.TimestampType(6, nullable=kind.is_nullable)
    return kind


def _difference(site: CallSite, one: Datum, other: Datum) -> Datum:
    unit = _unit(site.options)
    zoned = [isinstance(kind, logical.LocalZonedTimestampType) for kind in site.argument_types]
    pair = (one, other) if all(zoned) else (_local(site, one, 0), _local(site, other, 1))
    first, second = (
        (since_1970(time) if pa.types.is_time(time.type) else time).cast(
            pa.timestamp("us"), safe=False
        )
        for time in pair
    )
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
    _check_unit(context)
    times_of_day = [isinstance(kind, logical.TimeType) for kind in context.types]
    if any(times_of_day) and not all(times_of_day):
        raise FunctionResolutionError(
            f"TIMESTAMPDIFF: {context.types[0]} and {context.types[1]} have no difference"
        )
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


_temporal = partial(documented, CATEGORY)


_NO_WATERMARK = -(2**63)
"""Watermark of an operator that none has reached yet."""
_LAST_WATERMARK = 253_402_300_799_999
"""In ms: the last that dates have, in place of that of the end of the input."""


def _watermark_type(context: CallContext) -> LogicalType:
    zoned = isinstance(context.types[0], logical.LocalZonedTimestampType)
    return logical.LocalZonedTimestampType(3) if zoned else logical.TimestampType(3)


def _current_watermark(site: CallSite, frame: Frame, time: Datum) -> Datum:
    if frame.watermark is None:
        raise ValueError("CURRENT_WATERMARK is allowed only in SELECT and WHERE of streams")
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
_UNITS_OF = {
    "YEAR": TemporalUnit.YEAR,
    "QUARTER": TemporalUnit.QUARTER,
    "MONTH": TemporalUnit.MONTH,
    "WEEK": TemporalUnit.WEEK,
    "DAYOFYEAR": TemporalUnit.DOY,
    "DAYOFMONTH": TemporalUnit.DAY,
    "DAYOFWEEK": TemporalUnit.DOW,
    "HOUR": TemporalUnit.HOUR,
    "MINUTE": TemporalUnit.MINUTE,
    "SECOND": TemporalUnit.SECOND,
}
_OF_DATE = "TIMESTAMP '2020-03-04 05:06:07'"
_ANSWERS = (2020, 1, 3, 10, 64, 4, 4, 5, 6, 7)

TEMPORAL: tuple[FunctionDefinition, ...] = (
    _temporal(
        "EXTRACT",
        (_TIME, ("<INTERVAL>",)),
        _extract_type,
        _extract,
        "A field of a time: YEAR, MONTH, DAY, HOUR, EPOCH and others.",
        ("EXTRACT(YEAR FROM DATE '2020-03-04')", "2020"),
    ),
    *(
        _temporal(
            name,
            (_TIME,),
            partial(_field_type, unit=unit),
            partial(_field_of, unit),
            f"The same as EXTRACT({unit} FROM time).",
            (f"{name}({_OF_DATE})", str(answer)),
        )
        for (name, unit), answer in zip(_UNITS_OF.items(), _ANSWERS, strict=True)
    ),
    _temporal(
        "FLOOR",
        (("<NUMERIC>",), _TIME),
        _round_type,
        _round_to("FLOOR", pc.floor_temporal),
        "A number rounded down to an integer, or a time rounded down to a unit.",
        ("FLOOR(-1.2)", "-2"),
        ("FLOOR(DATE '2020-03-04' TO MONTH)", "2020-03-01"),
    ),
    _temporal(
        "CEIL",
        (("<NUMERIC>",), _TIME),
        _round_type,
        _round_to("CEIL", pc.ceil_temporal),
        "A number rounded up to an integer, or a time rounded up to a unit.",
        ("CEIL(1.2)", "2"),
        ("CEIL(DATE '2020-03-04' TO YEAR)", "2021-01-01"),
    ),
    _temporal(
        "DATE_FORMAT",
        (("<TIMESTAMP>", TEXT), ("DATE", TEXT), (TEXT, TEXT)),
        fixed("STRING"),
        date_format,
        "A time as text, formatted by a pattern of Java.",
        ("DATE_FORMAT('2020-03-04 05:06:07', 'yyyyMMdd')", "20200304"),
        may_fail=True,
    ),
    _temporal(
        "TO_DATE",
        ((TEXT, f"{TEXT}?"),),
        fixed("DATE"),
        to_date,
        "The date that a text shows, by a pattern of Java (yyyy-MM-dd); NULL if it shows none.",
        ("TO_DATE('2020-03-04')", "2020-03-04"),
    ),
    _temporal(
        "TO_TIMESTAMP",
        ((TEXT, f"{TEXT}?"),),
        fixed("TIMESTAMP(3)"),
        to_timestamp,
        "The timestamp that a text shows, by a pattern of Java (yyyy-MM-dd HH:mm:ss); NULL "
        "if it shows none.",
        ("TO_TIMESTAMP('2020-03-04')", "2020-03-04 00:00:00.000"),
    ),
    _temporal(
        "TO_TIMESTAMP_LTZ",
        (("<NUMERIC>", "INT?"), (TEXT, f"{TEXT}?", f"{TEXT}?")),
        ltz_type,
        to_ltz,
        "The point in time of a number of seconds (precision 0) or fractions of seconds (3: "
        "milliseconds, up to 9) since 1970, or of a text.",
        ("TO_TIMESTAMP_LTZ(1000, 3)", "1970-01-01 00:00:01.000"),
        may_fail=True,
    ),
    FunctionDefinition(
        "UNIX_TIMESTAMP",
        ((), (TEXT, f"{TEXT}?")),
        lambda c: logical.BigIntType(nullable=c.any_nullable),
        unix_timestamp,
        of_batch=True,
        tells_time=True,
        category=CATEGORY,
        text="Seconds since 1970, of the current time or of a text in the session's zone.",
        examples=(("UNIX_TIMESTAMP('1970-01-02 00:00:00')", "86400"),),
    ),
    _temporal(
        "FROM_UNIXTIME",
        (("<NUMERIC>", f"{TEXT}?"),),
        fixed("STRING"),
        from_unixtime,
        "Seconds since 1970 as text in the session's zone.",
        ("FROM_UNIXTIME(44)", "1970-01-01 00:00:44"),
    ),
    _temporal(
        "CONVERT_TZ",
        ((TEXT, TEXT, TEXT),),
        fixed("STRING"),
        convert_tz,
        "A time as text in another zone.",
        ("CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'America/Los_Angeles')", "1969-12-31 16:00:00"),
    ),
    _temporal(
        "TIMESTAMPADD",
        (("<INTEGER_NUMERIC>", "<DATETIME>"),),
        _add_type,
        _add,
        "A time plus a number of units.",
        ("TIMESTAMPADD(MONTH, 1, DATE '2020-01-31')", "2020-02-29"),
    ),
    _temporal(
        "TIMESTAMPDIFF",
        (("<DATETIME>", "<DATETIME>"),),
        _difference_type,
        _difference,
        "Number of whole units between two times.",
        ("TIMESTAMPDIFF(DAY, DATE '2020-03-04', DATE '2020-03-09')", "5"),
    ),
    _clock("CURRENT_DATE", "DATE", "The current date in the session's zone."),
    _clock("CURRENT_TIME", "TIME(0)", "The current time of day in the session's zone."),
    _clock("LOCALTIME", "TIME(0)", "The current time of day in the session's zone."),
    _clock("CURRENT_TIMESTAMP", "TIMESTAMP_LTZ(3)", "The current point in time."),
    _clock("LOCALTIMESTAMP", "TIMESTAMP(3)", "The current time in the session's zone."),
    _clock("NOW", "TIMESTAMP_LTZ(3)", "The current point in time."),
    _clock("CURRENT_ROW_TIMESTAMP", "TIMESTAMP_LTZ(3)", "The current point in time."),
    FunctionDefinition(
        "CURRENT_WATERMARK",
        (("<TIMESTAMP>",),),
        _watermark_type,
        _current_watermark,
        of_batch=True,
        deterministic=False,
        category=CATEGORY,
        text=(
            "The watermark at the row's operator, in the type of the time attribute; NULL "
            "before the first watermark. At the end of the input, it is the last instant of the "
            "year 9999. Only in SELECT and WHERE of streams."
        ),
    ),
    _clock(
        "PROCTIME",
        "TIMESTAMP_LTZ(3)",
        "Processing time: the instant at which a batch of rows is processed.",
    ),
)
