"""Memory that values take."""

from __future__ import annotations

import sys
from enum import Enum
from functools import lru_cache
from typing import Any

SLOT = 104
"""Bytes for an entry of a dict, with its share of free places."""
_DEPTH = 8
_WIDTH = 32
"""Number of elements of a container that are measured as a sample of all."""


def mean_size(sample: list[Any]) -> float:
    """Bytes per entry of a dict, given (key, value) pairs."""
    return SLOT + sum(_size(part, _DEPTH) for pair in sample for part in pair) / len(sample)


def _size(value: Any, depth: int) -> float:
    size: float = sys.getsizeof(value)
    parts = _parts(value) if depth else []
    if parts:
        seen = parts[:: -(-len(parts) // _WIDTH)]
        size += sum(_size(part, depth - 1) for part in seen) * len(parts) / len(seen)
    return size


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, (tuple, list, set, frozenset)):
        return list(value)
    if isinstance(value, Enum):
        return []  # there is only one of it
    held = getattr(value, "__dict__", None)
    kind: Any = type(value)
    slots = [getattr(value, name, None) for name in _slots(kind)]
    return [held, *slots] if isinstance(held, dict) else slots


@lru_cache(maxsize=1024)
def _slots(kind: Any) -> tuple[str, ...]:
    found = (vars(base).get("__slots__", ()) for base in kind.__mro__)
    return tuple(name for names in found for name in ((names,) if type(names) is str else names))
