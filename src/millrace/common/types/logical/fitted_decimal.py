"""Decimals as a ``DECIMAL(p, s)`` holds them. Flink: ``DecimalData.fromBigDecimal``."""

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

__all__ = ["are_near", "decimal_fitter"]

_MOST = 38
_DIGITS = Context(prec=80)
"""More than a decimal has: the default would not do for 38."""


def decimal_fitter(kind: DecimalType) -> Callable[[Any], Any]:
    """A function that rounds decimals half up to the scale of a type; decimals too great for the
    type become None. Other values, and those that are not finite, stay unchanged.

    Example:
        >>> fitted = decimal_fitter(DecimalType(5, 2))
        >>> fitted(Decimal("12.345")), fitted(Decimal("1e9"))
        (Decimal('12.35'), None)
    """
    whole_digits = kind.precision - kind.scale
    step = Decimal(1).scaleb(-kind.scale)

    def fitted(value: Any) -> Any:
        if not isinstance(value, Decimal) or not value.is_finite():
            return value
        # compared first: 1E999999999 has more digits than fit into memory
        if value and value.adjusted() >= whole_digits:
            return None
        rounded = value.quantize(step, ROUND_HALF_UP, _DIGITS)
        return None if rounded and rounded.adjusted() >= whole_digits else rounded

    return fitted


def are_near(values: Sequence[Any], kind: DecimalType) -> bool:
    """Whether pyarrow can take the values for a type: values with far more fraction digits than
    the type end the process, or give wrong numbers."""
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
    beyond a scale, which is the end of pyarrow's table of powers."""
    traps: list[type[DecimalException]] = [Rounded, Subnormal, Clamped, Overflow]
    return Context(prec=_MOST, Emin=-scale - 1, Emax=_MOST, traps=traps)
