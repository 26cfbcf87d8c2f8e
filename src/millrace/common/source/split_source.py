"""Sources that use one independent reader per split."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from millrace.common.source.source import Source
from millrace.common.source.source_reader import ReaderContext, SourceReader, SplitRecords
from millrace.common.source.source_split import AssignedSplit
from millrace.common.types.batch import ColumnBatch, RowBatch

__all__ = ["MultiplexSourceReader", "SplitReader", "SplitSource"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class SplitReader(ABC, Generic[T]):
    """Reads one split from a position; it stays open between epochs if the next epoch continues
    at its position."""

    skipped = 0
    """Records that the last `read` passed over; they count as read."""

    @abstractmethod
    def read(self, max_records: int) -> RowBatch[T] | ColumnBatch:
        """At most ``max_records`` records, with event times if the source knows them; no records
        if none are available now (the next epoch calls again). It must not wait. Columnar data
        is best returned as columns."""

    @abstractmethod
    def position(self) -> Any:
        """Position after the last record: picklable, comparable with ``==``, small."""

    def finished(self) -> bool:
        """Whether the split has been read to its end and no record can follow."""
        return False

    def next_wakeup(self, now: int) -> int | None:
        """Time (ms since the epoch) at which records may be available again; None to poll as
        configured."""
        return None

    def close(self) -> None:
        """Release files and connections."""


class SplitSource(Source[T_co]):
    """A source whose splits are each read by a `SplitReader` of their own.

    Example: a complete source of the numbers below ``n``::

        class Numbers(SplitSource[int]):
            def __init__(self, n: int) -> None:
                self.n = n

            def create_enumerator(self) -> SplitEnumerator:
                return StaticEnumerator([SourceSplit("all")])

            def create_split_reader(self, split, position, context):
                return NumbersReader(position or 0, self.n)

        class NumbersReader(SplitReader[int]):
            def __init__(self, start: int, end: int) -> None:
                self.next, self.end = start, end

            def read(self, max_records: int) -> RowBatch[int]:
                start, self.next = self.next, min(self.end, self.next + max_records)
                return RowBatch(list(range(start, self.next)))

            def position(self) -> int:
                return self.next

            def finished(self) -> bool:
                return self.next >= self.end
    """

    @abstractmethod
    def create_split_reader(
        self, split: Any, position: Any, context: ReaderContext
    ) -> SplitReader[Any]:
        """A reader of ``split`` that starts at ``position`` (None for its start)."""

    def create_reader(self, context: ReaderContext) -> MultiplexSourceReader[Any]:
        return MultiplexSourceReader(self.create_split_reader, context)


def earliest(times: Sequence[int | None], poll: int) -> int | None:
    """Time at which the first of several readers may have records.

    Args:
        times: what each reader knows; None if it does not know.
        poll: time of the next poll of readers that do not know. If it is the earliest, the result
            is None, as for one such reader.
    """
    known = min((at for at in times if at is not None), default=None)
    return known if known is not None and (known < poll or None not in times) else None


class _OpenSplit(Generic[T]):
    """A split with its open reader."""

    def __init__(self, reader: SplitReader[T]) -> None:
        self.reader = reader
        self.left = 0
        """Records that it may still give in this epoch."""
        self.drained = False
        """Whether its last read in this epoch returned nothing."""
        self.paused = False

    @property
    def readable(self) -> bool:
        return self.left > 0 and not self.drained and not self.paused


class MultiplexSourceReader(SourceReader[T]):
    """Polls the readers of its splits in turn; each split has an equal share of an epoch."""

    def __init__(
        self,
        create: Callable[[Any, Any, ReaderContext], SplitReader[T]],
        context: ReaderContext,
    ) -> None:
        self._create = create
        self._context = context
        self._open: dict[str, _OpenSplit[T]] = {}
        self._waiting: list[str] = []
        """Splits that may have more in this epoch, the next to be read last."""

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        for split, position, _ in splits:
            self._open[split.split_id] = _OpenSplit(self._create(split, position, self._context))

    def begin_epoch(self, max_records_per_split: int) -> None:
        for split in self._open.values():
            split.left, split.drained = max_records_per_split, False
        self._waiting = []

    def poll(self, max_records: int) -> Sequence[SplitRecords[T]]:
        while (split_id := self._next()) is not None:
            split = self._open[split_id]
            batch = split.reader.read(min(max_records, split.left))
            skipped = split.reader.skipped
            if split.reader.finished():
                self._close(split_id)
                return [SplitRecords(split_id, batch, True, skipped)]
            if count := len(batch) + skipped:
                split.left -= count
                return [SplitRecords(split_id, batch, False, skipped)]
            split.drained = True
        return ()

    def _next(self) -> str | None:
        """The next split to poll, in turn."""
        for _ in range(2):
            while self._waiting:
                split = self._open.get(self._waiting[-1])
                if split is not None and split.readable:
                    return self._waiting.pop()
                self._waiting.pop()
            self._waiting = [name for name, split in self._open.items() if split.readable][::-1]
        return None

    def snapshot_state(self) -> Mapping[str, Any]:
        return {split_id: split.reader.position() for split_id, split in self._open.items()}

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        for split_id in (*pause, *resume):
            if split_id in self._open:
                self._open[split_id].paused = split_id in pause

    def next_wakeup(self, now: int) -> int | None:
        times = [self._due(split, now) for split in self._open.values() if not split.paused]
        return earliest(times, now + self._context.poll_interval)

    def _due(self, split: _OpenSplit[T], now: int) -> int | None:
        if split.left <= 0 and not split.drained:
            return now
        return split.reader.next_wakeup(now)

    def _close(self, split_id: str) -> None:
        self._open.pop(split_id).reader.close()

    def close(self) -> None:
        for split_id in list(self._open):
            self._close(split_id)
