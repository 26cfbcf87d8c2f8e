"""Assigns event times and generates watermarks in the middle of a stream or at a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import index as whole
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.time.watermark_generator import (
    BoundedOutOfOrdernessGenerator,
    WatermarkGenerator,
)
from millrace.common.time.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.operator import Operator

NO_TIMESTAMP = MIN_WATERMARK
"""What an assigner gets for a record without an event time, as in Flink."""


_INT = {int}


def _in_range(times: list[int]) -> bool:
    return min(times) >= MIN_WATERMARK and max(times) <= MAX_WATERMARK


def _event_time(value: Any, time: Any) -> int:
    """The event time as a plain whole number; numpy's are turned into one."""
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


class _Emitted:
    """Collects what a watermark generator emits."""

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
    """One generator at work: for one split of a source, or for one subtask in mid-stream.

    In batch mode there is none: nothing is late, event time ends with the input (Flink docs,
    "Execution Mode").
    """

    def __init__(self, strategy: WatermarkStrategy[Any], batch_mode: bool = False) -> None:
        supplier = None if batch_mode else strategy.generator_supplier
        self._generator: WatermarkGenerator[Any] | None = supplier() if supplier else None
        self._assign = _assigner(strategy)
        self._idle_timeout = strategy.idle_timeout_ms
        self._emitted = _Emitted()
        self._last_record: int | None = None

    def timestamps(self, values: list[Any], timestamps: list[int] | None) -> list[int] | None:
        """The event times of a batch: assigned, or as they came."""
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

    def pieces(self, values: list[Any], timestamps: list[int] | None, now: int) -> Iterator[int]:
        """Note a batch piece by piece: yields the end of each piece, with `watermark` as it is
        behind that piece and not yet further.

        A generator that emits on events cuts the batch after each event that moved the watermark.
        """
        self._last_record = now
        end = len(values)
        if self._generator is None:
            yield end
        elif isinstance(self._generator, BoundedOutOfOrdernessGenerator) and timestamps is not None:
            self._generator.on_batch(timestamps)
            self._generator.on_periodic_emit(self._emitted)
            yield end
        else:
            yield from self._event_by_event(self._generator, values, timestamps)

    def _event_by_event(
        self,
        generator: WatermarkGenerator[Any],
        values: list[Any],
        timestamps: list[int] | None,
    ) -> Iterator[int]:
        emitted = self._emitted
        for index, value in enumerate(values):
            before = emitted.watermark
            time = NO_TIMESTAMP if timestamps is None else timestamps[index]
            generator.on_event(value, time, emitted)
            if emitted.watermark > before:
                yield index + 1
        generator.on_periodic_emit(emitted)
        yield len(values)

    def tick(self, now: int) -> None:
        """An epoch ends: a generator may emit by the clock."""
        if self._generator is not None:
            self._generator.on_periodic_emit(self._emitted)
        if self._last_record is None:
            self._last_record = now

    @property
    def watermark(self) -> int:
        """The last watermark (ms since the epoch)."""
        return self._emitted.watermark

    def idle(self, now: int) -> bool:
        """Whether no record came for the strategy's idle timeout, or the generator says so."""
        if self._emitted.idle:
            return True
        timeout = self._idle_timeout
        if timeout is None or self._last_record is None:
            return False
        return now - self._last_record >= timeout

    def idle_at(self) -> int | None:
        """When it will become idle if nothing comes (ms since the epoch)."""
        if self._idle_timeout is None or self._last_record is None:
            return None
        return self._last_record + self._idle_timeout

    def snapshot(self) -> tuple[int, int | None]:
        """Plain data, part of every checkpoint."""
        return self.watermark, self._last_record

    def restore(self, snapshot: tuple[int, int | None]) -> None:
        """Take over what `snapshot` gave. Watermarks never go back."""
        self._emitted.watermark, self._last_record = snapshot


def _assigner(strategy: WatermarkStrategy[Any]) -> Callable[[Any, int], int] | None:
    assigner = strategy.timestamp_assigner
    return assigner.extract_timestamp if isinstance(assigner, TimestampAssigner) else assigner


class TimestampsOperator(Operator):
    """`assign_timestamps_and_watermarks`: replaces event times and watermarks from upstream."""

    def __init__(self, strategy: WatermarkStrategy[Any]) -> None:
        self._strategy = strategy

    def open(self) -> None:
        self._kept = self.context.state.operator_table()
        self._key = f"{self.context.uid}/@watermark"
        self._now = 0

    def restore(self) -> None:
        self._tracker = WatermarkTracker(self._strategy, self.context.batch_mode)
        kept = self._kept.data.get(self._key)
        if kept is not None:
            self._tracker.restore(kept)
        if self.watermark != MAX_WATERMARK:
            self.watermark = self._tracker.watermark

    def begin_epoch(self, epoch: int, now: int) -> None:
        self._now = now

    def idle_after(self, idle: bool) -> bool:
        return idle or self._tracker.idle(self._now)

    def next_wakeup(self) -> int | None:
        if self.watermark == MAX_WATERMARK:
            return None
        idle_at = self._tracker.idle_at()
        return idle_at if idle_at is not None and idle_at > self._now else None

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        times = self._tracker.timestamps(values, timestamps)
        start = 0
        for end in self._tracker.pieces(values, times, self._now):
            if start < end:
                whole = start == 0 and end == len(values)
                piece = values if whole else values[start:end]
                piece_times = times if whole or times is None else times[start:end]
                self.output.emit(piece, piece_times)
                start = end
            self._advance(self._tracker.watermark)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_WATERMARK:
            self._advance(MAX_WATERMARK)

    def end_epoch(self, ended: bool) -> None:
        self._tracker.tick(self._now)
        self._advance(self._tracker.watermark)
        kept = self._tracker.snapshot()
        if self._kept.data.get(self._key) != kept:
            self._kept.put(self._key, kept)

    def _advance(self, watermark: int) -> None:
        if watermark > self.watermark:
            super().process_watermark(watermark)
