"""Amounts of time and points in time, with the names of PyFlink."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

__all__ = ["Duration", "Instant", "Time", "millis"]

NANOS_PER_MILLI = 1_000_000
NANOS_PER_SECOND = 1_000_000_000
UNIT_NANOS = {
    "d": 86_400 * NANOS_PER_SECOND,
    "h": 3_600 * NANOS_PER_SECOND,
    "min": 60 * NANOS_PER_SECOND,
    "s": NANOS_PER_SECOND,
    "ms": NANOS_PER_MILLI,
    "us": 1_000,
    "ns": 1,
}
UNIT_NAMES = {
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("h", "hour", "hours"), "h"),
    **dict.fromkeys(("m", "min", "minute", "minutes"), "min"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "µs", "micro", "micros", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), "ns"),
}


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """An amount of time, kept in nanoseconds; may be negative.

    Example:
        >>> Duration.of_seconds(90).to_millis()
        90000
    """

    nanos: int

    @staticmethod
    def of_days(days: int) -> Duration:
        """A number of days of 24 hours."""
        return Duration(days * 86_400 * NANOS_PER_SECOND)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """A number of hours."""
        return Duration(hours * 3_600 * NANOS_PER_SECOND)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """A number of minutes."""
        return Duration(minutes * 60 * NANOS_PER_SECOND)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """A number of seconds."""
        return Duration(seconds * NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """A number of milliseconds."""
        return Duration(millis * NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """A number of nanoseconds."""
        return Duration(nanos)

    @staticmethod
    def parse(text: str) -> Duration:
        """Parse ``"10 s"``; units are d, h, min, s, ms, us and ns, the default is ms.

        Raises:
            ValueError: it is not a whole number with one of these units.
        """
        match = re.fullmatch(r"\s*(\d+)\s*([a-zµ]*)\s*", text.lower())
        if match is None or match[2] not in UNIT_NAMES:
            raise ValueError(f"{text!r} is not a duration such as '10 s', '500 ms' or '2 h'")
        return Duration(int(match[1]) * UNIT_NANOS[UNIT_NAMES[match[2]]])

    def to_millis(self) -> int:
        """Whole milliseconds; smaller fractions are cut off."""
        return self.nanos // NANOS_PER_MILLI

    def to_timedelta(self) -> timedelta:
        """The duration in the standard library's type, in microseconds."""
        return timedelta(microseconds=self.nanos // 1000)

    def __str__(self) -> str:
        if not self.nanos:
            return "0 ms"
        unit = next(unit for unit, size in UNIT_NANOS.items() if self.nanos % size == 0)
        return f"{self.nanos // UNIT_NANOS[unit]} {unit}"


@dataclass(frozen=True, slots=True, order=True, init=False)
class Time:
    """An amount of time, such as the size of a window.

    Example:
        >>> Time.minutes(5).to_milliseconds(), str(Time(milliseconds=20))
        (300000, '20 ms')
    """

    size_ms: int

    def __init__(self, milliseconds: int) -> None:
        object.__setattr__(self, "size_ms", milliseconds)

    def __str__(self) -> str:
        return f"{self.size_ms} ms"

    @staticmethod
    def days(days: int) -> Time:
        """A number of days of 24 hours."""
        return Time(days * 86_400_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """A number of hours."""
        return Time(hours * 3_600_000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """A number of minutes."""
        return Time(minutes * 60_000)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """A number of seconds."""
        return Time(seconds * 1000)

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """A number of milliseconds."""
        return Time(milliseconds)

    def to_milliseconds(self) -> int:
        """The amount in milliseconds."""
        return self.size_ms


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A point in time, as seconds since the epoch (UTC) and nanoseconds of that second.

    Example:
        >>> Instant.of_epoch_milli(1_500)
        Instant(seconds=1, nanos=500000000)
        >>> Instant.of_epoch_milli(-1).to_epoch_milli()
        -1
    """

    seconds: int
    nanos: int

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """The instant a number of milliseconds after the epoch."""
        seconds, rest = divmod(epoch_milli, 1000)
        return Instant(seconds, rest * NANOS_PER_MILLI)

    def to_epoch_milli(self) -> int:
        """Milliseconds since the epoch; smaller fractions are cut off."""
        return self.seconds * 1000 + self.nanos // NANOS_PER_MILLI

    def to_datetime(self) -> datetime:
        """The instant in the standard library's type (UTC, microseconds)."""
        whole = datetime.fromtimestamp(self.seconds, UTC)
        return whole + timedelta(microseconds=self.nanos // 1000)


def millis(value: Duration | Time | timedelta | int) -> int:
    """Milliseconds of any amount of time; an ``int`` is milliseconds already.

    Raises:
        TypeError: the value is something else.

    Example:
        >>> millis(timedelta(seconds=2)), millis(Duration.of_hours(1)), millis(250)
        (2000, 3600000, 250)
    """
    if isinstance(value, Duration):
        return value.to_millis()
    if isinstance(value, Time):
        return value.size_ms
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(
        f"an amount of time is a Duration, Time, timedelta or a whole number of milliseconds, "
        f"got {value!r}"
    )
