"""Addition and subtraction of intervals: months follow the calendar, other units are durations."""

from __future__ import annotations

from calendar import monthrange
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.call_options import TemporalUnit
from millrace.expressions.casting.cast import wall
from millrace.expressions.columns import CallSite, Datum, array_of, is_scalar, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import CallContext, FunctionResolutionError
from millrace.expressions.type_merging import common_type

__all__ = [
    "add_months",
    "add_span",
    "interval_times",
    "minus_interval",
    "months_from",
    "plus_interval",
    "since_1970",
    "sum_of_times",
    "times_to_add",
]

_INTERVALS = (logical.YearMonthIntervalType, logical.DayTimeIntervalType)
_DAY = 86_400_000_000
_MOST_MONTHS = 12 * 20_000


def times_to_add(context: CallContext) -> tuple[LogicalType, ...] | None:
    """The operand types, unchanged, if the operands can be added; else None."""
    left, right = context.types
    if isinstance(left, logical.NullType) or isinstance(right, logical.NullType):
        return _with_null(left, right)
    if not any(isinstance(kind, (*_INTERVALS, *_NUMBERS)) for kind in context.types):
        return _times_to_subtract(context)
    if isinstance(left, _INTERVALS) and isinstance(right, _INTERVALS):
        return context.types if type(left) is type(right) else None
    time = right if isinstance(left, _INTERVALS) else left
    months = any(isinstance(kind, logical.YearMonthIntervalType) for kind in context.types)
    return None if months and isinstance(time, logical.TimeType) else context.types


def _with_null(left: LogicalType, right: LogicalType) -> tuple[LogicalType, ...] | None:
    """Types with NULL replaced: by the interval's type beside an interval, by an interval of
    days beside a time."""
    if isinstance(left, logical.NullType) and isinstance(right, logical.NullType):
        return None
    known = right if isinstance(left, logical.NullType) else left
    made = known if isinstance(known, _INTERVALS) else logical.DayTimeIntervalType()
    unknown = made.with_nullable(True)
    return (unknown, right) if known is right else (left, unknown)


def _times_to_subtract(context: CallContext) -> tuple[LogicalType, ...] | None:
    """Common type of two times whose difference is given in a unit."""
    if context.options is None:
        raise FunctionResolutionError(
            "the difference of two times is an interval of some units: write "
            "(b - a) DAY TO SECOND, (b - a) MONTH, or TIMESTAMPDIFF(unit, a, b)"
        )
    kind = common_type(context.types)
    months_of_day = context.options is TemporalUnit.MONTH and isinstance(kind, logical.TimeType)
    if kind is None or months_of_day:
        return None
    return tuple(kind.with_nullable(given.is_nullable) for given in context.types)


def sum_of_times(context: CallContext) -> LogicalType:
    """Type of the sum of a time and an interval, or of two intervals; also of the difference of two
    times.
    """
    left, right = context.types
    if not any(isinstance(kind, (*_INTERVALS, *_NUMBERS)) for kind in context.types):
        months = context.options is TemporalUnit.MONTH
        made = logical.YearMonthIntervalType() if months else logical.DayTimeIntervalType()
        return made.with_nullable(context.any_nullable)
    first = right if isinstance(left, _INTERVALS) and not isinstance(right, _NUMBERS) else left
    if isinstance(left, _NUMBERS):
        first = right
    if isinstance(first, logical.DayTimeIntervalType):
        first = logical.DayTimeIntervalType()
    return first.with_nullable(context.any_nullable)


_NUMBERS = (logical.IntegralType, logical.DecimalType, logical.FloatType, logical.DoubleType)


def interval_times(site: CallSite, left: Datum, right: Datum) -> Datum:
    """An interval multiplied by a number."""
    if isinstance(site.argument_types[0], _NUMBERS):
        left, right = right, left
    whole = left.cast(pa.int64())
    return pc.multiply(whole, right.cast(pa.int64(), safe=False)).cast(site.arrow, safe=False)


def plus_interval(site: CallSite, left: Datum, right: Datum) -> Datum:
    """A time plus an interval; a time of day wraps at midnight."""
    return _shifted(site, left, right, minus=False)


def minus_interval(site: CallSite, left: Datum, right: Datum) -> Datum:
    """A time minus an interval, or the difference of two times."""
    return _shifted(site, left, right, minus=True)


def _shifted(site: CallSite, left: Datum, right: Datum, minus: bool) -> Datum:
    types = site.argument_types
    if not any(isinstance(kind, _INTERVALS) for kind in types):
        return _difference(site, left, right)
    if isinstance(types[0], _INTERVALS) and not isinstance(types[1], _INTERVALS):
        left, right, types = right, left, (types[1], types[0])
    if isinstance(types[0], _INTERVALS):
        return pc.subtract(left, right) if minus else pc.add(left, right)
    if isinstance(types[1], logical.YearMonthIntervalType):
        return add_months(left, pc.negate(right) if minus else right)
    micros = right.cast(pa.int64())
    return add_span(left, pc.negate(micros) if minus else micros)


