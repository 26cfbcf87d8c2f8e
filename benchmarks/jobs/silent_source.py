"""A source that never ends and never has a record."""

from __future__ import annotations

from typing import Any

from millrace.common.source import (
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.types.batch import RowBatch


class SilentSource(SplitSource[int]):
    """Splits without records. Its readers know no time at which to ask again, so they are polled.

    Args:
        splits: number of splits.
    """

    def __init__(self, splits: int) -> None:
        self._splits = splits

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([SourceSplit(f"silent-{i}") for i in range(self._splits)])

    def create_split_reader(
        self, split: SourceSplit, position: Any, context: ReaderContext
    ) -> SplitReader[int]:
        return _Reader()


class _Reader(SplitReader[int]):
    def read(self, max_records: int) -> RowBatch[int]:
        return RowBatch([])

    def position(self) -> int:
        return 0
