"""Single-precision numbers of four bytes."""

from __future__ import annotations

from math import isinf
from typing import Any

__all__ = ["single_precision"]

_TOO_LARGE = 2.0**128 - 2.0**103
"""Limit of numbers: those between the largest number of four bytes and this limit are rounded to
the former."""


def single_precision(value: Any) -> float:
    """The number, if a float of four bytes can hold it. For larger numbers, the writers of some
    formats would write infinity.

    >>> single_precision(7), single_precision(float("inf"))
    (7.0, inf)

    Raises:
        ValueError: the number is too large.
    """
    number = float(value)
    if abs(number) >= _TOO_LARGE and not isinf(number):
        raise ValueError(f"{value} is too large for a float of four bytes, at most 3.4e38")
    return number
