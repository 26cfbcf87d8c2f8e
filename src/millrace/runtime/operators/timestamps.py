"""Assigns event times and generates watermarks, at a source or in mid-stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import index as whole
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.time.watermark_generator import (
    BoundedOutOfOrdernessGenerator,
    WatermarkGenerator,
)
from millrace.common.time.watermark_strategy import ClockLimit, TimestampAssigner, WatermarkStrategy
from millrace.common.types.batch import Batch, BatchForm, ColumnBatch, RowBatch
from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.metrics import MetricRegistry, RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.redistribution_mode import RedistributionMode

NO_TIMESTAMP = MIN_WATERMARK
"""Timestamp that an assigner gets for a record without an event time, as in Flink."""


_INT = {int}


def _in_range(times: list[int]) -> bool:
    return min(times) >= MIN_WATERMARK and max(times) <= MAX_WATERMARK


def _event_time(value: Any, time: Any) -> int:
    """The event time as a plain integer. NumPy integers are converted."""
    try:
        exact = whole(time)
    except TypeError:
        exact = MAX_WATERMARK + 1
    if not MIN_WATERMARK <= exact <= MAX_WATERMARK:
        raise JobExecutionError(
            f"the event time {time!r} is not a whole number of milliseconds since the epoch; make "
            "the timestamp assigner (or the source) return an int"
        )
    return exact


def _highest(timestamps: Any) -> int:
    """Latest of some event times."""
    if isinstance(timestamps, list):
        return int(max(timestamps))
    from pyarrow.compute import max as highest

    latest: int = highest(timestamps).as_py()
    return latest


def _wants_only_the_highest(generator: WatermarkGenerator[Any]) -> bool:
    """Whether the generator needs only the highest event time. A user's subclass may need each
    event."""
    return type(generator).on_event is BoundedOutOfOrdernessGenerator.on_event


_OF_RECORDS_ONLY = (
    BoundedOutOfOrdernessGenerator.on_periodic_emit,
    WatermarkGenerator.on_periodic_emit,
)


def _may_emit_without_records(generator: WatermarkGenerator[Any] | None) -> bool:
    """Whether the generator may emit although no record has come: the user's, by the clock."""
    if generator is None:
        return False
    return type(generator).on_periodic_emit not in _OF_RECORDS_ONLY


class _Emitted:
    """Collects the output of a watermark generator."""

    def __init__(self) -> None:
        self.watermark = MIN_WATERMARK
        self.idle = False

    def emit_watermark(self, timestamp: int) -> None:
        self.watermark = max(self.watermark, timestamp)
        self.idle = False

    def mark_idle(self) -> None:
        self.idle = True

    def mark_active(self) -> None:
        self.idle = False


