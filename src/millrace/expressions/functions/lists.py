"""Functions of Python lists, which kernels of arrays and maps call for each value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millrace.expressions.evaluation_error import EvaluationError

__all__ = [
    "NULL_KEY",
    "common",
    "concatenated",
    "entries",
    "extreme",
    "joined",
    "key_of",
    "lacking",
    "looked_up",
    "ordered",
    "part",
    "place",
    "union",
    "unique",
    "without",
    "zipped",
]

NULL_KEY = (
    "a key of the map is NULL, and maps have no such key here: leave the entry out, or give it "
    "another key, as by COALESCE(key, ...)"
)


def key_of(value: Any) -> Any:
    """A hashable key that is the same for equal values. Rows, arrays and maps themselves have no
    hash in Python.

    >>> key_of([("a", 1), ("b", 2)]) == key_of([("b", 2), ("a", 1)])
    True
    """
    if isinstance(value, dict):
        return tuple(map(key_of, value.values()))
    if not isinstance(value, list):
        return value
    if value and isinstance(value[0], tuple):  # the entries of a map have no order
        return frozenset((key_of(key), key_of(item)) for key, item in value)
    return tuple(map(key_of, value))


def place(items: list[Any], needle: Any) -> int:
    """Position of the first item that equals a value, from 1; 0 if there is none."""
    if not isinstance(needle, (dict, list)):
        return items.index(needle) + 1 if needle in items else 0
    wanted = key_of(needle)
    return next((at for at, item in enumerate(items, 1) if key_of(item) == wanted), 0)


def unique(items: list[Any]) -> list[Any]:
    """The distinct items, in order."""
    by_key: dict[Any, Any] = {}
    for item in items:
        by_key.setdefault(key_of(item), item)
    return list(by_key.values())


def common(items: list[Any], others: list[Any]) -> list[Any]:
    """The distinct items that ``others`` contains as well."""
    kept = set(map(key_of, others))
    return unique([item for item in items if key_of(item) in kept])


def lacking(items: list[Any], others: list[Any]) -> list[Any]:
    """The distinct items that ``others`` does not contain."""
    left_out = set(map(key_of, others))
    return unique([item for item in items if key_of(item) not in left_out])


def without(items: list[Any], needle: Any) -> list[Any]:
    """The items that differ from the given one."""
    unwanted = key_of(needle)
    return [item for item in items if key_of(item) != unwanted]


def ordered(items: list[Any], ascending: bool = True, nulls_first: bool | None = None) -> Any:
    """The items, sorted, with NULLs first or last. NaN is the greatest number."""
    first = ascending if nulls_first is None else nulls_first
    nulls = [item for item in items if item is None]
    rest = sorted((i for i in items if i is not None), key=_rank, reverse=not ascending)
    return nulls + rest if first else rest + nulls


def _rank(item: Any) -> tuple[bool, Any]:
    return item != item, item  # noqa: PLR0124 (NaN)


def part(items: list[Any], start: int, end: int | None = None) -> list[Any]:
    """Items from one position up to and including another. Negative positions count from the end;
    positions before the first item are taken as the first.
    """
    count = len(items)
    first, last = (
        max(at if at >= 0 else count + at + 1, 1) for at in (start, count if end is None else end)
    )
    return items[first - 1 : last] if first <= last else []


def joined(items: list[Any], separator: str, instead: str | None = None) -> str:
    """Texts joined by a separator; NULLs are skipped, or replaced by another text."""
    kept = [instead if item is None else item for item in items]
    return separator.join(item for item in kept if item is not None)


def extreme(best: Callable[..., Any]) -> Callable[..., Any]:
    """Function that returns the least or greatest of the items that are not NULL."""
    return lambda items: best((item for item in items if item is not None), default=None)


def concatenated(*arrays: list[Any]) -> list[Any]:
    """The lists, concatenated."""
    return [item for array in arrays for item in array]


def zipped(keys: list[Any], values: list[Any]) -> list[tuple[Any, Any]]:
    """Map entries from a list of keys and a list of values. For a repeated key, the last value is
    kept.
    """
    if len(keys) != len(values):
        raise EvaluationError(f"there are {len(keys)} keys, but {len(values)} values")
    return entries(zip(keys, values, strict=True))


def union(*maps: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Map entries of all the maps. For a repeated key, the last value is kept."""
    return entries(pair for pairs in maps for pair in pairs)


def entries(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Map entries from pairs of a key and a value. For a repeated key, the last value is kept.

    Raises:
        EvaluationError: a key is NULL.
    """
    by_key: dict[Any, tuple[Any, Any]] = {}
    for key, value in pairs:
        if key is None:
            raise EvaluationError(NULL_KEY)
        place = key_of(key)
        by_key[place] = (by_key[place][0] if place in by_key else key, value)
    return list(by_key.values())


def looked_up(pairs: list[tuple[Any, Any]], key: Any) -> Any:
    """Value for a key in map entries; None if there is none."""
    if not isinstance(key, (dict, list)):
        return dict(pairs).get(key)
    wanted = key_of(key)
    return next((value for candidate, value in pairs if key_of(candidate) == wanted), None)
