"""History of a run: checkpoints, exceptions and states, as recorded by the job's thread."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from millrace.common.errors import UserFunctionError
from millrace.common.functions.accumulators import Accumulator, merge_all
from millrace.engine.job_details import (
    CheckpointHistory,
    CheckpointStats,
    EpochAttempt,
    ExceptionEntry,
    JobDetails,
    JobNotice,
    OperatorDetails,
    RestoredCheckpoint,
    StageDetails,
    SubtaskDetails,
)
from millrace.engine.job_state import JobStateMachine
from millrace.engine.latency_tracker import LatencyTracker
from millrace.engine.rates import Rates, SubtaskTotals
from millrace.engine.rescale_history import RescaleHistory
from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.epoch import Ack
from millrace.runtime.logs.worker_notice import WorkerNotice
from millrace.runtime.metrics import MetricDescription, MetricRegistry, Summary
from millrace.runtime.program import Program, Stage

__all__ = ["JobHistory"]

DRIVER = -1
"""Number that stands for the driver among the subtasks that report metrics."""
REMEMBERED_CHECKPOINTS = 10
"""Number of checkpoints kept, as in Flink's ``web.checkpoints.history``."""
REMEMBERED_EXCEPTIONS = 16
"""Number of exceptions kept, as in Flink's ``web.exception-history-size``."""
REMEMBERED_NOTICES = 30
"""Number of different notices kept."""


