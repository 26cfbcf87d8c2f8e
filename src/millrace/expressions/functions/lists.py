"""Functions of Python lists that kernels of arrays and maps call for each value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.expressions.evaluation_error import EvaluationError

__all__ = ["concatenated", "extreme", "joined", "ordered", "part", "union", "unique", "zipped"]


def unique(items: list[Any]) -> list[Any]:
    """Each item once, in order."""
    found: list[Any] = []
    for item in items:
        if item not in found:
            found.append(item)
    return found


def ordered(items: list[Any], ascending: bool = True, nulls_first: bool | None = None) -> Any:
    """In order, the nulls before or behind."""
    first = ascending if nulls_first is None else nulls_first
    nulls = [item for item in items if item is None]
    rest = sorted((item for item in items if item is not None), reverse=not ascending)
    return nulls + rest if first else rest + nulls


def part(items: list[Any], start: int, end: int | None = None) -> list[Any]:
    """Items from one place to another; negative places count from the end."""
    count = len(items)
    last = count if end is None else (end if end >= 0 else count + end + 1)
    first = start if start > 0 else (1 if start == 0 else count + start + 1)
    return items[max(first - 1, 0) : max(last, 0)] if first <= last else []


def joined(items: list[Any], separator: str, instead: str | None = None) -> str:
    """Texts with a separator between; nulls are left out, or another text instead."""
    kept = [instead if item is None else item for item in items]
    return separator.join(item for item in kept if item is not None)


def extreme(best: Callable[..., Any]) -> Callable[..., Any]:
    """The best of the items that are not null."""
    return lambda items: best((item for item in items if item is not None), default=None)


def concatenated(*arrays: list[Any]) -> list[Any]:
    """Lists one behind the other."""
    return [item for array in arrays for item in array]


def zipped(keys: list[Any], values: list[Any]) -> list[tuple[Any, Any]]:
    """Entries of keys and values; the last value of a key holds."""
    if len(keys) != len(values):
        raise EvaluationError(f"{len(keys)} keys do not go with {len(values)} values")
    return list(dict(zip(keys, values, strict=True)).items())


def union(*maps: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Entries of all; the last value of a key holds."""
    return list({key: value for pairs in maps for key, value in pairs}.items())
