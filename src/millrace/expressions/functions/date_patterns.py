"""Java's date patterns (``DateTimeFormatter``): text of times, and times of text."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache

from millrace.expressions.evaluation_error import EvaluationError

__all__ = ["finest_unit", "format_time", "parse_with"]

_PIECE = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
           "October", "November", "December")  # fmt: skip
_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "M": lambda t: t.month,
    "L": lambda t: t.month,
    "d": lambda t: t.day,
    "D": lambda t: t.timetuple().tm_yday,
    "H": lambda t: t.hour,
    "k": lambda t: t.hour or 24,
    "h": lambda t: t.hour % 12 or 12,
    "K": lambda t: t.hour % 12,
    "m": lambda t: t.minute,
    "s": lambda t: t.second,
    "e": lambda t: t.isoweekday() % 7 + 1,
    "w": lambda t: t.isocalendar().week,
    "Q": lambda t: (t.month + 2) // 3,
}


@lru_cache(maxsize=256)
def _formatter(pattern: str) -> tuple[Callable[[datetime], str], ...]:
    return tuple(_piece(found) for found in _PIECE.finditer(pattern))


def _piece(found: re.Match[str]) -> Callable[[datetime], str]:
    text, letter = found[0], found[2]
    if letter is None:
        plain = text if found[1] is None else (found[1].replace("''", "'") or "'")
        return lambda t: plain
    count = len(text)
    if letter in "yuY":
        return lambda t: f"{t.year % 100:02d}" if count == 2 else f"{t.year:0{count}d}"
    if letter == "S":
        return lambda t: f"{t.microsecond:06d}000"[:count]
    if letter == "a":
        return lambda t: "AM" if t.hour < 12 else "PM"
    if letter == "E":
        return lambda t: _DAYS[t.weekday()][: None if count == 4 else 3]
    if letter in "ML" and count > 2:
        return lambda t: _MONTHS[t.month - 1][: None if count == 4 else 3]
    if letter in _NUMBERS:
        number = _NUMBERS[letter]
        return lambda t: f"{number(t):0{count}d}"
    raise EvaluationError(f"the date pattern letter {letter!r} is not supported")


def format_time(value: datetime, pattern: str) -> str:
    """A time as a pattern shows it.

    >>> format_time(datetime(2020, 3, 4, 15, 6), "yyyy/M/d h:mm a")
    '2020/3/4 3:06 PM'
    """
    return "".join(piece(value) for piece in _formatter(pattern))


_UNITS = (("second", "s"), ("minute", "m"), ("hour", "HkhKa"), ("day", "yuYMLdDEewQ"))


@lru_cache(maxsize=256)
def finest_unit(pattern: str) -> str | None:
    """The unit of which the text of a time depends on nothing finer; None: it shows fractions.

    >>> finest_unit("yyyy-MM-dd"), finest_unit("HH:mm")
    ('day', 'minute')
    """
    letters = {found[2] for found in _PIECE.finditer(pattern) if found[2]}
    if not letters <= {letter for _, known in _UNITS for letter in known}:
        return None
    return next((unit for unit, known in _UNITS if letters & set(known)), "day")


@lru_cache(maxsize=256)
def _reader(pattern: str) -> tuple[re.Pattern[str], str]:
    made, letters = "", ""
    for found in _PIECE.finditer(pattern):
        text, letter = found[0], found[2]
        if letter is None:
            made += re.escape(text if found[1] is None else (found[1].replace("''", "'") or "'"))
            continue
        letters += letter
        if letter == "a":
            made += "([AaPp][Mm])"
        elif (letter in "ML" and len(text) > 2) or letter == "E":
            made += "([A-Za-z]+)"
        elif letter in "yuMLdHhkKmsSD":
            made += rf"(\d{{{len(text)}}})" if len(text) > 1 else r"(\d+)"
        else:
            raise EvaluationError(f"the date pattern letter {letter!r} cannot be read")
    return re.compile(made), letters


def parse_with(text: str, pattern: str) -> datetime | None:
    """The time that a text shows by a pattern; None where it does not.

    >>> parse_with("04.03.2020", "dd.MM.yyyy")
    datetime.datetime(2020, 3, 4, 0, 0)
    """
    regex, letters = _reader(pattern)
    found = regex.fullmatch(text)
    if not found:
        return None
    parts = dict(zip(letters, found.groups(), strict=True))
    try:
        return _assembled(parts)
    except (ValueError, KeyError):
        return None


def _assembled(parts: dict[str, str]) -> datetime:
    years = parts.get("y", parts.get("u", "1970"))
    year = int(years) + (2000 if len(years) == 2 else 0)
    month_text = parts.get("M", parts.get("L", "1"))
    names = {name[:3].lower(): number for number, name in enumerate(_MONTHS, 1)}
    month = int(month_text) if month_text.isdigit() else names[month_text[:3].lower()]
    hour = int(parts.get("H", parts.get("k", "0"))) % 24 if parts.keys() & {"H", "k"} else 0
    if int(parts.get("H", "0")) > 23:
        raise ValueError("no such hour")
    if parts.keys() & {"h", "K"}:
        hour = int(parts.get("h", parts.get("K", "0"))) % 12
        hour += 12 if parts.get("a", "am").lower() == "pm" else 0
    micros = int(parts.get("S", "0").ljust(6, "0")[:6])
    minute, second = int(parts.get("m", "0")), int(parts.get("s", "0"))
    made = datetime(year, month, int(parts.get("d", "1")), hour, minute, second, micros)
    return made + timedelta(days=int(parts["D"]) - 1) if "D" in parts else made
