"""Splits that are ranges of indices, for collections, number sequences and generators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.source import SourceSplit, SplitReader
from millrace.common.types.batch import RowBatch

__all__ = ["IndexRangeReader", "IndexRangeSplit", "index_range_splits", "require_at_least"]

T = TypeVar("T")


@dataclass(frozen=True)
class IndexRangeSplit(SourceSplit):
    """The indices from ``start`` up to, but not including, ``end``."""

    start: int
    end: int


def index_range_splits(start: int, end: int, parts: int) -> list[IndexRangeSplit]:
    """Cut ``[start, end)`` into at most ``parts`` non-empty ranges of nearly equal size.

    >>> [(split.start, split.end) for split in index_range_splits(0, 10, 3)]
    [(0, 3), (3, 6), (6, 10)]
    """
    size = end - start
    used = min(parts, size)
    bounds = [start + size * i // used for i in range(used + 1)] if used > 0 else []
    return [IndexRangeSplit(f"{a}-{b}", a, b) for a, b in pairwise(bounds)]


def require_at_least(least: int, **arguments: Any) -> None:
    """Refuse arguments that are not whole numbers of at least ``least``; the error names the
    argument."""
    for name, value in arguments.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise JobDefinitionError(f"{name} must be a whole number >= {least}, not {value!r}")


class IndexRangeReader(SplitReader[T]):
    """Reads the indices of one split in order; its position is the next index.

    ``values`` gives the values at the indices of ``[start, end)``.
    """

    def __init__(
        self,
        split: IndexRangeSplit,
        position: int | None,
        values: Callable[[int, int], list[T]],
    ) -> None:
        self._next = split.start if position is None else position
        self._end = split.end
        self._values = values

    def read(self, max_records: int) -> RowBatch[T]:
        start, self._next = self._next, min(self._end, self._next + max_records)
        return self._batch(start, self._next)

    def _batch(self, start: int, end: int) -> RowBatch[T]:
        return RowBatch(self._values(start, end))

    def position(self) -> int:
        return self._next

    def finished(self) -> bool:
        return self._next >= self._end
