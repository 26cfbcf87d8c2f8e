"""A source that gives every epoch the same number of records, as soon as the epoch begins."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Lane(SourceSplit):
    """Every ``lanes``-th number, beginning at ``first``."""

    first: int
    lanes: int


@dataclass(frozen=True)
class PerEpochSource(SplitSource[int]):
    """The numbers from 0 on: ``burst`` of them as fast as epochs take them, then ``per_epoch`` in
    each of ``epochs`` epochs, over ``lanes`` subtasks together. Resident tasks, whose epochs have
    no end of their own, read ``per_epoch`` numbers every ``pause_ms`` milliseconds."""

    burst: int
    per_epoch: int
    epochs: int
    lanes: int = 2
    pause_ms: int = 0

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([Lane(f"lane-{i}", i, self.lanes) for i in range(self.lanes)])

    def create_split_reader(self, split: Lane, position: Any, context: ReaderContext) -> _Reader:
        burst, share = self.burst // self.lanes, self.per_epoch // self.lanes
        end = burst + share * self.epochs
        return _Reader(split, position or 0, burst, share, end, self.pause_ms)


class _Reader(SplitReader[int]):
    def __init__(
        self, split: Lane, position: int, burst: int, share: int, end: int, pause_ms: int
    ) -> None:
        self._split = split
        self._next = position
        self._burst = burst
        self._share = share
        self._end = end
        self._pause = False
        self._pause_ms = pause_ms

    def read(self, max_records: int) -> RowBatch[int]:
        """An empty answer ends the epoch's reading; the next question comes with the next epoch."""
        if self._pause:
            self._pause = False
            return RowBatch([])
        start, self._next = self._next, self._next + min(max_records, self._left())
        self._pause = self._next >= self._burst and self._left() == self._share
        first, lanes = self._split.first, self._split.lanes
        return RowBatch(list(range(first + start * lanes, first + self._next * lanes, lanes)))

    def _left(self) -> int:
        """Records until the burst or the epoch's share is complete."""
        if self._next < self._burst:
            return self._burst - self._next
        return self._share - (self._next - self._burst) % self._share

    def position(self) -> int:
        return self._next

    def finished(self) -> bool:
        return self._next >= self._end

    def next_wakeup(self, now: int) -> int | None:
        return now + self._pause_ms
