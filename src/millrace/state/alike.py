"""Comparison of two values by their data.

The result can differ from ``==``, for which ``1`` equals ``True``, an object of a class without
``__eq__`` equals no other, and fields excluded from comparisons do not count. Here two values are
alike if they have the same types with the same content at every depth, as in their written form.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from typing import Any

from millrace.common.errors import SerializationError
from millrace.state.serialization.pickles import dump_pickle

__all__ = ["alike", "encoded"]

_ATOMS: frozenset[type] = frozenset({int, str, bytes, bool, type(None)})


def alike(old: Any, new: Any) -> bool:
    """Whether two values have the same data. NaN equals NaN, and the order of dicts and sets does
    not count.

    Example:
        >>> alike({"a": 1, "b": float("nan")}, {"b": float("nan"), "a": 1})
        True
        >>> alike((1,), (True,))
        False
    """
    try:
        return _alike(old, new)
    except Exception:  # of code of users, or because a value contains itself
        return encoded(old) == encoded(new)


def _alike(old: Any, new: Any) -> bool:
    if old is new:
        return True
    kind = type(old)
    if kind is not type(new) and not _same_class(kind, type(new)):
        return False
    if kind in _ATOMS:
        return bool(old == new)
    if kind in (float, complex):
        return repr(old) == repr(new)
    if kind in (list, tuple):
        return _all_alike(old, new)
    if kind in (set, frozenset):
        return _unordered_alike(dict.fromkeys(old), dict.fromkeys(new))
    if kind is dict:
        return _unordered_alike(old, new)
    if isinstance(old, type):
        return _same_class(old, new)
    return _objects_alike(old, new)


def _same_class(one: type, other: type) -> bool:
    """Whether two classes have the same module and name. They may be two objects: each program
    that unpickles a class by value creates the class anew."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def _all_alike(old: Collection[Any], new: Collection[Any]) -> bool:
    return len(old) == len(new) and all(map(_alike, old, new))


def _unordered_alike(old: dict[Any, Any], new: dict[Any, Any]) -> bool:
    if len(old) != len(new):
        return False
    if not old.keys() <= new.keys():  # perhaps only for ==
        return sorted(map(encoded, old.items())) == sorted(map(encoded, new.items()))
    keys = {key: key for key in new}
    return all(_alike(key, keys[key]) and _alike(old[key], new[key]) for key in old)


def _objects_alike(old: Any, new: Any) -> bool:
    """Whether two objects have the same pickled parts."""
    try:
        parts = _parts(old), _parts(new)
    except TypeError:  # it needs another way to be written
        return encoded(old) == encoded(new)
    return _all_alike(*parts)


def _parts(value: Any) -> list[Any]:
    # from protocol 5 on, the bytes of arrays would be in buffers of their own
    reduced = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return [reduced]
    made_by, arguments, state, items, entries = (*reduced, None, None, None)[:5]
    return [made_by, arguments, state, list(items or ()), _entries(value, entries or ())]


def _entries(value: Any, entries: Iterable[tuple[Any, Any]]) -> Any:
    return list(entries) if isinstance(value, OrderedDict) else dict(entries)


def encoded(value: Any) -> bytes:
    """Bytes of a value for comparisons. If the value cannot be pickled, the bytes of its
    ``repr``."""
    try:
        return dump_pickle(value)
    except SerializationError:
        return repr(value).encode()