class WatermarkTracker:
    """A running watermark generator, for one split of a source or for one subtask in mid-stream.

    In batch mode there is none: nothing is late, event time ends with the input (Flink docs,
    "Execution Mode").
    """

    def __init__(
        self, strategy: WatermarkStrategy[Any], batch_mode: bool, metrics: MetricRegistry
    ) -> None:
        self._clock_limit: ClockLimit | None = strategy.clock_limit
        if self._clock_limit is not None:
            self._ahead = RegisteredGroup(metrics).counter("numRecordsAheadOfClock")
        supplier = None if batch_mode else strategy.generator_supplier
        self._generator: WatermarkGenerator[Any] | None = supplier() if supplier else None
        self._is_periodic = _may_emit_without_records(self._generator)
        self._asked = 0
        """Time of the last call of `tick`, in ms since the epoch."""
        self._assign = _assigner(strategy)
        self._idle_timeout = strategy.idle_timeout_ms
        self._emitted = _Emitted()
        self._last_record: int | None = None
        self._believed = MAX_WATERMARK
        """Latest timestamp that may move the watermark."""

    def pieces(self, batch: Batch, now: int) -> Iterator[Batch]:
        """The batch with event times, in pieces. When a piece is yielded, `watermark` is the
        watermark that follows this piece.

        A generator that emits on events cuts the batch after each event that moved the watermark.
        """
        timed = self._timed_columns(batch) if isinstance(batch, ColumnBatch) else self._timed(batch)
        if self._clock_limit is not None:
            timed = self._limited(timed, self._clock_limit, now)
        start = 0
        for end in self._ends(timed, now):
            yield timed if start == 0 and end == len(timed) else timed.slice(start, end)
            start = end

    def _limited(self, batch: Batch, limit: ClockLimit, now: int) -> Batch:
        """The batch; times beyond the clock limit are capped if the limit says so. Also records
        the latest time that watermarks may take into account."""
        self._believed = latest = now + limit.max_ahead
        times = batch.timestamps
        if times is None or not len(batch) or _highest(times) <= latest:
            return batch
        values: list[int] = times if isinstance(times, list) else times.to_pylist()
        self._ahead.inc(sum(time > latest for time in values))
        if not limit.cap:
            return batch
        capped = [min(time, latest) for time in values]
        if isinstance(batch, RowBatch):
            return RowBatch(batch.values, capped)
        import pyarrow as pa

        return replace(batch, timestamps=pa.array(capped, pa.int64()))

    def _timed(self, batch: RowBatch[Any]) -> RowBatch[Any]:
        times = self._timestamps(batch.values, batch.timestamps)
        # a batch may know a short way to its columns, which a new one would not
        return batch if times is batch.timestamps else RowBatch(batch.values, times)

    def _timed_columns(self, batch: ColumnBatch) -> ColumnBatch:
        """The columns with assigned event times. The assigner gets the records, but the batch
        stays columnar."""
        if self._assign is None:
            return batch
        import pyarrow as pa

        times = self._timed(batch.to_rows()).timestamps
        return replace(batch, timestamps=pa.array(times, pa.int64()))

    def _timestamps(self, values: list[Any], timestamps: list[int] | None) -> list[int] | None:
        """Event times of a batch: assigned, or the existing ones."""
        assign = self._assign
        if assign is None:
            times = timestamps
        elif timestamps is None:
            times = [assign(value, NO_TIMESTAMP) for value in values]
        else:
            times = [assign(value, time) for value, time in zip(values, timestamps, strict=True)]
        if not times or (set(map(type, times)) == _INT and _in_range(times)):
            return times
        return [_event_time(value, time) for value, time in zip(values, times, strict=True)]

    def _ends(self, batch: Batch, now: int) -> Iterator[int]:
        """Pass a batch to the generator piece by piece, and yield the end of each piece."""
        self._last_record = now
        generator, timestamps = self._generator, batch.timestamps
        if generator is None:
            yield len(batch)
        elif timestamps is not None and _wants_only_the_highest(generator):
            assert isinstance(generator, BoundedOutOfOrdernessGenerator)
            generator.on_batch(self._highest_believed(timestamps))
            generator.on_periodic_emit(self._emitted)
            yield len(batch)
        else:
            yield from self._event_by_event(generator, batch.to_rows())

    def _event_by_event(
        self, generator: WatermarkGenerator[Any], batch: RowBatch[Any]
    ) -> Iterator[int]:
        emitted, timestamps = self._emitted, batch.timestamps
        for index, value in enumerate(batch.values):
            before = emitted.watermark
            time = NO_TIMESTAMP if timestamps is None else timestamps[index]
            if time > self._believed:
                continue
            generator.on_event(value, time, emitted)
            if emitted.watermark > before:
                yield index + 1
        generator.on_periodic_emit(emitted)
        yield len(batch)

    def _highest_believed(self, timestamps: Any) -> list[int]:
        """The highest of the event times, or, if it is beyond the clock limit, all times within
        the limit. For generators that need only the highest event time."""
        if not len(timestamps):
            return []
        highest = _highest(timestamps)
        if highest > self._believed:
            values = timestamps if isinstance(timestamps, list) else timestamps.to_pylist()
            return [time for time in values if time <= self._believed]
        return [highest]

    def tick(self, now: int) -> None:
        """Call the generator's `on_periodic_emit`, which may emit a watermark."""
        self._asked = now
        if self._generator is not None:
            self._generator.on_periodic_emit(self._emitted)
        if self._last_record is None:
            self._last_record = now

    def tick_at(self, interval: int) -> int | None:
        """Time in ms since the epoch at which the operator must call `tick` even without new
        records. None if the generator needs no such call.

        Args:
            interval: milliseconds between two calls; 0 if there are none.
        """
        return self._asked + interval if self._is_periodic and interval else None

    def hold(self, elapsed: int) -> None:
        """Exclude ``elapsed`` ms from the idle timeout, because no record could arrive during that
        time.
        """
        if self._last_record is not None:
            self._last_record += elapsed

    @property
    def watermark(self) -> int:
        """Last watermark in ms since the epoch."""
        return self._emitted.watermark

    def idle(self, now: int) -> bool:
        """Whether no record has arrived for the strategy's idle timeout, or the generator has
        declared itself idle."""
        if self._emitted.idle:
            return True
        timeout = self._idle_timeout
        if timeout is None or self._last_record is None:
            return False
        return now - self._last_record >= timeout

    def idle_at(self) -> int | None:
        """Time in ms since the epoch at which the tracker becomes idle if no record arrives. None
        if it never does.
        """
        if self._idle_timeout is None or self._last_record is None:
            return None
        return self._last_record + self._idle_timeout

    def snapshot(self) -> tuple[int, int | None]:
        """The tracker as plain data, part of every checkpoint."""
        return self.watermark, self._last_record

    def restore(self, snapshot: tuple[int, int | None]) -> None:
        """Restore the state from `snapshot`. Watermarks never go back."""
        self._emitted.watermark, self._last_record = snapshot


