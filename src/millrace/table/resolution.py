"""`Resolution`: a unit of an interval and its number of digits, for `DataTypes.INTERVAL`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["IntervalUnit", "Resolution"]


class IntervalUnit(Enum):
    """Units of intervals."""

    SECOND = 0
    MINUTE = 1
    HOUR = 2
    DAY = 3
    MONTH = 4
    YEAR = 5


@dataclass(frozen=True)
class Resolution:
    """A unit of an interval, made by `DataTypes.DAY` and the like.

    Attributes:
        unit: unit of the interval.
        precision: digits of years or days, or of fractions of a second; -1: as many as by default.

    Example:
        >>> str(Resolution(IntervalUnit.DAY, 3)), str(Resolution(IntervalUnit.MINUTE))
        ('DAY(3)', 'MINUTE')
    """

    unit: IntervalUnit
    precision: int = -1

    def __str__(self) -> str:
        digits = "" if self.precision < 0 else f"({self.precision})"
        return f"{self.unit.name}{digits}"
