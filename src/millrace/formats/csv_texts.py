"""Texts of values in CSV where Python's own are others than Flink's."""

from __future__ import annotations

import math
from datetime import UTC, datetime, time

__all__ = ["clock_text", "java_text"]


def java_text(value: float) -> str:
    """A number as Python writes it; those that are none as Java does.

    >>> java_text(1.5), java_text(float("nan")), java_text(float("-inf"))
    ('1.5', 'NaN', '-Infinity')
    """
    number = float(value)
    if math.isfinite(number):
        return repr(number)
    return "NaN" if math.isnan(number) else f"{'-' * (number < 0)}Infinity"


def clock_text(value: datetime | time) -> str:
    """A time or a timestamp without zeros at the end of its fraction. One in a zone is in UTC, with
    a Z.

    >>> clock_text(datetime(1970, 1, 1, 0, 0, 1, 500_000)), clock_text(time(10))
    ('1970-01-01 00:00:01.5', '10:00:00')
    """
    if isinstance(value, time):
        return _shortened(value.isoformat())
    zone = ""
    if value.tzinfo is not None:
        value, zone = value.astimezone(UTC).replace(tzinfo=None), "Z"
    return _shortened(value.isoformat(" ")) + zone


def _shortened(text: str) -> str:
    return text.rstrip("0") if "." in text else text
