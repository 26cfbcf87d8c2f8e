"""Python values as JSON.

==========================================  ===================================================
``None``, bool, int, float, str             themselves; NaN and the infinities ``{"float": "NaN"}``
list, tuple, set, frozenset, array          an array; sets in the order of their items' JSON
dict with text keys, named row, dataclass,  an object
named tuple, any object with attributes
any other dict                              ``{"map": [[key, value], ...]}``
bytes                                       ``{"bytes": "<base64>"}``
Decimal, Fraction, UUID, date, time,        text: ``"1.50"``, ``"2026-11-21"``
datetime
timedelta                                   a number of seconds
Enum                                        its name
==========================================  ===================================================

A dict whose only key is one of the tags is written as a ``map``, so a tag is never ambiguous.
"""

from __future__ import annotations

import base64
import datetime as dt
import enum
import json
import math
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

from millrace.common.types.record_fields import declared_names
from millrace.common.types.row import Row

__all__ = ["TAGS", "dumps", "to_json"]

TAGS = frozenset({"bytes", "map", "float"})
MAX_DEPTH = 32
_TEXT = (Decimal, Fraction, uuid.UUID)
_ISO = (dt.date, dt.time)


def dumps(value: Any) -> bytes:
    """A value that is JSON already, as UTF-8."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )


def to_json(value: Any, depth: int = 0) -> Any:
    """The value as `dumps` can write it. What has no form of its own, or is nested too deep, is
    described in words.

    Example:
        >>> to_json({"when": dt.date(2026, 11, 21), "parts": (1, b"x")})
        {'when': '2026-11-21', 'parts': [1, {'bytes': 'eA=='}]}
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if depth > MAX_DEPTH:
        return f"(nested too deep: {type(value).__name__})"
    plain = _scalar(value)
    return _container(value, depth + 1) if plain is None else plain


def _scalar(value: Any) -> Any:
    """The form of a value without parts; None: it has parts."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"bytes": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, _TEXT):
        return str(value)
    if isinstance(value, _ISO):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, (bool, int)):
        return int(value)
    return str(value) if isinstance(value, str) else None


def _container(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return _dict(value, depth)
    names = declared_names(value)
    if names is not None:
        return _dict({name: getattr(value, name) for name in names}, depth)
    if isinstance(value, (set, frozenset)):  # in one order in all processes
        return sorted((to_json(item, depth) for item in value), key=dumps)
    if isinstance(value, (list, tuple, Row)):
        return [to_json(item, depth) for item in value]
    if hasattr(value, "tolist"):  # arrays and scalars of numpy, array.array
        return to_json(value.tolist(), depth)
    attributes = getattr(value, "__dict__", None)
    if attributes:
        return _dict(attributes, depth)
    return repr(value)


def _dict(value: dict[Any, Any], depth: int) -> Any:
    tagged = len(value) == 1 and next(iter(value)) in TAGS
    if not tagged and all(type(key) is str for key in value):
        return {key: to_json(item, depth) for key, item in value.items()}
    return {"map": [[to_json(key, depth), to_json(item, depth)] for key, item in value.items()]}