def _assigner(strategy: WatermarkStrategy[Any]) -> Callable[[Any, int], int] | None:
    assigner = strategy.timestamp_assigner
    return assigner.extract_timestamp if isinstance(assigner, TimestampAssigner) else assigner


def _earliest(kept: list[tuple[int, int | None]]) -> tuple[int, int | None]:
    return min(kept, key=lambda snapshot: snapshot[0])


_TRACKER = OperatorStateDeclaration("@watermark", RedistributionMode.MERGE, _earliest)


class TimestampsOperator(Operator):
    """`assign_timestamps_and_watermarks`: replaces event times and watermarks from upstream."""

    takes = BatchForm.EITHER
    operator_states = (_TRACKER,)

    def __init__(self, strategy: WatermarkStrategy[Any]) -> None:
        self._strategy = strategy

    def open(self) -> None:
        self._kept = DeclaredValue(self, _TRACKER)
        self._now = 0

    def restore(self) -> None:
        self._tracker = WatermarkTracker(
            self._strategy, self.context.batch_mode, self.context.metrics
        )
        kept = self._kept.get()
        if kept is not None:
            self._tracker.restore(kept)
        if self.watermark != MAX_WATERMARK:
            self.watermark = self._tracker.watermark

    def advance_processing_time(self, now: int) -> None:
        self._now = now

    def output_idle(self, input_idle: bool) -> bool:
        return input_idle or self._tracker.idle(self._now)

    def next_wakeup(self) -> int | None:
        if self.watermark == MAX_WATERMARK:
            return None
        idle_at = self._tracker.idle_at()
        return idle_at if idle_at is not None and idle_at > self._now else None

    def next_flush(self) -> int | None:
        if self.watermark == MAX_WATERMARK:
            return None
        return self._tracker.tick_at(self.context.watermark_interval)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._take(RowBatch(values, timestamps))

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        self._take(batch)

    def _take(self, batch: Batch) -> None:
        for piece in self._tracker.pieces(batch, self._now):
            if len(piece):
                self.output.emit(piece)
            self._advance(self._tracker.watermark)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_WATERMARK:
            self._advance(MAX_WATERMARK)

    def flush(self) -> None:
        self._tracker.tick(self._now)
        self._advance(self._tracker.watermark)

    def end_epoch(self, ended: bool) -> None:
        self.flush()
        self._kept.put(self._tracker.snapshot())

    def _advance(self, watermark: int) -> None:
        if watermark > self.watermark:
            super().process_watermark(watermark)
