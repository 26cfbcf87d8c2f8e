"""`NanosecondDatetime`: a datetime with nanoseconds, which Python's own lacks."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

__all__ = ["NanosecondDatetime", "datetime_of", "datetime_of_text", "in_utc", "text_of_datetime"]

_EPOCH = datetime(1970, 1, 1)
_SECOND = 10**9
_MICROSECONDS = len("2024-01-01 00:00:00.000000")
"""Characters of a text that Python reads without a loss."""
_LONG_FRACTION = re.compile(r"[.,][0-9]{6}([0-9]{1,3})")


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
    """The datetime that is a number of nanoseconds after 1970.

    Args:
        utc: whether the datetime has the zone UTC; otherwise it has no zone.
    """
    micros, rest = divmod(nanoseconds, 1000)
    made = (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=UTC if utc else None)
    if not rest:
        return made
    return _with_nanosecond(made, rest)


def datetime_of_text(text: str) -> datetime:
    """The datetime of a text in the notation of ISO 8601, with up to nine digits of a fraction.

    Raises:
        ValueError: it is none.

    >>> datetime_of_text("2024-01-01 00:00:00.123456789").nanosecond
    789
    """
    made = datetime.fromisoformat(text)
    if len(text) <= _MICROSECONDS:
        return made
    match = _LONG_FRACTION.search(text)
    rest = 0 if match is None else int(match[1].ljust(3, "0"))
    return _with_nanosecond(made, rest) if rest else made


def text_of_datetime(value: datetime, sep: str = " ") -> str:
    """Text of a datetime, without its zone. It has nine fraction digits if the datetime has
    nanoseconds.

    >>> text_of_datetime(datetime_of(123))
    '1970-01-01 00:00:00.000000123'
    """
    rest, plain = getattr(value, "nanosecond", 0), value.replace(tzinfo=None)
    if not rest:
        return plain.isoformat(sep)
    return f"{plain.isoformat(sep, 'microseconds')}{rest:03}"


def in_utc(value: datetime) -> datetime:
    """The UTC datetime of a datetime with a zone; the result has no zone, and the same
    nanoseconds."""
    made = value.astimezone(UTC).replace(tzinfo=None)
    rest = getattr(value, "nanosecond", 0)
    return _with_nanosecond(made, rest) if rest else made


def _with_nanosecond(value: datetime, nanosecond: int) -> NanosecondDatetime:
    made = NanosecondDatetime.combine(value.date(), value.timetz())
    made.nanosecond = nanosecond
    return made


def nanoseconds_of(value: datetime) -> int:
    """Nanoseconds from 1970 to a datetime. A datetime without a zone is taken as UTC."""
    plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    whole = datetime(*plain.timetuple()[:6], plain.microsecond) - _EPOCH
    return whole // timedelta(microseconds=1) * 1000 + int(getattr(value, "nanosecond", 0))
