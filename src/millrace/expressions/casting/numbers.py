"""Casts between numbers. Whole numbers are narrowed as in Java; decimals are rounded half up, and
become NULL on overflow.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.fitted_decimal import rounded_decimal
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.columns import Datum, array_of, is_scalar, per_value

__all__ = ["cast_number", "to_decimal"]

_LONGEST = 76
"""Digits of ``decimal256``."""
_EXACT_DIGITS = 15
"""Whole numbers of so many digits, and such powers of ten, are doubles."""


def cast_number(
    datum: Datum, source: LogicalType, target: LogicalType, arrow: pa.DataType
) -> Datum:
    """Numbers cast to another numeric type."""
    if isinstance(target, logical.DecimalType):
        return to_decimal(datum, target)
    if isinstance(source, logical.DecimalType) and isinstance(target, logical.IntegralType):
        whole = pc.cast(datum, pa.decimal128(38, source.scale))
        return pc.cast(pc.trunc(whole), pa.int64(), safe=False).cast(arrow, safe=False)
    if isinstance(source, logical.DecimalType):
        return _to_double(datum).cast(arrow, safe=False)
    approximate = isinstance(source, (logical.FloatType, logical.DoubleType))
    if approximate and isinstance(target, logical.IntegralType):
        return _from_float(datum, target, arrow)
    return pc.cast(datum, arrow, safe=False)


def _to_double(datum: Datum) -> Datum:
    """The nearest double of a decimal; Arrow's own cast may be off by one bit."""
    if is_scalar(datum):
        return _to_double(array_of(datum, 1))[0]
    wide = max(datum.type.precision, datum.type.scale) > _EXACT_DIGITS
    if wide or not pa.types.is_decimal128(datum.type):
        return datum.cast(pa.string()).cast(pa.float64())
    # an exact number divided by an exact power of ten is rounded once
    words = (
        np.frombuffer(datum.buffers()[1], np.int64)[::2] if len(datum) else np.empty(0, np.int64)
    )
    digits = words[datum.offset : datum.offset + len(datum)]
    mask = datum.is_null().to_numpy(zero_copy_only=False) if datum.null_count else None
    return pa.array(digits / 10.0**datum.type.scale, pa.float64(), mask=mask)


def _from_float(datum: Datum, target: logical.IntegralType, arrow: pa.DataType) -> Datum:
    """Integers of floats as in Java: truncated, limited to the range of INT or BIGINT, 0 for
    NaN, then narrowed."""
    if is_scalar(datum):
        return _from_float(array_of(datum, 1), target, arrow)[0]
    wide = logical.BigIntType() if target.BITS == 64 else logical.IntType()
    low, high = wide.bounds()
    values = np.nan_to_num(datum.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64))
    inside = np.clip(np.trunc(values), float(low), float(high))
    # the greatest BIGINT is no double: what rounds up to 2**63 would wrap
    whole = np.where(
        inside >= float(high), high, np.where(inside >= float(high), 0, inside).astype(np.int64)
    )
    made = pa.array(whole.astype(arrow.to_pandas_dtype()), arrow)
    return pc.if_else(datum.is_valid(), made, pa.scalar(None, arrow)) if datum.null_count else made


def to_decimal(datum: Datum, target: logical.DecimalType) -> Datum:
    """Numbers rounded half up to a decimal type; NULL if they do not fit."""
    if pa.types.is_floating(datum.type):
        datum = datum.cast(pa.float64())
        text = pc.cast(datum, pa.string())
        return _by_text(text, target)
    arrow = pa.decimal128(target.precision, target.scale)
    if pa.types.is_integer(datum.type):
        datum = datum.cast(pa.decimal128(20, 0))
    given = datum.type
    if (
        given.scale <= target.scale
        and given.precision - given.scale <= target.precision - target.scale
    ):
        return datum.cast(arrow)
    wide = datum.cast(pa.decimal256(_LONGEST, given.scale))
    if given.scale > target.scale:
        wide = pc.round(wide, target.scale, "half_towards_infinity")
    limit = pa.scalar(10 ** (target.precision - target.scale), pa.decimal256(_LONGEST, 0))
    fits = pc.less(pc.abs(wide), limit.cast(pa.decimal256(_LONGEST, given.scale)))
    kept = pc.if_else(fits, wide, pa.scalar(None, wide.type))
    return pc.cast(kept, pa.decimal256(_LONGEST, target.scale), safe=False).cast(arrow, safe=False)


def _by_text(text: Datum, target: logical.DecimalType) -> Datum:
    """Decimals made from the shortest text of doubles, as in Java."""

    def made(digits: str) -> Decimal | None:
        return rounded_decimal(Decimal(digits), target.precision, target.scale)

    return per_value(made, pa.decimal128(target.precision, target.scale), text)
