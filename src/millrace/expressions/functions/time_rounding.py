"""`rounded_time`: rounds times down or up to a unit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.expressions.columns import Datum, array_of, is_scalar

__all__ = ["ROUNDED_UNITS", "rounded_time"]

_FINE = {"SECOND": 0, "MILLISECOND": 3, "MICROSECOND": 6, "NANOSECOND": 9}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_YEARS = {"DECADE": (10, 0), "CENTURY": (100, 1), "MILLENNIUM": (1000, 1)}
"""Number of years of each, and the year in which the first begins: there was no year 0."""
_CALENDAR = ("YEAR", "QUARTER", "MONTH", "WEEK")
ROUNDED_UNITS = (
    *("MILLENNIUM", "CENTURY", "DECADE", "YEAR", "QUARTER", "MONTH", "WEEK", "DAY"),
    *("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND"),
)
"""Units that times are rounded to."""


def rounded_time(value: Datum, unit: str, kernel: Callable[..., Datum]) -> Datum:
    """Times rounded to a unit.

    Args:
        value: dates, times of day or timestamps without a zone.
        unit: one of `ROUNDED_UNITS`; a week begins on Sunday.
        kernel: ``pc.floor_temporal`` or ``pc.ceil_temporal``.
    """
    kind = value.type
    if _FINE.get(unit, -1) >= _DIGITS[getattr(kind, "unit", "s") if not _is_date(kind) else "s"]:
        return value
    if pa.types.is_time(kind):
        return _rounded_clock(value, unit, up=kernel is pc.ceil_temporal)
    plain = value.cast(pa.timestamp("s")) if _is_date(kind) else value
    if unit in _YEARS:
        return _to_years(plain, *_YEARS[unit], up=kernel is pc.ceil_temporal).cast(kind)
    made = kernel(plain, 1, unit.lower(), week_starts_monday=False)
    if kernel is pc.ceil_temporal and unit in _CALENDAR:  # Arrow goes on to the next one
        down = pc.floor_temporal(plain, 1, unit.lower(), week_starts_monday=False)
        made = pc.if_else(pc.equal(down, plain), plain, made)
    return made.cast(kind, safe=False)


def _is_date(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind))


_SECONDS = {"HOUR": 3600, "MINUTE": 60, "SECOND": 1}


def _rounded_clock(value: Datum, unit: str, up: bool) -> Datum:
    """Rounded times of day, which wrap at midnight."""
    kind = value.type
    number = pa.int32() if pa.types.is_time32(kind) else pa.int64()
    in_second = 10 ** _DIGITS[kind.unit]
    step = _SECONDS[unit] * in_second if unit in _SECONDS else in_second // 10 ** _FINE[unit]
    given = value.cast(number).cast(pa.int64())
    raised = pc.add(given, step - 1) if up else given
    made = pc.multiply(pc.divide(raised, step), step)
    day = 86_400 * in_second
    within = pc.subtract(made, pc.multiply(pc.divide(made, day), day))
    return within.cast(number).cast(kind)


def _to_years(value: Datum, size: int, first: int, up: bool) -> Datum:
    """Timestamps rounded to spans of years; one of the spans begins in the year ``first``."""
    if is_scalar(value):
        return _to_years(array_of(value, 1), size, first, up)[0]
    year = pc.year(value).fill_null(first).to_numpy(zero_copy_only=False)
    start = (year - first) // size * size + first
    down = _january(start, value)
    if not up:
        return down
    return pc.if_else(pc.equal(down, value), down, _january(start + size, value))


def _january(years: np.ndarray, like: Datum) -> Datum:
    """First instants of years; NULL where the column is NULL."""
    days = (years - 1970).astype("M8[Y]").astype("M8[s]")
    made = pa.array(days, pa.timestamp("s")).cast(like.type)
    return pc.if_else(like.is_valid(), made, pa.scalar(None, like.type))
