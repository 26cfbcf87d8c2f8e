"""Source operator: reads splits, assigns event times, and emits watermarks per split."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.source import (
    AssignedSplit,
    ReaderContext,
    Source,
    SourceEvent,
    SourceReader,
    SplitRecords,
)
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.types.batch import Batch, RowBatch
from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.epoch import (
    Ack,
    EpochContext,
    ReadPlan,
    ReadResult,
    SplitPlan,
    SplitProgress,
)
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.runtime.operators.timestamps import WatermarkTracker
from millrace.runtime.reading_end import BatchPace
from millrace.state.redistribution_mode import RedistributionMode


@dataclass
class ActiveSplit:
    """A split that this subtask reads, and its progress in this epoch."""

    split_id: str
    tracker: WatermarkTracker
    position: Any
    read: int = 0
    """Records read in this epoch."""
    drained: bool = False
    """Whether the reader's last poll returned nothing for it."""
    finished: bool = False
    paused: bool = False
    """Whether watermark alignment has paused it."""
    at_end: bool = False
    """Whether this run reads no more of the split."""


_SPLITS = OperatorStateDeclaration("@split", RedistributionMode.SOURCE_SPLIT)
"""Snapshot of the split's `WatermarkTracker`, per split."""
_WATERMARK = OperatorStateDeclaration(
    "@watermark", RedistributionMode.SMALLEST_WATERMARK, of_readers=True
)
"""Last watermark of each subtask. Subtasks that never had a split do not count."""


