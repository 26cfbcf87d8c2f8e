"""A source of consecutive whole numbers. Flink docs: "Data Sources", NumberSequenceSource."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.source import ReaderContext, SplitEnumerator, SplitSource, StaticEnumerator
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.columns import VALUE
from millrace.connectors.index_range import (
    IndexRangeReader,
    IndexRangeSplit,
    index_range_splits,
    require_at_least,
)

__all__ = ["NumberSequenceSource"]

_LIMIT = (1 << 63) - 1
"""The greatest int64."""


class NumberSequenceSource(SplitSource[int]):
    """A bounded source of the numbers from ``start`` to ``end``, both included.

    Within a split the numbers come in ascending order; across splits there is no order.

    Args:
        start: the first number.
        end: the last number; not below ``start``.
        splits: maximum number of subtasks that read (default 8).

    Raises:
        JobDefinitionError: ``end`` is below ``start``, or an argument is not a whole number.

    >>> from millrace.common.source import ReaderContext
    >>> source = NumberSequenceSource(1, 10, splits=2)
    >>> first, second = source.create_enumerator().discover(now=0)
    >>> source.create_split_reader(second, None, ReaderContext(0, 1, lambda: 0)).read(100).values
    [6, 7, 8, 9, 10]
    """

    def __init__(self, start: int, end: int, splits: int = 8) -> None:
        require_at_least(1, splits=splits)
        if not isinstance(start, int) or not isinstance(end, int):
            raise JobDefinitionError(f"start and end must be int, not {start!r} and {end!r}")
        if end < start:
            raise JobDefinitionError(f"the sequence's end {end} is less than its start {start}")
        self._start = start
        self._end = end
        self._splits = splits

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator(index_range_splits(self._start, self._end + 1, self._splits))

    def create_split_reader(
        self, split: IndexRangeSplit, position: Any, context: ReaderContext
    ) -> IndexRangeReader[int]:
        return _NumberReader(split, position, lambda start, end: list(range(start, end)))


class _NumberReader(IndexRangeReader[int]):
    def _batch(self, start: int, end: int) -> RowBatch[int]:
        numbers = self._values(start, end)
        fits = -_LIMIT <= start <= end <= _LIMIT
        return _Numbers(numbers) if fits and numbers else RowBatch(numbers)


class _Numbers(RowBatch[int]):
    """Consecutive numbers. Their Arrow column is generated instead of built from records."""

    __slots__ = ()

    def to_columns(self, form: str = "dict") -> ColumnBatch:
        if self.timestamps is not None:
            return super().to_columns(form)
        import numpy as np
        import pyarrow as pa

        column = np.arange(self.values[0], self.values[-1] + 1)
        return ColumnBatch(pa.record_batch({VALUE: column}), form=form)
