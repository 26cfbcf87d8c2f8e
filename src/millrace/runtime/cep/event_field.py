"""Reads fields of events by paths, which are plain data rather than code.

Only what an event holds is read: entries of mappings, values of tuples and rows, and the fields of
dataclasses, named tuples and plain objects. No property and no method is called, whatever the name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import MemberDescriptorType
from typing import Any

from millrace.common.types.row import Row

__all__ = ["FieldPath", "field_reader", "read_path", "read_step"]

FieldPath = tuple[str | int, ...]
"""Path from the event inwards, by name or position (from 0). Empty for the event itself."""


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
    """Value at a path. None if there is none."""
    for step in path:
        value = read_step(value, step)
    return value


def read_step(value: Any, step: str | int) -> Any:
    """A field by name or position. None if there is no such field, or the field cannot be read."""
    try:
        return _step_of(value, step)
    except Exception:  # a slot that has nothing, a mapping that is not made for such names
        return None


def _step_of(value: Any, step: str | int) -> Any:
    if type(step) is int:
        return _at(value, step)
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, Row):
        return value[step]
    kind: Any = type(value)
    known = _declared(kind).get(step)
    if known is None:
        return getattr(value, "__dict__", {}).get(step)
    return known(value)


def _read(step: str | int, value: Any) -> Any:
    return read_step(value, step)


def _read_all(path: FieldPath, value: Any) -> Any:
    return read_path(value, path)


def _at(value: Any, position: int) -> Any:
    if isinstance(value, (tuple, list, Row)):
        return value[position] if 0 <= position < len(value) else None
    return value.get(position) if isinstance(value, Mapping) else None


@lru_cache(1024)
def _declared(kind: Any) -> dict[Any, Callable[[Any], Any]]:
    """Readers of the fields that are not in an object's ``__dict__``: slots, names of a named
    tuple, and defaults of dataclass fields that may be unset."""
    if issubclass(kind, tuple):
        names = enumerate(getattr(kind, "_fields", ()))
        return {name: partial(_of_tuple, position) for position, name in names}
    readers: dict[Any, Callable[[Any], Any]] = {}
    for base in reversed(kind.__mro__):
        for name, what in vars(base).items():
            readers.pop(name, None)  # a property under the name of a slot is no slot
            if isinstance(what, MemberDescriptorType) and "__slots__" in vars(base):
                readers[name] = what.__get__
    if dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            if not field.init and field.name not in readers:
                default = None if field.default is dataclasses.MISSING else field.default
                readers[field.name] = partial(_of_object, field.name, default)
    return readers


def _of_tuple(position: int, value: Any) -> Any:
    return tuple.__getitem__(value, position)


def _of_object(name: str, default: Any, value: Any) -> Any:
    return vars(value).get(name, default)