class SourceOperator(Operator):
    """Reads the splits that the epoch's plan assigns, through the source's reader."""

    operator_states = _SPLITS, _WATERMARK

    def __init__(
        self,
        source: Source[Any],
        strategy: WatermarkStrategy[Any],
    ) -> None:
        self._source = source
        self._strategy = strategy

    def open(self) -> None:
        self._active: dict[str, ActiveSplit] = {}
        self._trackers = DeclaredValue(self, _SPLITS)
        self._emitted = DeclaredValue(self, _WATERMARK)
        self._reader: SourceReader[Any] | None = None
        self._reader_context = ReaderContext(
            self.context.subtask_index,
            self.context.parallelism,
            self.context.source_clock,
            poll_interval=self.context.poll_interval,
            wake_up=self.context.waker.wake if self.context.waker.is_heard else None,
            metrics=RegisteredGroup(self.context.metrics),
            logger=logging.getLogger(f"millrace.source.{self.context.name}"),
        )
        self._now = 0
        self.idle = False
        self.records = 0
        self._last_read = 0
        self._records_per_split = 0
        self._remaining_records = 0
        """Records that may still be read in this epoch, for all splits together."""
        self._max_watermark: int | None = None
        self._pace = BatchPace()
        self._newest = MIN_WATERMARK
        """Highest watermark of the finished splits."""
        self._end_notified = False
        self.is_polled = False
        """Whether the reader did not know, when it was last asked, when records will come."""
        self._completed_checkpoint: int | None = None

    def restore(self) -> None:
        self._close_reader()
        self.watermark = self._emitted.get(MIN_WATERMARK)
        self._newest = MIN_WATERMARK

    def advance_processing_time(self, now: int) -> None:
        for split in self._active.values():
            if split.paused:  # since the last epoch
                split.tracker.hold(now - self._now)
        self._now = now

    def begin_epoch(self, epoch: EpochContext) -> None:
        self.records = 0

    def output_idle(self, input_idle: bool) -> bool:
        return self.idle

    def begin_reading(self, plan: ReadPlan) -> None:
        self._reader_context.delivered = plan.delivered
        self._assign(plan.splits, plan.events, plan.max_watermark)

    def finish_reading(self, plan: ReadPlan) -> ReadResult:
        ended = self._finish_input(plan.no_more_splits)
        return ReadResult(ended, self.records, self.idle)

    @property
    def wants_barrier(self) -> bool:
        """Whether the enumerator has work to do because of a request, an event or a finished
        split."""
        context = self._reader_context
        if context.split_requested or context.events:
            return True
        return any(split.finished for split in self._active.values())

    @property
    def is_exhausted(self) -> bool:
        """Whether the subtask's splits have no more input for this run."""
        return not any(map(_unread, self._active.values()))

    def _assign(
        self, plans: Sequence[SplitPlan], events: Sequence[SourceEvent], max_watermark: int | None
    ) -> None:
        """Set the splits of this epoch. The reader of the last epoch continues if it is at the
        positions of the plan; else a new one is created."""
        if not self._reader_fits(plans):
            self._close_reader()
        if self._reader is None:
            self._create_reader()
        for active in self._active.values():
            active.read, active.drained = 0, False
        self._revise(plans, events, max_watermark)

    def revise_reading(self, plan: ReadPlan) -> bool:
        """Take further splits, events, the end of the splits, a complete checkpoint, and the limit
        of watermark alignment."""
        is_last = plan.no_more_splits and not self._end_notified
        return self._revise(plan.splits, plan.events, plan.max_watermark) or is_last

    def _revise(
        self, plans: Sequence[SplitPlan], events: Sequence[SourceEvent], max_watermark: int | None
    ) -> bool:
        """Take what a plan has beside the splits that are read already. Returns whether it has
        anything that changes what is read."""
        reader = self._reader
        assert reader is not None
        read = sum(active.read for active in self._active.values())
        self._remaining_records = sum(plan.max_records for plan in plans) - read
        limits = max_watermark, max((plan.max_records for plan in plans), default=0)
        is_told = bool(events) or self._completed_checkpoint is not None
        has_changed = is_told or limits != (self._max_watermark, self._records_per_split)
        self._max_watermark, self._records_per_split = limits
        new = [plan for plan in plans if plan.split.split_id not in self._active]
        if new:
            self._active.update((plan.split.split_id, self._active_split(plan)) for plan in new)
            reader.add_splits([AssignedSplit(plan.split, plan.position, plan.end) for plan in new])
            self.idle = self.idle and all(
                self._is_idle(self._active[plan.split.split_id]) for plan in new
            )
        for event in events:
            reader.handle_source_event(event)
        if self._completed_checkpoint is not None:
            reader.notify_checkpoint_complete(self._completed_checkpoint)
            self._completed_checkpoint = None
        self._align_watermarks()
        return has_changed or bool(new)

    def _reader_fits(self, plans: Sequence[SplitPlan]) -> bool:
        """Whether the reader's splits are at the positions of the plan."""
        positions = {plan.split.split_id: plan.position for plan in plans}
        return all(
            split_id in positions and positions[split_id] == active.position
            for split_id, active in self._active.items()
        )

    def _create_reader(self) -> None:
        self._reader = self._source.create_reader(self._reader_context)
        self._end_notified = False

    def _active_split(self, plan: SplitPlan) -> ActiveSplit:
        tracker = WatermarkTracker(self._strategy, self.context.batch_mode, self.context.metrics)
        kept = self._trackers.get(None, plan.split.split_id)
        if kept is not None:
            tracker.restore(kept)
        return ActiveSplit(plan.split.split_id, tracker, plan.position)

    def _close_reader(self) -> None:
        self._active.clear()
        reader, self._reader = self._reader, None
        if reader is not None:
            with suppress(Exception):
                reader.close()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        # passed on by `_assign`, when the reader has the splits of this epoch
        self._completed_checkpoint = checkpoint_id

    def read_available(self, plan: ReadPlan) -> Iterator[None]:
        """Read until the reader has no more records, the epoch's limit is reached, or the epoch is
        asked to end. Data that was delivered for this epoch is read completely, because the next
        epoch does not have it.
        """
        reader = self._reader
        assert reader is not None
        delivered = plan.delivered
        reader.begin_epoch(self._records_per_split)
        for split in self._active.values():
            split.drained = False
        while any(map(_readable, self._active.values())):
            if not delivered and (self._remaining_records <= 0 or plan.is_end_wanted()):
                break
            before, started = self.records, perf_counter()
            limit = plan.batch_limit
            if not delivered:
                limit = min(limit, self._remaining_records)
            # with room the caller measures the pace, and may pause for long between two batches
            batches = reader.poll(limit if plan.room is not None else self._pace.limit(limit))
            if self._reader_context.outputs:
                self._emit_side_outputs()
            if not batches:
                for split in self._active.values():
                    split.drained = not split.paused
                break
            for batch in batches:
                self._process_records(batch)
            self._align_watermarks()
            yield
            self._pace.observe(self.records - before, perf_counter() - started)
        for split in self._active.values():
            split.drained |= split.read == 0 and not split.paused

    def _process_records(self, batch: SplitRecords[Any]) -> None:
        split = self._active.get(batch.split_id)
        if split is None:
            raise JobExecutionError(
                f"the reader of source '{self.context.name}' gave records of split "
                f"'{batch.split_id}', which it was not assigned; it has: "
                f"{', '.join(self._active) or 'none'}"
            )
        if count := len(batch.batch) + batch.skipped:
            split.read += count
            self._remaining_records -= count
            self.records += count
            self._last_read = self._now
            self.idle = False
        if len(batch.batch):
            self.emit_batch(split, batch.batch)
        split.finished = batch.finished
        split.at_end |= batch.at_end

    def _emit_side_outputs(self) -> None:
        outputs, self._reader_context.outputs = self._reader_context.outputs, {}
        for tag, values in outputs.items():
            self.side_output(tag).emit(RowBatch(values))

    def _align_watermarks(self) -> None:
        """Pause splits that are too far ahead of the slowest in their alignment group, and
        resume the others."""
        limit = self._max_watermark
        if limit is None and not any(split.paused for split in self._active.values()):
            return
        splits = [split for split in self._active.values() if not split.finished]
        ahead = [s for s in splits if limit is not None and s.tracker.watermark > limit]
        pause = [split.split_id for split in ahead if not split.paused]
        resume = [s.split_id for s in splits if s.paused and s not in ahead]
        if (pause or resume) and self._reader is not None:
            for split_id in (*pause, *resume):
                self._active[split_id].paused = split_id in pause
            self._reader.pause_or_resume_splits(pause, resume)

    def emit_batch(self, split: ActiveSplit, batch: Batch) -> None:
        """Emit records of a split, and the watermarks that they cause."""
        for piece in split.tracker.pieces(batch, self._now):
            if len(piece):
                self.output.emit(piece)
            self._advance()

    def _advance(self) -> None:
        """Emit the minimum of the watermarks of splits that are neither finished nor idle. A
        split with records in this epoch is not idle."""
        watermarks = [
            split.tracker.watermark
            for split in self._active.values()
            if not split.finished and not (split.drained and self._is_idle(split))
        ]
        if watermarks and (lowest := min(watermarks)) > self.watermark:
            self.process_watermark(lowest)

    def _finish_input(self, no_more_splits: bool) -> bool:
        """Finish reading for this epoch, and return whether the input of this subtask has ended."""
        for split in self._active.values():
            split.tracker.tick(self._now)
        self._advance()
        finished = (s.tracker.watermark for s in self._active.values() if s.finished)
        self._newest = max([self._newest, *finished])
        unfinished = [split for split in self._active.values() if not split.finished]
        ended = no_more_splits and not unfinished
        if no_more_splits and not self._end_notified and self._reader is not None:
            self._end_notified = True
            self._reader.notify_no_more_splits()
        if ended:
            self.process_watermark(MAX_WATERMARK)
        elif not unfinished:
            self._reach_newest()
        self.idle = not ended and self._all_idle(unfinished)
        return ended

    def _reach_newest(self) -> None:
        """Emit the highest watermark of the splits, all of which are finished. Otherwise the
        watermark of a split that was ahead of the others and ended early would be lost."""
        if self._newest > self.watermark:
            self.process_watermark(self._newest)

    def _all_idle(self, unfinished: list[ActiveSplit]) -> bool:
        """Whether all splits of the subtask are idle. A subtask without an unfinished split is
        idle after the timeout. If it never had a split, it is idle immediately."""
        if unfinished:
            return all(self._is_idle(split) for split in unfinished)
        idle_at = self._idle_without_split()
        return self.watermark == MIN_WATERMARK or (idle_at is not None and idle_at <= self._now)

    def _is_idle(self, split: ActiveSplit) -> bool:
        """Whether a split is idle. A paused split is not idle: it had no chance to be read."""
        return not split.paused and split.tracker.idle(self._now)

    def _idle_without_split(self) -> int | None:
        """Time at which a subtask without unfinished splits becomes idle. None if never."""
        timeout = self._strategy.idle_timeout_ms
        return None if timeout is None else self._last_read + timeout

    def end_epoch(self, ended: bool) -> None:
        reader = self._reader
        positions = reader.snapshot_state() if reader is not None else {}
        self._progress = [self._progress_of(split, positions) for split in self._active.values()]
        self._active = {name: s for name, s in self._active.items() if not s.finished}
        if self.watermark != MIN_WATERMARK:
            self._emitted.put(self.watermark)
        if ended:
            self._close_reader()

    def _progress_of(self, split: ActiveSplit, positions: Mapping[str, Any]) -> SplitProgress:
        """Progress of a split for the acknowledgement. Also writes the split's watermark state."""
        if split.finished:
            split.position = None
            self._trackers.remove(split.split_id)
        else:
            split.position = positions[split.split_id]
            self._trackers.put(split.tracker.snapshot(), split.split_id)
        return SplitProgress(
            self.context.uid,
            split.split_id,
            split.position,
            split.finished,
            split.read,
            None if self._is_idle(split) else split.tracker.watermark,
            split.paused,
            split.at_end,
        )

    def contribute(self, ack: Ack) -> None:
        ack.reading.splits.extend(self._progress)
        context, uid = self._reader_context, self.context.uid
        if context.split_requested:
            ack.reading.split_requests.append(uid)
        if context.events:
            ack.reading.source_events[uid] = context.events
        context.split_requested, context.events = False, []

    def next_wakeup(self) -> int | None:
        unfinished = [s for s in self._active.values() if not (s.paused or s.at_end)]
        times = [self._reader_wakeup()] if unfinished else []
        times += [at for split in unfinished if (at := self._idle_at(split)) is not None]
        if self.context.waker.is_heard:  # an epoch for each question would be too many
            interval = self.context.watermark_interval
            asked = (split.tracker.tick_at(interval) for split in unfinished)
            times += [at for at in asked if at is not None]
        if not self._active and self.watermark not in (MIN_WATERMARK, MAX_WATERMARK):
            idle_at = self._idle_without_split()
            if idle_at is not None and idle_at > self._now:
                times.append(idle_at)
        return min(times, default=None)

    def _reader_wakeup(self) -> int:
        """Time of the reader's next poll."""
        now = self.context.source_clock()
        if self._remaining_records <= 0:
            return self._now
        at = self._reader.next_wakeup(now) if self._reader is not None else None
        self.is_polled = at is None
        return now + self.context.poll_interval if at is None else at

    def _idle_at(self, split: ActiveSplit) -> int | None:
        at = split.tracker.idle_at()
        return at if at is not None and at > self._now else None

    def close(self) -> None:
        if hasattr(self, "_reader"):
            self._close_reader()


def _unread(split: ActiveSplit) -> bool:
    return not (split.finished or split.at_end)


def _readable(split: ActiveSplit) -> bool:
    return not (split.finished or split.paused or split.at_end)
