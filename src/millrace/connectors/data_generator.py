"""A source of records that a function generates. Flink docs: "DataGen connector"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.source import (
    Boundedness,
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.connectors.index_range import index_range_splits, require_at_least
from millrace.connectors.rate_limiter import RateLimiterStrategy

__all__ = ["DataGeneratorSource"]

T = TypeVar("T")

_BATCH_STRIPE = 4096
_UNLIMITED = 1 << 62


@dataclass(frozen=True)
class GeneratorSplit(SourceSplit):
    """The indices of a split: stripes of ``width`` consecutive indices, ``stride`` apart, beginning
    at ``start``.

    A bounded source has one stripe per split; an unbounded one deals its stripes round robin, and
    one of columns its indices.
    """

    start: int
    width: int
    stride: int
    count: int | None
    lane: int
    lanes: int

    def index(self, ordinal: int) -> int:
        """Source-wide index of record number ``ordinal`` of this split."""
        stripe, within = divmod(ordinal, self.width)
        return self.start + stripe * self.stride + within

    def runs(self, ordinal: int, count: int) -> list[range]:
        """Indices of ``count`` records from ``ordinal`` on, in as few ranges as possible."""
        if self.width == 1:
            first = self.index(ordinal)
            return [range(first, first + count * self.stride, self.stride)]
        runs = []
        while count > 0:
            first = self.index(ordinal)
            size = min(count, self.width - ordinal % self.width)
            runs.append(range(first, first + size))
            ordinal, count = ordinal + size, count - size
        return runs

    def global_ordinal(self, ordinal: int) -> int:
        """Position of record ``ordinal`` of this split in the global order, in which the splits
        take turns.
        """
        return ordinal * self.lanes + self.lane


class GeneratorPosition(NamedTuple):
    """Number of emitted records, and the due time of the first one (ms since the epoch) if a
    rate is set."""

    emitted: int
    started: int | None


class DataGeneratorSource(SplitSource[T]):
    """Makes each record from its index, which counts from 0; replays give the same records.

    Args:
        generator_function: index -> record; may be None if ``batch`` is given.
        count: number of records; None for an unbounded source.
        rate_limiter_strategy: a rate over all splits together. A source that fell behind (a slow
            epoch, a restart) catches up: what is due is emitted at once.
        batch: an extra beyond Flink: ``(start, end) -> list`` makes the records of the indices
            ``[start, end)`` in one call, which is several times faster than one call each.
        columns: ``range of indices -> pyarrow.RecordBatch``, instead of ``batch``: the records are
            rows of these columns. Splits take the indices in turn, so that they go through them
            side by side; the range has a step.
        splits: maximum number of subtasks that read (default 8).
        timestamped: give each record the time it was due as event timestamp; needs a rate.

    Raises:
        JobDefinitionError: no function, both functions, or ``timestamped`` without a rate.

    >>> from millrace.common.source import ReaderContext
    >>> source = DataGeneratorSource(lambda index: f"event-{index}", count=4, splits=1)
    >>> [split] = source.create_enumerator().discover(now=0)
    >>> source.create_split_reader(split, None, ReaderContext(0, 1, lambda: 0)).read(2).values
    ['event-0', 'event-1']
    """

    def __init__(
        self,
        generator_function: Callable[[int], T] | None = None,
        count: int | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        *,
        batch: Callable[[int, int], list[T]] | None = None,
        columns: Callable[[range], Any] | None = None,
        splits: int = 8,
        timestamped: bool = False,
    ) -> None:
        require_at_least(1, splits=splits)
        if count is not None:
            require_at_least(0, count=count)
        if [generator_function, batch, columns].count(None) != 2:
            raise JobDefinitionError(
                "DataGeneratorSource takes one of three: a generator_function (index -> "
                "record), a batch function ((start, end) -> list of records) or a columns "
                "function (range of indices -> Arrow record batch)"
            )
        self._function = generator_function
        self._batch = batch
        self._columns = columns
        self._count = count
        self._splits = splits
        self._rate = rate_limiter_strategy or RateLimiterStrategy.no_op()
        self._timestamped = timestamped
        if timestamped and self._rate.records_per_second is None:
            raise JobDefinitionError(
                "timestamped=True stamps each record with the time it is due, so it needs a rate: "
                "pass rate_limiter_strategy=RateLimiterStrategy.per_second(n)"
            )

    @property
    def boundedness(self) -> Boundedness:
        if self._count is None:
            return Boundedness.CONTINUOUS_UNBOUNDED
        return Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        if self._count is None:
            return StaticEnumerator(self._unbounded_splits())
        return StaticEnumerator(self._bounded_splits(self._count))

    def create_split_reader(
        self, split: GeneratorSplit, position: Any, context: ReaderContext
    ) -> SplitReader[T]:
        started = None if self._rate.records_per_second is None else context.current_time()
        return DataGeneratorReader(
            split,
            position or GeneratorPosition(0, started),
            generate=self._generate,
            columns=self._columns,
            rate=self._rate,
            timestamped=self._timestamped,
            current_time=context.current_time,
        )

    def _bounded_splits(self, count: int) -> list[GeneratorSplit]:
        if self._columns is not None:
            used = min(self._splits, count)
            return [
                GeneratorSplit(f"turn-{i}", i, 1, used, (count - i - 1) // used + 1, i, used)
                for i in range(used)
            ]
        ranges = index_range_splits(0, count, self._splits)
        return [
            GeneratorSplit(r.split_id, r.start, count, count, r.end - r.start, lane, len(ranges))
            for lane, r in enumerate(ranges)
        ]

    def _unbounded_splits(self) -> list[GeneratorSplit]:
        width = 1 if self._batch is None else _BATCH_STRIPE
        stride = width * self._splits
        return [
            GeneratorSplit(f"stripe-{i}", i * width, width, stride, None, i, self._splits)
            for i in range(self._splits)
        ]

    def _generate(self, indices: range) -> list[T]:
        if self._batch is None:
            assert self._function is not None
            return list(map(self._function, indices))
        values = self._batch(indices.start, indices.stop)
        if len(values) != len(indices):
            raise JobDefinitionError(
                f"the batch function of DataGeneratorSource returned {len(values)} records for "
                f"({indices.start}, {indices.stop}); it must return one per index"
            )
        return values


class DataGeneratorReader(SplitReader[T]):
    """Emits the records of one split that are due."""

    def __init__(
        self,
        split: GeneratorSplit,
        position: GeneratorPosition,
        *,
        generate: Callable[[range], list[T]],
        columns: Callable[[range], Any] | None,
        rate: RateLimiterStrategy,
        timestamped: bool,
        current_time: Callable[[], int],
    ) -> None:
        self._split = split
        self._emitted, self._started = position
        self._generate = generate
        self._columns = columns
        self._rate = rate
        self._timestamped = timestamped
        self._current_time = current_time

    def read(self, max_records: int) -> RowBatch[T] | ColumnBatch:
        first, count = self._emitted, max(0, min(max_records, self._available()))
        if self._columns is not None:
            return self._read_columns(self._columns, first, count)
        values: list[T] = []
        for indices in self._split.runs(first, count):
            values += self._generate(indices)
        self._emitted += count
        return RowBatch(values, self._due_times(first, count) if self._timestamped else None)

    def _read_columns(
        self, columns: Callable[[range], Any], first: int, count: int
    ) -> RowBatch[T] | ColumnBatch:
        import pyarrow as pa

        if not count:
            return RowBatch([])
        [indices] = self._split.runs(first, count)
        data = columns(indices)
        times = pa.array(self._due_times(first, count), pa.int64()) if self._timestamped else None
        self._emitted += count
        return ColumnBatch(data, times, form="row")

    def position(self) -> GeneratorPosition:
        return GeneratorPosition(self._emitted, self._started)

    def finished(self) -> bool:
        return self._split.count is not None and self._emitted >= self._split.count

    def next_wakeup(self, now: int) -> int | None:
        if self._started is None or self.finished():
            return None
        return self._due_times(self._emitted, 1)[0]

    def _available(self) -> int:
        remaining = None if self._split.count is None else self._split.count - self._emitted
        if self._started is None:
            return _UNLIMITED if remaining is None else remaining
        last = self._rate.last_due(self._current_time() - self._started)
        due = (last - self._split.lane) // self._split.lanes + 1 - self._emitted
        return due if remaining is None else min(due, remaining)

    def _due_times(self, ordinal: int, count: int) -> list[int]:
        assert self._started is not None
        started, due_offset = self._started, self._rate.due_offset
        first, lanes = self._split.global_ordinal(ordinal), self._split.lanes
        return [started + due_offset(n) for n in range(first, first + count * lanes, lanes)]
