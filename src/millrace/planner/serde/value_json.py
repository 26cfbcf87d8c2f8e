"""Constants and types of plans as JSON and back."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.logical.parser import parse_type

__all__ = ["KIND", "reads_back", "value_of", "written_value"]

KIND = "@"
"""The key of an object that says what it stands for; its value is under ``value``."""

_MICROSECOND = timedelta(microseconds=1)


_KINDS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "type": (LogicalType, str, parse_type),
    "decimal": (Decimal, str, Decimal),
    "bytes": (bytes, lambda raw: base64.b64encode(raw).decode(), base64.b64decode),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "duration": (
        timedelta,
        lambda span: span // _MICROSECOND,
        lambda count: timedelta(microseconds=count),
    ),
}
"""Class, writer and reader of values in JSON, by name. A datetime is a date, too."""


def reads_back(kind: LogicalType) -> bool:
    """Whether a type's text describes it completely; an interval's text omits unused digits."""
    return parse_type(str(kind)) == kind


def written_value(value: Any) -> Any:
    """A constant as JSON.

    Raises:
        JobDefinitionError: the value's class is not supported.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {KIND: "float", "value": repr(value)}
    for kind, (of, write, _) in _KINDS.items():
        if isinstance(value, of):
            return {KIND: kind, "value": write(value)}
    raise JobDefinitionError(f"a plan in a file cannot have a {type(value).__name__}: {value!r}")


def value_of(written: Any) -> Any:
    """The constant of JSON written by `written_value`."""
    if not isinstance(written, dict):
        return written
    if written[KIND] == "float":
        return float(written["value"])
    return _KINDS[written[KIND]][2](written["value"])
