"""Java's older date patterns (``SimpleDateFormat``) in English: formats and parses times.

Flink uses them for texts and numbers: DATE_FORMAT of a text, FROM_UNIXTIME, UNIX_TIMESTAMP, TO_DATE
and CONVERT_TZ. They are lenient: a field may be beyond its bounds, and what is behind is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache

from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.functions.calendar_fields import (
    DAYS,
    MONTHS,
    week_of_month,
    week_of_year,
)
from millrace.expressions.functions.java_zones import java_zone

__all__ = ["SimpleReading", "format_simple", "read_simple"]

_PIECE = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']|'")
_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "y": lambda t: t.year,
    "Y": lambda t: week_of_year(t.date())[0],
    "M": lambda t: t.month,
    "L": lambda t: t.month,
    "w": lambda t: week_of_year(t.date())[1],
    "W": lambda t: week_of_month(t.date()),
    "D": lambda t: t.timetuple().tm_yday,
    "d": lambda t: t.day,
    "F": lambda t: (t.day - 1) // 7 + 1,
    "u": lambda t: t.isoweekday(),
    "H": lambda t: t.hour,
    "k": lambda t: t.hour or 24,
    "K": lambda t: t.hour % 12,
    "h": lambda t: t.hour % 12 or 12,
    "m": lambda t: t.minute,
    "s": lambda t: t.second,
    "S": lambda t: t.microsecond // 1000,
}
_UNREAD = frozenset("wWFY")
"""Letters of weeks, from which no day is read."""
_YEARS_AHEAD = 20
"""A year of two digits is at most so far ahead."""


@dataclass(frozen=True, slots=True)
class SimpleReading:
    """Result of parsing a text: the wall-clock time, and the offset from UTC if the text has
    one."""

    time: datetime
    offset: timedelta | None = None

    def instant(self, zone: tzinfo) -> float:
        """Seconds since 1970. The zone is used if the text has no offset.

        As in Java, an hour that comes twice is the second one, and one that is left out is in the
        next.
        """
        if self.offset is not None:
            return (self.time - self.offset - _EPOCH).total_seconds()
        return max(self.time.replace(tzinfo=zone, fold=n).timestamp() for n in (0, 1))


_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class _Field:
    letter: str
    count: int
    abuts: bool = False
    """Another number follows at once, so it has as many digits as letters."""


@lru_cache(maxsize=256)
def _parts(pattern: str) -> tuple[str | _Field, ...]:
    parts: list[str | _Field] = []
    for piece in _PIECE.finditer(pattern):
        text, letter = piece[0], piece[2]
        if text == "'":
            raise EvaluationError(f"the date pattern {pattern!r} has a ' without its end")
        if letter is None:
            parts.append(text if piece[1] is None else (piece[1].replace("''", "'") or "'"))
        elif letter in _NUMBERS or letter in "GEazZX":
            if letter == "X" and len(text) > 3:
                raise EvaluationError(
                    f"the date pattern {pattern!r} has too many letters: {text!r}"
                )
            parts.append(_Field(letter, len(text)))
        else:
            raise EvaluationError(
                f"the date pattern {pattern!r} has the letter {letter!r}, which is unknown"
            )
    return tuple(parts)


def format_simple(value: datetime, pattern: str, zone: tzinfo) -> str:
    """Text of a time in the format of a pattern.

    Args:
        value: wall-clock time in the zone.
        pattern: a pattern of ``SimpleDateFormat``.
        zone: time zone that z, Z and X show.

    Raises:
        EvaluationError: it is no pattern.

    >>> from datetime import timezone
    >>> format_simple(datetime(2020, 3, 4, 15, 6), "yyyy/M/d h:mm a", timezone.utc)
    '2020/3/4 3:06 PM'
    """
    return "".join(
        part if isinstance(part, str) else _shown(part, value, zone) for part in _parts(pattern)
    )


def _shown(field: _Field, value: datetime, zone: tzinfo) -> str:
    letter, count = field.letter, field.count
    if letter == "G":
        return "AD"
    if letter == "a":
        return "AM" if value.hour < 12 else "PM"
    if letter == "E":
        return DAYS[value.weekday()][: None if count > 3 else 3]
    if letter in "ML" and count > 2:
        return MONTHS[value.month - 1][: None if count > 3 else 3]
    if letter in "zZX":
        return _shown_zone(field, value.replace(tzinfo=zone))
    number = _NUMBERS[letter](value)
    if letter in "yY" and count == 2:
        return f"{number % 100:02d}"
    return f"{number:0{count}d}"


def _shown_zone(field: _Field, value: datetime) -> str:
    offset = value.utcoffset() or timedelta()
    sign, minutes = "-" if offset < timedelta() else "+", abs(offset) // timedelta(minutes=1)
    hours, rest = f"{sign}{minutes // 60:02d}", f"{minutes % 60:02d}"
    if field.letter == "Z":
        return hours + rest
    if field.letter == "X":
        return "Z" if not offset else hours + ("", rest, f":{rest}")[field.count - 1]
    name = value.tzname() or ""
    if name[:3] == "UTC":
        long = "Coordinated Universal Time" if field.count > 3 else "UTC"
        return long if name == "UTC" else f"GMT{hours}:{rest}"
    if field.count > 3:
        raise EvaluationError(
            "zzzz, the long name of a zone, is supported only for UTC: write z or Z"
        )
    return name if name[:1].isalpha() else f"GMT{hours}:{rest}"


@lru_cache(maxsize=256)
def _reader(pattern: str) -> tuple[re.Pattern[str], tuple[_Field, ...]]:
    parts = _parts(pattern)
    fields: list[_Field] = []
    made = ""
    for part, following in zip(parts, (*parts[1:], ""), strict=True):
        if isinstance(part, str):
            made += re.escape(part)
            continue
        if part.letter in _UNREAD:
            raise EvaluationError(
                f"the date pattern {pattern!r} has the letter {part.letter!r}, from which no day "
                "can be read"
            )
        field = _Field(part.letter, part.count, _is_number(part) and _is_number(following))
        fields.append(field)
        readable = _readable(field) if field.abuts else f"(?>{_readable(field)})"
        made += rf"[ \t]*({readable})"
    return re.compile(made, re.ASCII | re.IGNORECASE), tuple(fields)


def _is_number(part: str | _Field) -> bool:
    named = isinstance(part, _Field) and part.letter in "MLE" and part.count > 2
    return isinstance(part, _Field) and part.letter in _NUMBERS and not named


def _readable(field: _Field) -> str:
    letter, count = field.letter, field.count
    if letter == "G":
        return "AD|BC"
    if letter == "a":
        return "AM|PM"
    if letter == "E" or (letter in "ML" and count > 2):
        names = DAYS if letter == "E" else MONTHS
        return "|".join((*names, *(name[:3] for name in names)))
    if letter == "X":
        return ("Z|[+-][0-9]{2}", "Z|[+-][0-9]{4}", "Z|[+-][0-9]{2}:[0-9]{2}")[count - 1]
    if letter in "zZ":
        return "(?:GMT)?[+-][0-9]{1,2}:?[0-9]{2}|[A-Za-z][A-Za-z0-9/_]*"
    return rf"[0-9]{{1,{count}}}" if field.abuts else "-?[0-9]+"


def read_simple(text: str, pattern: str) -> SimpleReading | None:
    """The time at the beginning of a text, in the format of a pattern; None if the text does not
    match or the year is not in 1 to 9999.

    Raises:
        EvaluationError: nothing can be read by this pattern.

    >>> read_simple("2024-1-2 3:4:5 and more", "yyyy-MM-dd HH:mm:ss")
    SimpleReading(time=datetime.datetime(2024, 1, 2, 3, 4, 5), offset=None)
    """
    regex, fields = _reader(pattern)
    match = regex.match(text)
    if not match:
        return None
    read: dict[str, int] = {}
    offset = None
    try:
        for field, part in zip(fields, match.groups(), strict=True):
            if field.letter in "zZX":
                offset = _offset(part)
            else:
                read[field.letter] = _number(field, part)
        if read.get("G"):
            return None
        return SimpleReading(_day(read) + _time(read), offset)
    except (ValueError, OverflowError):
        return None


def _number(field: _Field, text: str) -> int:
    letter = field.letter
    if letter in "Ga":
        return int(text[0] in "BbPp")
    if not text.lstrip("-").isdigit():
        names = DAYS if letter == "E" else MONTHS
        return next(n for n, name in enumerate(names, 1) if name[:3].lower() == text[:3].lower())
    number = int(text[:_MOST_DIGITS])
    if letter == "y" and field.count <= 2 and len(text) == 2:
        return _in_this_century(number)
    return number


_MOST_DIGITS = 12
"""More are of no year and of no second within the years 1 to 9999."""


def _in_this_century(year: int) -> int:
    last = datetime.now().year + _YEARS_AHEAD
    full_year = last - last % 100 + year
    return full_year if full_year <= last else full_year - 100


def _offset(text: str) -> timedelta:
    digits = re.sub(r"[^0-9]", "", text)
    if digits and ("+" in text or "-" in text):
        span = timedelta(hours=int(digits[:-2] or 0), minutes=int(digits[-2:]))
        if len(digits) <= 2:
            span = timedelta(hours=int(digits))
        return -span if "-" in text else span
    zone = java_zone(text.upper()) or java_zone(text)
    if text in ("Z", "z"):
        return timedelta()
    if zone is None:
        raise ValueError(f"{text!r} is not a time zone")
    return zone.utcoffset(_EPOCH) or timedelta()


def _day(read: dict[str, int]) -> datetime:
    year = read.get("y", 1970)
    if "D" in read:
        return datetime(year, 1, 1) + timedelta(days=read["D"] - 1)
    months = year * 12 + read.get("M", read.get("L", 1)) - 1
    return datetime(months // 12, months % 12 + 1, 1) + timedelta(days=read.get("d", 1) - 1)


def _time(read: dict[str, int]) -> timedelta:
    if "H" in read or "k" in read:
        hour = read["H"] if "H" in read else (0 if read["k"] == 24 else read["k"])
    else:
        half = read.get("h", read.get("K", 0))
        hour = (0 if half == 12 and "h" in read else half) + 12 * read.get("a", 0)
    return timedelta(
        hours=hour,
        minutes=read.get("m", 0),
        seconds=read.get("s", 0),
        milliseconds=read.get("S", 0),
    )