class JobHistory:
    """Collects the figures of epochs, checkpoints and failures of a run.

    Args:
        states: state machine of the job.
        latency_interval: milliseconds between latency markers; 0 for no markers.
        now: the time, in ms since the epoch of Unix.
    """

    def __init__(
        self,
        program: Program,
        states: JobStateMachine,
        latency_interval: int = 0,
        now: Callable[[], int] = lambda: 0,
    ) -> None:
        self._latency_interval = latency_interval
        self._program = program
        self._states = states
        self.epoch = self.epochs = self.records = self.restarts = self.refused = 0
        self.running: EpochAttempt | None = None
        self.checkpoint: int | None = None
        self._epoch_ms = self._records_per_second = 0.0
        self._epoch_accepted = self._last_read = 0
        self._watermark: int | None = None
        self._rates = Rates()
        self._lived_ms = 0.0
        self._has_lost_time = False
        self.restored: RestoredCheckpoint | None = None
        """Checkpoint from which the run has continued."""
        self.rescales = RescaleHistory(now)
        self._completed = self._failed = 0
        self._checkpoints: deque[CheckpointStats] = deque(maxlen=REMEMBERED_CHECKPOINTS)
        self._exceptions: deque[ExceptionEntry] = deque(maxlen=REMEMBERED_EXCEPTIONS)
        self._notices: dict[tuple[Any, ...], JobNotice] = {}
        """The newest notice is the last one."""
        self._cached: dict[str, int] = {}
        self._metrics: dict[str, dict[int, dict[str, Any]]] = {}
        self._counted: set[tuple[str, str]] = set()
        """Metrics that are counters, as (operator uid, name)."""
        self._described: dict[str, dict[str, MetricDescription]] = {}
        self._accumulators: dict[str, Accumulator[Any, Any]] = {}
        self._stages: dict[int, StageDetails] = {}
        self.go_on_with(program)

    # -- what happens --------------------------------------------------------------------------

    def go_on_with(self, program: Program) -> None:
        """Continue with the subtasks of another program. The values of counters are kept; gauges
        are removed until the new subtasks report them."""
        before = {stage.uid: stage for stage in self._stages.values()}
        self._program = program
        self._stages = {s.id: _stage(s, before.get(s.uid)) for s in program.stages}
        self._latencies = LatencyTracker(program, self._latency_interval)
        self._operators: dict[tuple[int, int], tuple[OperatorDetails, ...]] = {}
        self._rates = Rates()
        self._lived_ms = 0.0
        for uid, by_subtask in self._metrics.items():
            for subtask, values in by_subtask.items():
                kept = {name: v for name, v in values.items() if (uid, name) in self._counted}
                by_subtask[subtask] = kept

    def accepted(
        self,
        epoch: int,
        acks: list[Ack],
        sources: set[int],
        epoch_ms: float,
        now: int = 0,
        elapsed: float | None = None,
        state_bytes: Callable[[tuple[int, int]], int] = lambda subtask: 0,
    ) -> None:
        """Record an accepted epoch.

        Args:
            sources: ids of the stages that read from sources.
            epoch_ms: the duration of the epoch.
            now: ms since the epoch of Unix.
            elapsed: seconds of a monotonic clock; None if epochs follow each other without a pause.
            state_bytes: bytes of a subtask's state, given its stage and index.
        """
        read = sum(ack.traffic.records_in for ack in acks if ack.stage in sources)
        self.epoch = epoch
        self.epochs += 1
        self.records += read
        self.running = None
        self._epoch_ms = epoch_ms
        marks = [mark for ack in acks if (mark := _watermark(ack)) is not None]
        if marks:
            self._watermark = min(marks)
        for ack in acks:
            self._cached[ack.state.origin] = self._cached.get(ack.state.origin, 0) + 1
            for uid in {**ack.metrics.values, **ack.metrics.counts}:
                metrics, counts = ack.metrics.values.get(uid, {}), ack.metrics.counts.get(uid, {})
                self._take_metrics(uid, ack.subtask, metrics, counts)
            for uid, described in ack.metrics.described.items():
                self._describe(uid, described)
            merge_all(self._accumulators, ack.metrics.accumulators)
        self._epoch_accepted = now
        if read or any(ack.time.seconds > _LOADED * epoch_ms / 1000 for ack in acks):
            self._last_read = now
        self._latencies.accepted(acks, now)
        self._take_rates(acks, epoch_ms, elapsed)
        readers = [(ack.stage, ack.subtask) for ack in acks if ack.stage in sources]
        self._records_per_second = sum(self._rates.of(id).records_in for id in readers)
        self._take_stages(acks, now, state_bytes)

    def take_driver_metrics(self, uid: str, registry: MetricRegistry) -> None:
        """Record metrics that the enumerator of a source or the committer of a sink reports."""
        if registry.metrics:
            self._take_metrics(uid, DRIVER, registry.news(), registry.counts())
            self._describe(uid, registry.descriptions())

    def checkpointed(self, stats: CheckpointStats) -> None:
        """Record a checkpoint, complete or failed."""
        if stats.number is None:
            self._failed += 1
        else:
            self._completed += 1
            self.checkpoint = stats.number
        self._checkpoints.appendleft(stats)

    def failed(self, error: BaseException, now: int, fatal: bool = False) -> None:
        """Record a failure. The job goes on unless the failure was fatal."""
        entry = ExceptionEntry(
            time=now,
            epoch=self.running.number if self.running is not None else self.epoch,
            cause=str(error),
            operator=error.operator if isinstance(error, UserFunctionError) else None,
            record=error.record if isinstance(error, UserFunctionError) else None,
            fatal=fatal,
        )
        self._exceptions.appendleft(entry)
        self._has_lost_time = True

    def repeated(self) -> None:
        """Record that the running epoch starts again although nothing has failed."""
        self._has_lost_time = True

    def noticed(self, notices: Iterable[WorkerNotice]) -> None:
        """Record notices of workers."""
        for notice in notices:
            before = self._notices.pop(notice.kind, None)
            self._notices[notice.kind] = _joined(before, notice)
        for kind in list(self._notices)[:-REMEMBERED_NOTICES]:
            del self._notices[kind]

    # -- what is known -------------------------------------------------------------------------

    def details(self) -> JobDetails:
        """Present details of the job."""
        return JobDetails(
            job_name=self._program.job_name,
            status=self._states.status,
            since=self._states.since,
            epoch=self.epoch,
            epochs=self.epochs,
            running=self.running,
            checkpoint=self.checkpoint,
            checkpoints=CheckpointHistory(
                self._completed, self._failed, tuple(self._checkpoints), self.restored
            ),
            records=self.records,
            records_per_second=self._records_per_second,
            last_read=self._last_read,
            watermark=self._watermark,
            epoch_ms=self._epoch_ms,
            epoch_accepted=self._epoch_accepted,
            watermark_lag=_lag(self._watermark, self._epoch_accepted),
            state_bytes=sum(stage.state_bytes for stage in self._stages.values()),
            rescales=self.rescales.recent,
            restarts=self.restarts,
            refused=self.refused,
            exceptions=tuple(self._exceptions),
            notices=tuple(reversed(self._notices.values())),
            cached=MappingProxyType(dict(self._cached)),
            stages=tuple(self._stages.values()),
            metrics=MappingProxyType({uid: dict(of) for uid, of in self._metrics.items()}),
            latencies=self._latencies.details,
            described=MappingProxyType(dict(self._described)),
        )

    def accumulators(self) -> dict[str, Any]:
        """Results of accumulators, and all numeric metrics summed over subtasks. They are
        computed on each call, because an accumulator's result can be as big as its input. May be
        called in any thread."""
        totals: dict[str, Any] = {}
        # lists, for the job's own thread may go on meanwhile
        for by_subtask in list(self._metrics.values()):
            for values in list(by_subtask.values()):
                _add_up(totals, values)
        plain = {n: asdict(v) if isinstance(v, Summary) else v for n, v in totals.items()}
        results = {name: a.get_local_value() for name, a in list(self._accumulators.items())}
        return {**plain, **results}

    def _describe(self, uid: str, described: Mapping[str, MetricDescription]) -> None:
        # a new dict each time, as in `_take_metrics`
        if described:
            self._described[uid] = {**self._described.get(uid, {}), **described}

    def _take_metrics(
        self, uid: str, subtask: int, metrics: Mapping[str, Any], counts: Mapping[str, int]
    ) -> None:
        by_subtask = self._metrics.setdefault(uid, {})
        # a new dict each time: the former is in details that somebody may hold
        known = by_subtask[subtask] = dict(by_subtask.get(subtask, {}))
        for name, value in metrics.items():
            before = known.get(name)
            if isinstance(value, Summary) and isinstance(before, Summary):
                value = before.plus(value)
            known[name] = value
        for name, count in counts.items():
            self._counted.add((uid, name))
            known[name] = known.get(name, 0) + count

    def _take_rates(self, acks: list[Ack], epoch_ms: float, elapsed: float | None) -> None:
        rates = self._rates
        if not rates.totals:
            begun = 0.0 if elapsed is None else elapsed - epoch_ms / 1000
            rates.begin(begun)
            self._elapsed = begun
        before = self._elapsed
        self._elapsed = before + epoch_ms / 1000 if elapsed is None else elapsed
        # nobody knows what subtasks did in attempts that failed
        lived_ms = epoch_ms if self._has_lost_time else (self._elapsed - before) * 1000
        self._lived_ms += lived_ms
        self._has_lost_time = False
        rates.add(self._elapsed, {(ack.stage, ack.subtask): _done(ack) for ack in acks})

    def _take_stages(
        self, acks: Iterable[Ack], now: int, state_bytes: Callable[[tuple[int, int]], int]
    ) -> None:
        by_stage: dict[int, list[Ack]] = {}
        for ack in acks:
            by_stage.setdefault(ack.stage, []).append(ack)
        for id, stage in self._stages.items():
            of_stage = sorted(by_stage.get(id, ()), key=lambda ack: ack.subtask)
            subtasks = tuple(self._subtask(ack, state_bytes) for ack in of_stage)
            self._stages[id] = _moved_on(stage, subtasks, now)

    def _subtask(self, ack: Ack, state_bytes: Callable[[tuple[int, int]], int]) -> SubtaskDetails:
        id = ack.stage, ack.subtask
        known = self._operators.get(id) or (_NO_RECORDS,) * len(ack.traffic.operators)
        operators = self._operators[id] = tuple(
            OperatorDetails(
                before.records_in + new.records_in,
                before.records_out + new.records_out,
                _known(new.watermark),
            )
            for before, new in zip(known, ack.traffic.operators, strict=True)
        )
        total, rate = self._rates.totals[id], self._rates.of(id)
        # subtask and driver measure the epoch between different moments
        busy = min(rate.busy_ms, 1000.0)
        return SubtaskDetails(
            ack.traffic.records_in,
            ack.traffic.records_out,
            _watermark(ack),
            ack.worker,
            seconds=ack.time.seconds,
            total_in=int(total.records_in),
            total_out=int(total.records_out),
            bytes_in=int(total.bytes_in),
            bytes_out=int(total.bytes_out),
            records_in_per_second=rate.records_in,
            records_out_per_second=rate.records_out,
            bytes_in_per_second=rate.bytes_in,
            bytes_out_per_second=rate.bytes_out,
            busy_ms_per_second=busy,
            back_pressured_ms_per_second=min(rate.handing_ms, 1000.0 - busy),
            state_bytes=state_bytes(id),
            state=ack.state.origin,
            operators=operators,
            busy_ms=round(total.busy_ms),
            back_pressured_ms=round(total.handing_ms),
            idle_ms=max(round(self._lived_ms - total.busy_ms - total.handing_ms), 0),
        )


