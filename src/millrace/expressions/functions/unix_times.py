"""`to_instants`: converts seconds since 1970, or fractions of seconds, to points in time."""

from __future__ import annotations

from decimal import ROUND_DOWN, Context, Decimal
from math import isfinite
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.expressions.columns import Datum, is_scalar, per_value

__all__ = ["to_instants"]

_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""The first and the last second of the years 1 to 9999."""
_DIGITS = {"ms": 3, "us": 6, "ns": 9}
_EXACT = Context(prec=100)


def to_instants(value: Datum, digits: Datum, arrow: Any) -> Datum:
    """Convert numbers to points in time; NULL outside the years 1 to 9999.

    Args:
        value: numbers.
        digits: decimal digits of a second that one unit counts: 0 for seconds, 3 for milliseconds.
        arrow: the Arrow type of the points in time.
    """
    fine = _DIGITS[arrow.unit]
    if pa.types.is_integer(value.type) and is_scalar(digits) and digits.is_valid:
        step = fine - digits.as_py()
        if step >= 0:
            return _of_integers(value.cast(pa.int64()), 10**step, _bounds(fine)).cast(arrow)
    made = per_value(lambda v, d: _one(v, d, fine), pa.int64(), value, digits)
    return made.cast(arrow)


def _of_integers(value: Datum, step: int, bounds: tuple[int, int]) -> Datum:
    first, last = -(-bounds[0] // step), bounds[1] // step
    inside = pc.and_(pc.greater_equal(value, first), pc.less_equal(value, last))
    return pc.multiply(pc.if_else(inside, value, pa.scalar(None, pa.int64())), step)


def _bounds(fine: int) -> tuple[int, int]:
    """First and last valid number of units; nanoseconds are limited to 64 bits."""
    first, last = _FIRST * 10**fine, (_LAST + 1) * 10**fine - 1
    return max(first, -(2**63) + 1), min(last, 2**63 - 1)


def _one(value: Any, digits: int, fine: int) -> int | None:
    """A number in the units of a point in time, with fractions truncated."""
    if isinstance(value, float):
        if not isfinite(value):
            return None
        value = Decimal(repr(value))
    elif isinstance(value, Decimal):  # as in Flink, it counts whole units
        value = value.to_integral_value(ROUND_DOWN)
    made = _EXACT.scaleb(Decimal(value), fine - digits)
    first, last = _bounds(fine)
    if made.adjusted() > len(str(last)) or not first <= made <= last:
        return None
    return int(made)
