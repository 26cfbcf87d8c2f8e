"""Budget of one step through a table: the number of entries that make a piece of a given size."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

PIECE_BYTES = 2 << 20
"""Approximate bytes of an encoded piece."""
MOST_ENTRIES = 1 << 17


class Budget:
    """Number of entries that make a piece of a given size, estimated from the sizes so far."""

    def __init__(self) -> None:
        self.entries = 4096

    def learn(self, entries: int, size: int) -> None:
        """Record that ``entries`` entries took ``size`` bytes."""
        if entries:
            fitting = PIECE_BYTES * entries // max(1, size)
            self.entries = max(16, min(fitting, 8 * self.entries, MOST_ENTRIES))


def in_parts(items: Collection[T], budget: Budget) -> Iterator[Collection[T]]:
    """Split ``items`` into parts, each with the number of items that the budget allows when the
    part begins.
    """
    if len(items) <= budget.entries:
        yield items
        return
    rest = iter(items)
    while part := list(islice(rest, budget.entries)):
        yield part
