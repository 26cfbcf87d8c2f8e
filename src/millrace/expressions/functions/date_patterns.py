"""Java's date patterns (``DateTimeFormatter``) in English: formats and parses times.

`simple_date_patterns` has those of ``SimpleDateFormat``, which Flink uses for some functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache

from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.functions.calendar_fields import (
    DAYS,
    MONTHS,
    day_of_week,
    week_of_month,
    week_of_year,
)

__all__ = ["digits_of_second", "finest_unit", "format_time", "parse_with"]

_PIECE = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']|'")
_EPOCH = datetime(1970, 1, 1)
_MOST_SECTIONS = 100
_MODIFIED_JULIAN = date(1858, 11, 17).toordinal()
_WIDEST = 19
_COUNTS: dict[str, range | tuple[int, ...]] = {
    **dict.fromkeys("uyYAnNg", range(1, _WIDEST + 1)),
    **dict.fromkeys("GMLQqEe", range(1, 6)),
    **dict.fromkeys("dhHkKmsw", range(1, 3)),
    **dict.fromkeys("WFa", range(1, 2)),
    **dict.fromkeys("Xx", range(1, 6)),
    "c": (1, 3, 4, 5),
    "D": range(1, 4),
    "S": range(1, 10),
    "B": (1, 4, 5),
    "V": (2,),
    "v": (1, 4),
    "z": range(1, 5),
    "O": (1, 4),
    "Z": range(1, 6),
}
"""Numbers of repetitions that each letter may have."""
_ZONED = frozenset("VvzOXxZ")
Printer = Callable[[datetime, int], str]
"""Makes a text of a time and its nanoseconds."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A run of equal letters in a pattern, which is one field, and the width to which it is padded
    with blanks.
    """

    letter: str
    count: int
    width: int = 0


@dataclass(frozen=True, slots=True)
class _Section:
    """An optional section in square brackets."""

    parts: tuple[_Part, ...]


_Part = str | _Field | _Section


@lru_cache(maxsize=256)
def _parts(pattern: str) -> tuple[_Part, ...]:
    """The parts of a pattern.

    Raises:
        EvaluationError: the pattern is invalid.
    """
    if pattern.count("[") > _MOST_SECTIONS:
        raise EvaluationError(f"a date pattern has at most {_MOST_SECTIONS} optional sections")
    pieces = (match[0] for match in _PIECE.finditer(pattern))
    parts, closed = _section(pieces, pattern)
    if closed:
        raise EvaluationError(f"the date pattern {pattern!r} has a ] without its [")
    return parts


def _section(pieces: Iterator[str], pattern: str) -> tuple[tuple[_Part, ...], bool]:
    """The parts up to the end or to a closing bracket, and whether there is such a bracket."""
    parts: list[_Part] = []
    for piece in pieces:
        if piece == "[":
            parts.append(_Section(_section(pieces, pattern)[0]))
        elif piece == "]":
            return tuple(parts), True
        elif piece in ("{", "}", "#", "'"):
            wrong = "a ' without its end" if piece == "'" else f"the reserved character {piece}"
            raise EvaluationError(f"the date pattern {pattern!r} has {wrong}")
        elif piece[0] == "'":
            parts.append(piece[1:-1].replace("''", "'") or "'")
        elif piece[0] == "p":
            parts.append(_field(next(pieces, ""), pattern, len(piece)))
        elif piece.isascii() and piece.isalpha():
            parts.append(_field(piece, pattern))
        else:
            parts.append(piece)
    return tuple(parts), False


def _field(letters: str, pattern: str, width: int = 0) -> _Field:
    letter, count = letters[:1], len(letters)
    if letter not in _COUNTS:
        raise EvaluationError(
            f"the date pattern {pattern!r} has the letter {letter!r}, which is unknown"
        )
    if count not in _COUNTS[letter]:
        raise EvaluationError(f"the date pattern {pattern!r} has too many letters: {letters!r}")
    return _Field(letter, count, width)


def format_time(value: datetime | int, pattern: str) -> str:
    """Text of a time in the format of a pattern.

    Args:
        value: a datetime, or nanoseconds since 1970.
        pattern: a pattern of ``DateTimeFormatter``.

    Raises:
        EvaluationError: it is no pattern, or shows a zone, which the time has not.

    >>> format_time(datetime(2020, 3, 4, 15, 6), "yyyy/M/d h:mm a")
    '2020/3/4 3:06 PM'
    """
    if isinstance(value, int):
        seconds, nanos = divmod(value, 10**9)
        value = _EPOCH + timedelta(seconds=seconds)
    else:
        nanos = value.microsecond * 1000
    return "".join([piece(value, nanos) for piece in _printers(pattern)])


@lru_cache(maxsize=256)
def _printers(pattern: str) -> tuple[Printer, ...]:
    return tuple(_printers_of(_parts(pattern), pattern, optional=False))


def _printers_of(parts: tuple[_Part, ...], pattern: str, optional: bool) -> list[Printer]:
    """Printers of the parts of a pattern; empty for an optional section that shows a zone."""
    made: list[Printer] = []
    for part in parts:
        if isinstance(part, _Section):
            made.extend(_printers_of(part.parts, pattern, optional=True))
        elif isinstance(part, str):
            made.append(_constant(part))
        elif part.letter not in _ZONED:
            made.append(_printer(part))
        elif optional:
            return []
        else:
            raise EvaluationError(
                f"the date pattern {pattern!r} has the letter {part.letter!r} for a zone, which "
                "a timestamp has not"
            )
    return made


def _constant(text: str) -> Printer:
    return lambda t, nanos: text


def _printer(field: _Field) -> Printer:
    plain = _unpadded(field)
    if not field.width:
        return plain

    def padded(value: datetime, nanos: int) -> str:
        text = plain(value, nanos)
        if len(text) > field.width:
            raise EvaluationError(
                f"{text!r} is longer than its {field.width} places in the pattern"
            )
        return text.rjust(field.width)

    return padded


def _unpadded(field: _Field) -> Printer:
    letter, count = field.letter, field.count
    if letter in _TEXTS and count >= _TEXTS[letter][0]:
        shown = _TEXTS[letter][1]
        return lambda t, nanos: shown(t, count)
    number = _NUMBERS[letter]
    if letter in "uyY" and count == 2:
        return lambda t, nanos: f"{number(t, nanos) % 100:02d}"
    if letter == "S":
        return lambda t, nanos: f"{nanos:09d}"[:count]
    if letter == "g":  # Python counts the sign as one of the digits
        return lambda t, nanos: f"{number(t, nanos):0{count + (number(t, nanos) < 0)}d}"
    return lambda t, nanos: f"{number(t, nanos):0{count}d}"


def _named(names: tuple[str, ...], place: int, count: int) -> str:
    name = names[place]
    return name if count == 4 else name[: 1 if count == 5 else 3]


def _era(count: int) -> str:
    return "Anno Domini" if count == 4 else "AD"[: 1 if count == 5 else 2]


def _quarter(t: datetime, count: int) -> str:
    number = (t.month + 2) // 3
    if count == 4:
        return f"{number}{('st', 'nd', 'rd', 'th')[number - 1]} quarter"
    return str(number) if count == 5 else f"Q{number}"


_DAY_PERIODS = ((6, "at night"), (12, "in the morning"), (18, "in the afternoon"),
                (21, "in the evening"), (24, "at night"))  # fmt: skip


def _day_period(t: datetime, count: int) -> str:
    if t.minute == 0 and t.hour in (0, 12):
        names = ("midnight", "noon") if count < 5 else ("mi", "n")
        return names[t.hour // 12]
    return next(name for end, name in _DAY_PERIODS if t.hour < end)


_TEXTS: dict[str, tuple[int, Callable[[datetime, int], str]]] = {
    "G": (1, lambda t, count: _era(count)),
    "M": (3, lambda t, count: _named(MONTHS, t.month - 1, count)),
    "L": (3, lambda t, count: _named(MONTHS, t.month - 1, count)),
    "Q": (3, _quarter),
    "q": (3, _quarter),
    "E": (1, lambda t, count: _named(DAYS, t.weekday(), count)),
    "e": (3, lambda t, count: _named(DAYS, t.weekday(), count)),
    "c": (3, lambda t, count: _named(DAYS, t.weekday(), count)),
    "a": (1, lambda t, count: "AM" if t.hour < 12 else "PM"),
    "B": (1, _day_period),
}
"""Letters that make names, from how many of them on; they are given how many there are."""


def _nano_of_day(t: datetime, nanos: int) -> int:
    return (t.hour * 3600 + t.minute * 60 + t.second) * 10**9 + nanos


_NUMBERS: dict[str, Callable[[datetime, int], int]] = {
    "u": lambda t, nanos: t.year,
    "y": lambda t, nanos: t.year,
    "Y": lambda t, nanos: week_of_year(t.date())[0],
    "M": lambda t, nanos: t.month,
    "L": lambda t, nanos: t.month,
    "d": lambda t, nanos: t.day,
    "D": lambda t, nanos: t.timetuple().tm_yday,
    "H": lambda t, nanos: t.hour,
    "k": lambda t, nanos: t.hour or 24,
    "h": lambda t, nanos: t.hour % 12 or 12,
    "K": lambda t, nanos: t.hour % 12,
    "m": lambda t, nanos: t.minute,
    "s": lambda t, nanos: t.second,
    "S": lambda t, nanos: nanos,
    "e": lambda t, nanos: day_of_week(t.date()),
    "c": lambda t, nanos: day_of_week(t.date()),
    "w": lambda t, nanos: week_of_year(t.date())[1],
    "W": lambda t, nanos: week_of_month(t.date()),
    "F": lambda t, nanos: (t.day - 1) % 7 + 1,
    "Q": lambda t, nanos: (t.month + 2) // 3,
    "q": lambda t, nanos: (t.month + 2) // 3,
    "n": lambda t, nanos: nanos,
    "N": _nano_of_day,
    "A": lambda t, nanos: _nano_of_day(t, nanos) // 10**6,
    "g": lambda t, nanos: t.toordinal() - _MODIFIED_JULIAN,
}
_UNITS = (("second", "s"), ("minute", "mB"), ("hour", "HkhKa"), ("day", "GuyYMLdDEecwWFQqg"))


@lru_cache(maxsize=256)
def finest_unit(pattern: str) -> str | None:
    """The finest unit of time that the pattern shows; None if it shows fractions.

    >>> finest_unit("yyyy-MM-dd"), finest_unit("HH:mm")
    ('day', 'minute')
    """
    letters = {match[1] for match in _PIECE.finditer(pattern) if match[1]}
    if not letters <= {letter for _, known in _UNITS for letter in known}:
        return None
    return next((unit for unit, known in _UNITS if letters & set(known)), "day")


def digits_of_second(pattern: str) -> int:
    """Number of digits after a second's decimal point that a pattern reads.

    >>> digits_of_second("HH:mm:ss.SSSSSS")
    6
    """
    pieces = (match[0] for match in _PIECE.finditer(pattern) if match[1] == "S")
    return min(max(map(len, pieces), default=0), 9)


@lru_cache(maxsize=256)
def _reader(pattern: str) -> tuple[re.Pattern[str], tuple[_Field, ...]]:
    fields: list[_Field] = []
    made = _expression(_parts(pattern), fields, pattern)
    return re.compile(made, re.ASCII), tuple(fields)


def _expression(parts: tuple[_Part, ...], fields: list[_Field], pattern: str) -> str:
    """A regular expression for the parts, with one group per field.

    As in Java, a number of any width leaves digits for those of fixed widths that follow at once,
    and nothing is read in another way for the sake of what follows later.
    """
    made, numbers = "", ""
    for part in parts:
        text = _expression_of(part, fields, pattern)
        if numbers and not _FIXED_NUMBER.fullmatch(text):
            made, numbers = f"{made}(?>{numbers})", ""
        if numbers or (_WIDE_NUMBER.search(text) and isinstance(part, _Field)):
            numbers += text
        else:
            made += text
    return f"{made}(?>{numbers})" if numbers else made


_FIXED_NUMBER = re.compile(r"\(\\d\{\d+\}\)")
_WIDE_NUMBER = re.compile(r"\{\d+,")


def _expression_of(part: _Part, fields: list[_Field], pattern: str) -> str:
    if isinstance(part, str):
        return re.escape(part)
    if isinstance(part, _Section):
        return f"(?>(?:{_expression(part.parts, fields, pattern)})?)"
    readable = _readable(part)
    if readable is None:
        raise EvaluationError(
            f"the date pattern {pattern!r} has the letter {part.letter!r}, which cannot be read"
        )
    fields.append(part)
    return f"{' *' if part.width else ''}({readable})"


def _one_of(names: tuple[str, ...], count: int) -> str:
    return "|".join(_named(names, place, count) for place in range(len(names)))


_OFFSETS = (
    r"[+-]\d\d(?:\d\d)?",
    r"[+-]\d{4}",
    r"[+-]\d\d:\d\d",
    r"[+-]\d{4}(?:\d\d)?",
    r"[+-]\d\d:\d\d(?::\d\d)?",
)
"""Patterns of the texts that X and x read, by the number of letters."""
_NAMED_ZONE = r"[A-Za-z][A-Za-z0-9~/._+-]+"
_READ_ZONES: dict[str, str] = {
    "O": r"GMT(?:[+-]\d{1,2}(?::\d\d(?::\d\d)?)?)?",
    "V": rf"{_NAMED_ZONE}|Z|[+-]\d\d:\d\d",
    "v": _NAMED_ZONE,
    "z": rf"{_NAMED_ZONE}(?: {_NAMED_ZONE})*",
}


def _readable(field: _Field) -> str | None:
    """A regular expression for a field; None if the field cannot be parsed."""
    letter, count = field.letter, field.count
    if letter in "XxZ":
        return _readable_offset(letter, count)
    if letter in _READ_ZONES:
        return _READ_ZONES[letter]
    if letter in "ML" and count > 2:
        return _one_of(MONTHS, count)
    if letter == "E" or (letter in "ec" and count > 2):
        return _one_of(DAYS, max(count, 3))
    if letter in "Qq" and count > 2:
        return {3: "Q[1-4]", 4: "(?:1st|2nd|3rd|4th) quarter"}.get(count, "[1-4]")
    if letter in _TEXTS and _TEXTS[letter][0] == 1:
        eras = {4: "Anno Domini|Before Christ", 5: "A|B"}.get(count, "AD|BC")
        return {"a": "AM|PM", "G": eras}.get(letter)
    return _readable_number(letter, count)


def _readable_offset(letter: str, count: int) -> str:
    if letter == "Z":
        return {4: r"GMT(?:[+-]\d\d:\d\d)?", 5: f"Z|{_OFFSETS[4]}"}.get(count, _OFFSETS[1])
    return f"Z|{_OFFSETS[count - 1]}" if letter == "X" else _OFFSETS[count - 1]


def _readable_number(letter: str, count: int) -> str:
    if letter == "S" or (letter == "D" and count == 3):
        return rf"\d{{{count}}}"
    if letter == "D" and count == 2:
        return r"\d{2,3}"
    if letter in "uyY" and count > 3:
        return rf"\+\d{{{count + 1},{_WIDEST}}}|\d{{{count}}}"
    if letter in "uyYAnNg" and count != 2:
        return rf"\d{{{count},{_WIDEST}}}"
    return rf"\d{{{count}}}" if count == 2 else rf"\d{{1,{_WIDEST}}}"


def parse_with(text: str, pattern: str) -> datetime | None:
    """The time that a text shows in the format of a pattern; None if the text does not match. An
    offset is ignored.

    >>> parse_with("04.03.2020", "dd.MM.yyyy")
    datetime.datetime(2020, 3, 4, 0, 0)
    >>> parse_with("20240105T030405Z", "yyyyMMdd'T'HHmmssX")
    datetime.datetime(2024, 1, 5, 3, 4, 5)
    """
    regex, fields = _reader(pattern)
    match = regex.fullmatch(text)
    if not match:
        return None
    read = {
        field.letter: _number(field, part)
        for field, part in zip(fields, match.groups(), strict=True)
        if part is not None and field.letter not in _ZONED
    }
    try:
        return _day(read) + _time(read)
    except (ValueError, OverflowError):
        return None


def _number(field: _Field, text: str) -> int:
    """Number that the text of a field stands for."""
    letter, count = field.letter, field.count
    if letter == "S":
        return int(text.ljust(9, "0"))
    if text.lstrip("+").isdigit():
        return int(text) + (2000 if letter in "uyY" and count == 2 else 0)
    if letter in "ML":
        return next(n for n, name in enumerate(MONTHS, 1) if name.startswith(text))
    if letter in "Eec":
        return next(n for n, name in enumerate(DAYS, 1) if name.startswith(text)) % 7 + 1
    if letter in "Qq":
        return int(text.lstrip("Q")[0])
    return int(text[0] in "PB")  # PM, BC


def _within(read: dict[str, int], letter: str, first: int, last: int) -> int:
    value = read.get(letter, first)
    if not first <= value <= last:
        raise ValueError(f"{value} is not within {first} and {last}")
    return value


def _day(read: dict[str, int]) -> datetime:
    year = 1 - read["y"] if read.get("G") and "y" in read else read.get("y", read.get("u"))
    month = _within(read, "M" if "M" in read else "L", 1, 12)
    day = _within(read, "d", 1, 31)
    if year is not None and "D" in read:
        made = datetime(year, 1, 1) + timedelta(days=_within(read, "D", 1, 366) - 1)
        if made.year != year:
            raise ValueError(f"{year} has no such day")
    elif "Y" in read and "w" in read and read.keys() & {"e", "E", "c"}:
        return _day_of_week(read)
    else:
        if year is not None and "d" in read and read.keys() & {"M", "L"}:
            last = (datetime(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)).day
            day = min(day, last)  # as Java, which takes the last day for one that is not there
        made = datetime(1970 if year is None else year, month, day)
    named = read.get("E", read.get("e", read.get("c")))
    if named is not None and year is not None and named != day_of_week(made.date()):
        raise ValueError("it is another day of the week")
    return made


def _day_of_week(read: dict[str, int]) -> datetime:
    """The day, given by week-based year, week and day of the week."""
    first = datetime(read["Y"], 1, 1)
    start = first - timedelta(days=day_of_week(first.date()) - 1)
    named = read.get("E", read.get("e", read.get("c", 1)))
    return start + timedelta(weeks=_within(read, "w", 1, 53) - 1, days=named - 1)


def _time(read: dict[str, int]) -> timedelta:
    """The time of day; a 12-hour value without AM or PM is ignored."""
    nanos = read.get("n", read.get("S", 0))
    if "N" in read or "A" in read:
        whole = read["N"] if "N" in read else read["A"] * 10**6
        if not 0 <= whole < 86_400 * 10**9:
            raise ValueError("a day has less")
        return timedelta(microseconds=whole // 1000)
    minute, second = _within(read, "m", 0, 59), _within(read, "s", 0, 59)
    hour = _hour(read)
    if hour == 24 and (minute or second or nanos):
        raise ValueError("a day has 24 hours")
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=nanos // 1000)


def _hour(read: dict[str, int]) -> int:
    if "H" in read:
        return _within(read, "H", 0, 24)
    if "k" in read:
        return _within(read, "k", 1, 24) % 24
    half = _within(read, "h", 1, 12) % 12 if "h" in read else _within(read, "K", 0, 11)
    return half + 12 * read["a"] if "a" in read else 0
