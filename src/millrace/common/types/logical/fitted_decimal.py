"""Rounding of decimals to a ``DECIMAL(p, s)``. Flink: ``DecimalData.fromBigDecimal``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from decimal import (
    ROUND_HALF_UP,
    Clamped,
    Context,
    Decimal,
    DecimalException,
    Overflow,
    Rounded,
    Subnormal,
)
from functools import cache
from typing import Any

from millrace.common.types.logical.logical_type import DecimalType

__all__ = ["are_near", "decimal_fitter", "rounded_decimal"]

_MOST = 38
_DIGITS = Context(prec=80)
"""More than a decimal has: the default would not do for 38."""


def decimal_fitter(kind: DecimalType) -> Callable[[Any], Any]:
    """A function that rounds decimals half up to the scale of a type. Decimals too great for the
    type become None. Decimals that are not finite, and values of other types, stay unchanged.

    Example:
        >>> fitted = decimal_fitter(DecimalType(5, 2))
        >>> fitted(Decimal("12.345")), fitted(Decimal("1e9"))
        (Decimal('12.35'), None)
    """
    rounded = _rounder(kind.precision, kind.scale)

    def fitted(value: Any) -> Any:
        return rounded(value) if isinstance(value, Decimal) and value.is_finite() else value

    return fitted


def rounded_decimal(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """A number rounded half up to a scale; None if it exceeds the precision or is not finite.

    >>> rounded_decimal(Decimal("1.005"), 3, 2), rounded_decimal(Decimal("1E999999999"), 38, 2)
    (Decimal('1.01'), None)
    """
    return _rounder(precision, scale)(value) if value.is_finite() else None


@cache
def _rounder(precision: int, scale: int) -> Callable[[Decimal], Decimal | None]:
    whole_digits = precision - scale
    step = Decimal(1).scaleb(-scale)

    def rounded(value: Decimal) -> Decimal | None:
        # exponents are compared first: 1E999999999 has more digits than fit into memory
        if value and value.adjusted() >= whole_digits:
            return None
        made = value.quantize(step, ROUND_HALF_UP, _DIGITS)
        return None if made and made.adjusted() >= whole_digits else made

    return rounded


def are_near(values: Sequence[Any], kind: DecimalType) -> bool:
    """Whether pyarrow can convert the values to a decimal type. Values with far more fraction
    digits than the type would crash the process or give wrong numbers.
    """
    plus = _bounds(kind.scale).plus
    try:
        try:
            deque(map(plus, values), 0)
        except TypeError:  # there are nulls, or other values, among them
            deque(map(plus, [value for value in values if isinstance(value, Decimal)]), 0)
    except DecimalException:
        return False
    return True


@cache
def _bounds(scale: int) -> Context:
    """A context that refuses numbers with more than 38 digits, or with more than 38 digits
    beyond a scale, because pyarrow's table of powers ends there."""
    traps: list[type[DecimalException]] = [Rounded, Subnormal, Clamped, Overflow]
    return Context(prec=_MOST, Emin=-scale - 1, Emax=_MOST, traps=traps)
