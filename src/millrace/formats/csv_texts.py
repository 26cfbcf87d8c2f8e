"""Texts of CSV values that Flink writes differently from Python, and parsing of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, time
from typing import Any

from millrace.common.time.nanosecond_datetime import in_utc, text_of_datetime
from millrace.common.types.type_information import BasicTypeInfo, TypeInformation
from millrace.common.types.value_types import BigDecTypeInfo
from millrace.formats.json_reading import BLANKS, number_reader

__all__ = ["clock_text", "java_text", "text_reader"]

Read = Callable[[str], Any]


def text_reader(kind: TypeInformation[Any]) -> Read | None:
    """Reader of numbers and booleans; None for other types. It reads as `number_reader` does, but
    it is faster for ordinary fractions and accepts blanks around decimals (Flink trims them in CSV,
    not in JSON).
    """
    careful = number_reader(kind)
    if careful is not None and isinstance(kind, BigDecTypeInfo):
        return _trimmed(careful)
    label = kind.label if isinstance(kind, BasicTypeInfo) else ""
    if careful is None or label not in ("FLOAT", "DOUBLE"):
        return careful
    return _float_reader(careful)


def _trimmed(read: Read) -> Read:
    return lambda text: read(text.strip(BLANKS))


def _float_reader(careful: Read) -> Read:
    isfinite = math.isfinite

    def read(text: str) -> Any:
        try:
            number = float(text)
        except ValueError:
            return careful(text)
        ordinary = isfinite(number) and "_" not in text and text.isascii()
        return number if ordinary else careful(text)

    return read


def java_text(value: float) -> str:
    """Text of a number as Python writes it; NaN and infinity as Java writes them.

    >>> java_text(1.5), java_text(float("nan")), java_text(float("-inf"))
    ('1.5', 'NaN', '-Infinity')
    """
    number = float(value)
    if math.isfinite(number):
        return repr(number)
    return "NaN" if math.isnan(number) else f"{'-' * (number < 0)}Infinity"


def clock_text(value: datetime | time) -> str:
    """Text of a time or timestamp without trailing zeros in its fraction. A zoned timestamp is
    written in UTC, with a Z.

    >>> clock_text(datetime(1970, 1, 1, 0, 0, 1, 500_000)), clock_text(time(10))
    ('1970-01-01 00:00:01.5', '10:00:00')
    """
    if isinstance(value, time):
        return _shortened(value.isoformat())
    if value.tzinfo is None:
        return _shortened(text_of_datetime(value))
    text = _shortened(text_of_datetime(in_utc(value)))
    return f"{text}Z"


def _shortened(text: str) -> str:
    return text.rstrip("0") if "." in text else text
