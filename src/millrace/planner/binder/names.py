"""Unique names for a query's columns, made by Flink's rules."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["unique_names"]


def unique_names(names: Iterable[str | None]) -> tuple[str, ...]:
    """Unique names in order: a column without a name becomes EXPR$ and its position, a second
    ``id`` becomes ``id0``.

    >>> unique_names(["id", None, "id", "id"])
    ('id', 'EXPR$1', 'id0', 'id1')
    """
    taken: set[str] = set()
    made: list[str] = []
    for position, name in enumerate(names):
        base = f"EXPR${position}" if name is None else name
        chosen, attempt = base, 0
        while chosen in taken:
            chosen, attempt = f"{base}{attempt}", attempt + 1
        taken.add(chosen)
        made.append(chosen)
    return tuple(made)