_NO_RECORDS = OperatorDetails(0, 0, None)
_LOADED = 0.5
"""Share of an epoch for which a subtask is busy or back-pressured in a job that is not at rest: a
source that reads nothing may wait for a slow operator."""


def _joined(before: JobNotice | None, notice: WorkerNotice) -> JobNotice:
    """A notice of a worker, together with earlier ones of its kind."""
    subtasks = set(notice.subtasks)
    return JobNotice(
        level=logging.getLevelName(notice.level),
        logger=notice.logger,
        text=notice.text,
        operator=notice.operator,
        subtasks=tuple(sorted(subtasks.union(before.subtasks if before is not None else ()))),
        first=notice.first if before is None else min(before.first, notice.first),
        last=notice.last,
        times=notice.times + (before.times if before is not None else 0),
    )


def _stage(stage: Stage, before: StageDetails | None) -> StageDetails:
    return StageDetails(
        uid=stage.uid,
        name=stage.name,
        operators=MappingProxyType({node.uid: node.name for node in stage.nodes}),
        records_in=before.records_in if before is not None else 0,
        records_out=before.records_out if before is not None else 0,
        parallelism=stage.parallelism,
    )


def _moved_on(stage: StageDetails, subtasks: tuple[SubtaskDetails, ...], now: int) -> StageDetails:
    marks = [s.watermark for s in subtasks if s.watermark is not None]
    watermark = min(marks, default=stage.watermark)
    return StageDetails(
        uid=stage.uid,
        name=stage.name,
        operators=stage.operators,
        records_in=stage.records_in + sum(s.records_in for s in subtasks),
        records_out=stage.records_out + sum(s.records_out for s in subtasks),
        watermark=watermark,
        subtasks=subtasks,
        records_in_per_second=sum(s.records_in_per_second for s in subtasks),
        records_out_per_second=sum(s.records_out_per_second for s in subtasks),
        busy_ms_per_second=max((s.busy_ms_per_second for s in subtasks), default=0.0),
        watermark_lag=_lag(watermark, now),
        state_bytes=sum(s.state_bytes for s in subtasks),
        parallelism=stage.parallelism,
    )


def _done(ack: Ack) -> SubtaskTotals:
    handing = ack.time.handing_seconds * 1000
    return SubtaskTotals(
        ack.traffic.records_in,
        ack.traffic.records_out,
        ack.time.seconds * 1000 - handing,
        handing,
        ack.traffic.bytes_in,
        ack.traffic.bytes_out,
    )


def _lag(watermark: int | None, now: int) -> int | None:
    return None if watermark is None else now - watermark


def _known(watermark: int) -> int | None:
    return watermark if MIN_WATERMARK < watermark < MAX_WATERMARK else None


def _watermark(ack: Ack) -> int | None:
    return None if ack.progress.idle else _known(ack.progress.watermark)


def _add_up(totals: dict[str, Any], values: dict[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, Summary):
            known = totals.get(name)
            totals[name] = value.plus(known) if isinstance(known, Summary) else value
        elif isinstance(value, (int, float)):
            totals[name] = totals.get(name, 0) + value
