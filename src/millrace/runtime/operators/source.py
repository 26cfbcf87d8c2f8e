"""The source operator: reads splits, assigns event times and watermarks per split."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from millrace.common.source.source import ReaderContext, Source, SourceReader
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.epoch import Ack, SplitPlan, SplitProgress
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.runtime.operators.timestamps import WatermarkTracker
from millrace.state.redistribution_mode import RedistributionMode


def wall_clock() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass
class _ActiveSplit:
    split_id: str
    reader: SourceReader[Any]
    tracker: WatermarkTracker
    position: Any
    left: int = 0
    """Records it may still read in this epoch."""
    read: int = 0
    drained: bool = False
    """Had nothing more to give when last asked."""
    finished: bool = False


_SPLITS = OperatorStateDeclaration("@split", RedistributionMode.SOURCE_SPLIT)
"""Per split, what its `WatermarkTracker` keeps."""
_WATERMARK = OperatorStateDeclaration(
    "@watermark", RedistributionMode.SMALLEST_WATERMARK, of_readers=True
)
"""What the subtask has emitted. One that never had a split holds nobody back."""


class SourceOperator(Operator):
    """Reads the splits that the plan names, a batch of each in turn."""

    operator_states = _SPLITS, _WATERMARK

    def __init__(
        self,
        source: Source[Any],
        strategy: WatermarkStrategy[Any],
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self._source = source
        self._strategy = strategy
        self.source_clock = clock

    def open(self) -> None:
        self._active: dict[str, _ActiveSplit] = {}
        self._trackers = DeclaredValue(self, _SPLITS)
        self._emitted = DeclaredValue(self, _WATERMARK)
        self._reader_context = ReaderContext(
            self.context.subtask_index, self.context.parallelism, self.source_clock
        )
        self._now = 0
        self.idle = False
        self.poll_interval = 100
        self.records = 0
        self._last_read = 0

    def restore(self) -> None:
        for split_id in list(self._active):
            self._drop(split_id)
        self.watermark = self._emitted.get(MIN_WATERMARK)

    def begin_epoch(self, epoch: int, now: int) -> None:
        self._now = now
        self.records = 0

    def idle_after(self, idle: bool) -> bool:
        return self.idle

    def assign(self, plans: list[SplitPlan]) -> None:
        """Take over the splits of this epoch; keep open readers where the position fits."""
        wanted = {plan.split.split_id for plan in plans}
        for split_id in self._active.keys() - wanted:
            self._drop(split_id)
        for plan in plans:
            active = self._active.get(plan.split.split_id)
            if active is None or active.position != plan.position:
                active = self._open_split(plan)
            active.left, active.read = plan.max_records, 0
            active.drained = active.finished = False

    def _open_split(self, plan: SplitPlan) -> _ActiveSplit:
        split_id = plan.split.split_id
        self._drop(split_id)
        reader = self._source.create_reader(plan.split, plan.position, self._reader_context)
        tracker = WatermarkTracker(self._strategy, self.context.batch_mode)
        kept = self._trackers.get(None, split_id)
        if kept is not None:
            tracker.restore(kept)
        active = _ActiveSplit(split_id, reader, tracker, plan.position)
        self._active[split_id] = active
        return active

    def _drop(self, split_id: str) -> None:
        active = self._active.pop(split_id, None)
        if active is not None:
            with suppress(Exception):
                active.reader.close()

    def run(self, batch_records: int) -> Iterator[None]:
        """Read until every split is drained or has read its share; yields after each batch."""
        waiting = list(self._active.values())
        while waiting:
            waiting = [split for split in waiting if self._read(split, batch_records)]
            yield

    def _read(self, split: _ActiveSplit, batch_records: int) -> bool:
        """Read one batch; True when the split may have more for this epoch."""
        found = split.reader.read(min(batch_records, split.left))
        batch = found if isinstance(found, ColumnBatch) else RowBatch(*found)
        count = len(batch)
        if count:
            split.left -= count
            split.read += count
            self.records += count
            self._last_read = self._now
            self._emit_batch(split, batch)
        split.finished = split.reader.finished()
        split.drained = count == 0 and not split.finished
        return split.left > 0 and not split.finished and count > 0

    def _emit_batch(self, split: _ActiveSplit, batch: Batch) -> None:
        for piece in split.tracker.pieces(batch, self._now):
            if len(piece):
                self.output.emit(piece)
            self._advance()

    def _advance(self) -> None:
        """Emit the minimum over the splits that are neither finished nor idle; idle is only what
        gave nothing in this epoch either."""
        marks = [
            split.tracker.watermark
            for split in self._active.values()
            if not split.finished and not (split.drained and split.tracker.idle(self._now))
        ]
        if marks and (lowest := min(marks)) > self.watermark:
            self.process_watermark(lowest)

    def finish_input(self, no_more_splits: bool) -> bool:
        """The epoch's reading is over; True when the whole input of this subtask has ended."""
        for split in self._active.values():
            split.tracker.tick(self._now)
        self._advance()
        unfinished = [split for split in self._active.values() if not split.finished]
        ended = no_more_splits and not unfinished
        if ended:
            self.process_watermark(MAX_WATERMARK)
        self.idle = not ended and self._all_idle(unfinished)
        return ended

    def _all_idle(self, unfinished: list[_ActiveSplit]) -> bool:
        """A subtask that waits for its next split is idle after the timeout, one that never had
        any is at once."""
        if unfinished:
            return all(split.tracker.idle(self._now) for split in unfinished)
        idle_at = self._idle_without_split()
        return self.watermark == MIN_WATERMARK or (idle_at is not None and idle_at <= self._now)

    def _idle_without_split(self) -> int | None:
        """When the strategy's timeout makes a subtask idle whose splits have all been read."""
        timeout = self._strategy.idle_timeout_ms
        return None if timeout is None else self._last_read + timeout

    def end_epoch(self, ended: bool) -> None:
        self._progress = []
        for split in list(self._active.values()):
            self._progress.append(self._note(split))
            if split.finished:
                self._drop(split.split_id)
        if self.watermark != MIN_WATERMARK:
            self._emitted.put(self.watermark)

    def _note(self, split: _ActiveSplit) -> SplitProgress:
        split.position = split.reader.position()
        if split.finished:
            self._trackers.remove(split.split_id)
        else:
            self._trackers.put(split.tracker.snapshot(), split.split_id)
        uid, read = self.context.uid, split.read
        return SplitProgress(uid, split.split_id, split.position, split.finished, read)

    def contribute(self, ack: Ack) -> None:
        ack.splits.extend(self._progress)

    def next_wakeup(self) -> int | None:
        times = [self._wakeup(s) for s in self._active.values() if not s.finished]
        if not times and self.watermark not in (MIN_WATERMARK, MAX_WATERMARK):
            idle_at = self._idle_without_split()
            if idle_at is not None and idle_at > self._now:
                times.append(idle_at)
        return min(times, default=None)

    def _wakeup(self, split: _ActiveSplit) -> int:
        if not split.drained and split.left <= 0:
            return self._now
        at = split.reader.next_wakeup(self.source_clock())
        if at is None:
            at = self.source_clock() + self.poll_interval
        idle_at = split.tracker.idle_at()
        if idle_at is not None and idle_at > self._now:
            at = min(at, idle_at)
        return at

    def close(self) -> None:
        for split_id in list(getattr(self, "_active", {})):
            self._drop(split_id)