def since_1970(datum: Datum) -> Datum:
    """Times of day, converted to timestamps on the first day of 1970."""
    number = pa.int32() if pa.types.is_time32(datum.type) else pa.int64()
    return datum.cast(number).cast(pa.int64()).cast(pa.timestamp(datum.type.unit))


def add_span(value: Datum, micros: Datum) -> Datum:
    """Dates or times plus microseconds; a time of day wraps at midnight.

    Raises:
        pyarrow.ArrowInvalid: a time is beyond what 64 bits hold, a day beyond 32.
    """
    kind = value.type
    if pa.types.is_date(kind):
        days = pc.divide(micros, _DAY)
        later = pc.add_checked(value.cast(pa.int32()).cast(pa.int64()), days)
        return later.cast(pa.int32()).cast(kind)
    scale = {"s": 1_000_000, "ms": 1000, "us": 1}.get(kind.unit, 1)
    nanos = 1000 if kind.unit == "ns" else 1
    change = pc.multiply_checked(_floor_divided(micros, scale), nanos)
    if pa.types.is_timestamp(kind):
        return pc.add_checked(value, change.cast(pa.duration(kind.unit))).cast(kind)
    number = pa.int32() if pa.types.is_time32(kind) else pa.int64()
    round_trip = _DAY // scale * nanos
    total = pc.add_checked(value.cast(number).cast(pa.int64()), change)
    cycles = _floor_divided(total, round_trip)
    return pc.subtract(total, pc.multiply(cycles, round_trip)).cast(number).cast(kind)


def _floor_divided(value: Datum, by: int) -> Datum:
    """Integers divided and rounded down."""
    whole = pc.divide(value, by)
    below = pc.less(pc.subtract(value, pc.multiply(whole, by)), 0)
    return pc.subtract(whole, below.cast(pa.int64()))


def add_months(value: Datum, months: Datum) -> Datum:
    """Dates or timestamps plus months. If the resulting month has no such day, its last day is
    used.
    """
    if is_scalar(value):
        if is_scalar(months):
            return add_months(array_of(value, 1), months)[0]
        value = pa.repeat(value, len(months))
    kind = value.type
    days = value.cast(pa.date32(), safe=False)
    moved = _moved(days, months)
    if pa.types.is_date(kind):
        return moved
    naive = pa.timestamp(kind.unit)
    within = pc.subtract(value.cast(naive), days.cast(naive))
    return pc.add(moved.cast(naive), within).cast(kind)


def _moved(days: Any, months: Datum) -> Any:
    missing = pc.is_null(days) if days.null_count else None
    if is_scalar(months):
        if not months.is_valid:
            return pa.nulls(len(days), days.type)
        count: Any = int(months.as_py())
    else:
        count = months.fill_null(0).to_numpy(zero_copy_only=False)
        lacking = pc.is_null(months)
        missing = lacking if missing is None else pc.or_(missing, lacking)
    if np.any(np.abs(count) > _MOST_MONTHS):
        raise EvaluationError(f"a time {np.max(np.abs(count))} months away is out of range")
    start = days.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False).astype("M8[D]")
    month = start.astype("M8[M]")
    target = month + count
    last = (target + 1).astype("M8[D]") - np.timedelta64(1, "D")
    moved = np.minimum(target.astype("M8[D]") + (start - month.astype("M8[D]")), last)
    made = pa.array(moved.astype(np.int64).astype(np.int32)).cast(pa.date32())
    return made if missing is None else pc.if_else(missing, pa.scalar(None, pa.date32()), made)


def _difference(site: CallSite, left: Datum, right: Datum) -> Datum:
    """The interval between two times, in milliseconds or whole months."""
    if site.options is TemporalUnit.MONTH:
        if isinstance(site.argument_types[0], logical.LocalZonedTimestampType):
            left, right = (wall(time, site.session.time_zone) for time in (left, right))
        times = [time.cast(pa.timestamp("us"), safe=False) for time in (right, left)]
        return per_value(months_from, pa.int32(), *times)
    if pa.types.is_timestamp(left.type):
        micros = [time.cast(pa.timestamp("us", time.type.tz), safe=False) for time in (left, right)]
        difference = pc.subtract(*micros).cast(pa.int64())
    elif pa.types.is_date(left.type):
        days = pc.subtract(left.cast(pa.int32()), right.cast(pa.int32())).cast(pa.int64())
        difference = pc.multiply(days, _DAY)
    else:
        difference = pc.subtract(
            *(time.cast(pa.time64("us")).cast(pa.int64()) for time in (left, right))
        )
    return pc.multiply(pc.divide(difference, 1000), 1000).cast(site.arrow)


def months_from(one: datetime, other: datetime) -> int:
    """Whole months from one time to another, negative if the other is earlier.

    >>> months_from(datetime(2020, 1, 31), datetime(2020, 2, 29))
    1
    """
    if other < one:
        return -months_from(other, one)
    months = (other.year - one.year) * 12 + other.month - one.month
    day = min(one.day, monthrange(other.year, other.month)[1])
    return months - ((other.day, other.time()) < (day, one.time()))
