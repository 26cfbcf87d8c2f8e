"""`NanosecondDatetime`: a datetime with nanoseconds, which Python's own lacks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

__all__ = ["NanosecondDatetime", "datetime_of"]

_EPOCH = datetime(1970, 1, 1)
_SECOND = 10**9


class NanosecondDatetime(datetime):
    """A datetime with a `nanosecond`, 1 to 999, after its microsecond.

    It equals a datetime only if that has the same nanoseconds, and is ordered by them. What is
    computed of it with Python's own methods has none.

    Example:
        >>> datetime_of(1_000_000_123).nanosecond
        123
    """

    nanosecond: int = 0

    def __eq__(self, other: object) -> bool:
        same = getattr(other, "nanosecond", 0) == self.nanosecond
        return same and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        if super().__eq__(other) is True:
            return self.nanosecond < getattr(other, "nanosecond", 0)
        return super().__lt__(other)

    def __gt__(self, other: Any) -> bool:
        if super().__eq__(other) is True:
            return self.nanosecond > getattr(other, "nanosecond", 0)
        return super().__gt__(other)

    def __le__(self, other: Any) -> bool:
        return bool(self == other or self < other)

    def __ge__(self, other: Any) -> bool:
        return bool(self == other or self > other)

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.nanosecond))

    def __reduce__(self) -> tuple[Any, ...]:
        return datetime_of, (nanoseconds_of(self), self.tzinfo is not None)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return self.__reduce__()


def datetime_of(nanoseconds: int, utc: bool = False) -> datetime:
    """The datetime a number of nanoseconds after 1970.

    Args:
        utc: whether the datetime has the zone UTC; otherwise it has no zone.
    """
    micros, rest = divmod(nanoseconds, 1000)
    made = (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=UTC if utc else None)
    if not rest:
        return made
    kept = NanosecondDatetime.combine(made.date(), made.timetz())
    kept.nanosecond = rest
    return kept


def nanoseconds_of(value: datetime) -> int:
    """Nanoseconds from 1970 to a datetime; without a zone it counts as UTC."""
    plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    whole = datetime(*plain.timetuple()[:6], plain.microsecond) - _EPOCH
    return whole // timedelta(microseconds=1) * 1000 + int(getattr(value, "nanosecond", 0))
