"""Readers of numbers as text, which take the notations of Java and no others.

Python's ``int``, ``float`` and ``Decimal`` also take underscores (``1_000``), blanks, ``nan`` and
``inf``: the same file would give other rows here than in Flink. Whole numbers have the digits 0 to
9 only; Java would take those of other scripts, too.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

__all__ = ["decimal_number", "floating_number", "whole_number", "whole_number_of"]

_WHOLE = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?)"
)
_DECIMAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
"""Texts that Java's ``BigDecimal`` takes: without blanks and underscores."""
_SHOWN = 100


def whole_number(text: str) -> int:
    """The number of a text of decimal digits, as ``Long.parseLong``, but of any size.

    >>> whole_number("+07")
    7
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text[:_SHOWN]!r} is not a whole number")
    return int(text)


def whole_number_of(text: str, bits: int) -> int:
    """The number of a text of decimal digits, as ``Byte.parseByte`` for 8 bits and so on.

    >>> whole_number_of("-128", 8)
    -128

    Raises:
        ValueError: the text is no whole number.
        OverflowError: the number does not fit into so many bits.
    """
    number = whole_number(text)
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise OverflowError(f"{text[:_SHOWN]} does not fit into {bits} bits")
    return number


def floating_number(text: str) -> float:
    """The number of a text, as ``Double.parseDouble``, but not in hexadecimal digits.

    >>> floating_number("1.5e3"), floating_number("2d"), floating_number("-Infinity")
    (1500.0, 2.0, -inf)
    """
    if not _FLOAT.fullmatch(text):
        raise ValueError(f"{text[:_SHOWN]!r} is not a number")
    return float(text if text.endswith("y") else text.rstrip("dDfF"))


def decimal_number(text: str) -> Decimal:
    """The number of a text with all its digits, as ``new BigDecimal``.

    >>> decimal_number("1.50")
    Decimal('1.50')
    """
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text[:_SHOWN]!r} is not a number")
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text[:_SHOWN]!r} has an exponent out of range") from None
