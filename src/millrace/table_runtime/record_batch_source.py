"""`RecordBatchSource`: a bounded source of an Arrow table that is shipped with the program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millrace.common.source import (
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.types.batch import ColumnBatch

if TYPE_CHECKING:
    import pyarrow

__all__ = ["RecordBatchSource"]


@dataclass(frozen=True)
class _Range(SourceSplit):
    start: int
    end: int


class RecordBatchSource(SplitSource[Any]):
    """Rows of a record batch, for VALUES and tables of Python objects. The rows keep their order.

    Args:
        data: the rows.
        row_kinds: numbers of the rows' `RowKind` (int8). None if all are inserts.
        splits: maximum number of subtasks that can read.
    """

    def __init__(
        self,
        data: pyarrow.RecordBatch,
        row_kinds: pyarrow.Int8Array | None = None,
        splits: int = 1,
    ) -> None:
        self._data = data
        self._kinds = row_kinds
        self._splits = splits

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator(list(self._ranges()))

    def _ranges(self) -> Iterator[_Range]:
        size, parts = self._data.num_rows, max(1, min(self._splits, self._data.num_rows))
        for part in range(parts):
            start, end = size * part // parts, size * (part + 1) // parts
            yield _Range(f"{start}-{end}", start, end)

    def create_split_reader(
        self, split: _Range, position: Any, context: ReaderContext
    ) -> SplitReader[Any]:
        batch = ColumnBatch(self._data, None, self._kinds, "row")
        return _Reader(batch, split.start if position is None else position, split.end)


class _Reader(SplitReader[Any]):
    def __init__(self, batch: ColumnBatch, start: int, end: int) -> None:
        self._batch, self._next, self._end = batch, start, end

    def read(self, max_records: int) -> ColumnBatch:
        start, self._next = self._next, min(self._end, self._next + max_records)
        return self._batch.slice(start, self._next)

    def position(self) -> int:
        return self._next

    def finished(self) -> bool:
        return self._next >= self._end
