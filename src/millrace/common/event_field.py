"""A field of an event, named by data instead of by code.

Only what an event holds is read: entries of mappings, values of tuples and rows, and the fields of
dataclasses, named tuples and plain objects. No property and no method is called, whatever the name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from millrace.common.types import Row

__all__ = ["FieldPath", "field_reader", "read_path", "read_step"]

FieldPath = tuple[str | int, ...]
"""From the event inwards, by name or position (from 0); empty: the event itself."""


def field_reader(path: FieldPath) -> Callable[[Any], Any]:
    """A function from an event to its field.

    Example:
        >>> country = field_reader(("card", "country"))
        >>> country({"card": {"country": "PT"}}), country({"card": None})
        ('PT', None)
    """
    if len(path) == 1:
        return partial(_read, path[0])
    return partial(_read_all, path)


def read_path(value: Any, path: FieldPath) -> Any:
    """What is at a path; None if there is nothing."""
    for step in path:
        value = read_step(value, step)
    return value


def read_step(value: Any, step: str | int) -> Any:
    """A field by name, or by position; None if there is no such field."""
    if type(step) is int:
        return _at(value, step)
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, Row):
        return _of_row(value, step)
    kind: Any = type(value)
    declared = _declared(kind)
    if declared is not None:
        return getattr(value, step, None) if step in declared else None
    return getattr(value, "__dict__", {}).get(step)


def _read(step: str | int, value: Any) -> Any:
    return read_step(value, step)


def _read_all(path: FieldPath, value: Any) -> Any:
    return read_path(value, path)


def _at(value: Any, position: int) -> Any:
    if isinstance(value, (tuple, list, Row)):
        return value[position] if 0 <= position < len(value) else None
    return value.get(position) if isinstance(value, Mapping) else None


def _of_row(row: Row, name: Any) -> Any:
    try:
        return row[name]
    except (KeyError, TypeError, AttributeError):
        return None


@lru_cache(1024)
def _declared(kind: Any) -> frozenset[str] | None:
    """The fields that a class declares; None: each object has its own."""
    if dataclasses.is_dataclass(kind):
        return frozenset(field.name for field in dataclasses.fields(kind))
    if issubclass(kind, tuple):
        return frozenset(getattr(kind, "_fields", ()))
    slots = [vars(base).get("__slots__", ()) for base in kind.__mro__]
    names = frozenset(n for slot in slots for n in ((slot,) if isinstance(slot, str) else slot))
    return names - {"__dict__", "__weakref__"} or None
