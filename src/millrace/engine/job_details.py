"""Details of a job: one immutable object for the command line, REST and listeners.

The job's thread makes a new object after every change; readers can keep theirs for any time. Flink:
classes ``JobDetails`` and ``ArchivedExecutionGraph``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

from millrace.common.job import JobStatus
from millrace.runtime.metrics import MetricDescription

__all__ = [
    "BusySubtask",
    "CheckpointHistory",
    "CheckpointStats",
    "EpochAttempt",
    "ExceptionEntry",
    "JobDetails",
    "LatencyDetails",
    "Listener",
    "OperatorDetails",
    "RescaleStats",
    "RescaleStatus",
    "RestoredCheckpoint",
    "StageDetails",
    "StageRescale",
    "StateSize",
    "SubtaskDetails",
]


def _nothing() -> Mapping[Any, Any]:
    return MappingProxyType({})


class BusySubtask(NamedTuple):
    """Subtask of the running epoch that has been running for long."""

    operator: str
    """The name of the operator that it is in."""
    subtask: int
    worker: str
    """host:pid."""
    seconds: float
    """Seconds that it had been running at its report."""
    stack: str
    """Python's, the outermost call first."""


@dataclass(frozen=True, slots=True)
class EpochAttempt:
    """Running epoch."""

    number: int
    attempt: int
    """Number of earlier attempts."""
    since: int
    """Start of this attempt, ms since the epoch of Unix."""
    busy: tuple[BusySubtask, ...] = ()
    """The subtasks that take long, longest first."""
    done: int | None = None
    """Number of subtasks that have ended; None if no worker has reported."""
    subtasks: int = 0


class StateSize(NamedTuple):
    """Bytes of a stage's state in a checkpoint."""

    written: int
    """New with this checkpoint."""
    full: int


@dataclass(frozen=True, slots=True)
class RestoredCheckpoint:
    """Checkpoint from which the run has continued (Flink: ``RestoredCheckpointStats``)."""

    number: int | None
    """Number of the checkpoint; None if it is not one of this job's own."""
    epoch: int
    time: int
    """Time of the restore, ms since the epoch of Unix."""


@dataclass(frozen=True, slots=True)
class CheckpointStats:
    """Figures of one checkpoint, complete or failed (Flink: ``CompletedCheckpointStats``)."""

    number: int | None
    """Number of the checkpoint; None if it failed."""
    epoch: int
    """The first epoch that is not part of it."""
    triggered: int
    """ms since the epoch of Unix."""
    duration: float
    """Milliseconds until the sinks had committed."""
    failure: str | None = None
    size: int = 0
    """Bytes of state that it wrote (Flink: ``checkpointed_size``)."""
    full_size: int = 0
    """Bytes of all the state that it names (Flink: ``state_size``)."""
    path: str = ""
    """The directory it is in."""
    written_ms: float = 0.0
    """Part of its duration until it was written; the sinks' commits follow."""
    stages: Mapping[str, StateSize] = field(default_factory=_nothing)
    """Per uid of a stage."""


@dataclass(frozen=True, slots=True)
class CheckpointHistory:
    """Checkpoints of a run (Flink: ``CheckpointStatsHistory``)."""

    completed: int = 0
    failed: int = 0
    recent: tuple[CheckpointStats, ...] = ()
    """The last ones, newest first."""
    restored: RestoredCheckpoint | None = None


@dataclass(frozen=True, slots=True)
class ExceptionEntry:
    """Failure in the history of a job (Flink: ``ExceptionHistoryEntry``)."""

    time: int
    """ms since the epoch of Unix."""
    epoch: int
    cause: str
    """In a sentence, or a user's traceback."""
    operator: str | None = None
    """The name of the operator whose function failed."""
    record: str | None = None
    """``repr`` of the record that it was called with."""
    fatal: bool = False
    """Whether the job ended by it; else it went on."""


class RescaleStatus(Enum):
    """Outcome of a rescaling (Flink: ``TerminalState``)."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    IGNORED = "IGNORED"
    """The job had that parallelism already, or ended meanwhile."""


class StageRescale(NamedTuple):
    """Parallelism of a stage before and after a rescaling; None for a graph without this stage."""

    name: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class RescaleStats:
    """Change of a job's parallelism (Flink: ``Rescale``)."""

    id: str
    """32 hexadecimal digits."""
    number: int
    """From 1, counted per run."""
    parallelism: int
    """That was asked for."""
    begun: int
    """ms since the epoch of Unix."""
    stages: Mapping[str, StageRescale]
    """Per uid; chains, and with them stages, may differ with the parallelism."""
    ended: int | None = None
    status: RescaleStatus | None = None
    """Outcome; None while the rescaling is running."""
    failure: str | None = None
    """Why it is not COMPLETED, if it was refused or failed."""


class LatencyDetails(NamedTuple):
    """Latencies of the last markers from a source to a subtask, in ms (Flink: ``LatencyStats``)."""

    source: str
    """Uid of the stage that the markers come from."""
    stage: str
    subtask: int
    number: int
    """Number of the markers."""
    sum: float
    min: float
    max: float
    quantiles: Mapping[float, float]
    """Latency that each share of the markers did not exceed, by share."""
    last: float = 0.0
    """Latency of the newest marker."""


class OperatorDetails(NamedTuple):
    """Details of one operator of a subtask."""

    records_in: int
    """Since the run began, or the job was last rescaled."""
    records_out: int
    watermark: int | None
    """Watermark of the operator, ms since the epoch; None if it has none yet, or its input has
    ended."""


class SubtaskDetails(NamedTuple):
    """Details of a subtask: its work in the newest epoch, and the time since which it exists.

    Rates are those of the last ten seconds.
    """

    records_in: int
    """In the newest epoch."""
    records_out: int
    watermark: int | None
    """Watermark of the subtask, ms since the epoch; None if it has none, or is idle."""
    worker: str
    """host:pid."""
    seconds: float = 0.0
    """Seconds that it took for the newest epoch."""
    total_in: int = 0
    """Records since the run began, or the job was last rescaled."""
    total_out: int = 0
    bytes_in: int = 0
    """Likewise; what a source reads is not counted."""
    bytes_out: int = 0
    records_in_per_second: float = 0.0
    records_out_per_second: float = 0.0
    bytes_in_per_second: float = 0.0
    bytes_out_per_second: float = 0.0
    busy_ms_per_second: float = 0.0
    """The time that it worked (Flink: ``busyTimeMsPerSecond``)."""
    back_pressured_ms_per_second: float = 0.0
    """The time that it waited for Spark to take what it gave."""
    state_bytes: int = 0
    """Bytes of its state in checkpoints."""
    state: str = "current"
    """Origin of its state: current, replayed, restored or new."""
    operators: tuple[OperatorDetails, ...] = ()
    """In the order of the chain."""

    @property
    def idle_ms_per_second(self) -> float:
        """Milliseconds per second in which the subtask had nothing to do."""
        return max(1000 - self.busy_ms_per_second - self.back_pressured_ms_per_second, 0.0)

    def at_rest(self) -> SubtaskDetails:
        """Details of the subtask while it is idle."""
        return self._replace(
            records_in_per_second=0.0,
            records_out_per_second=0.0,
            bytes_in_per_second=0.0,
            bytes_out_per_second=0.0,
            busy_ms_per_second=0.0,
            back_pressured_ms_per_second=0.0,
        )


@dataclass(frozen=True, slots=True)
class StageDetails:
    """Details of a chain of operators (Flink: ``JobVertexDetails``)."""

    uid: str
    name: str
    operators: Mapping[str, str]
    """uid -> name, in the order of the chain."""
    records_in: int = 0
    """In this run."""
    records_out: int = 0
    watermark: int | None = None
    """The lowest of its subtasks."""
    subtasks: tuple[SubtaskDetails, ...] = ()
    records_in_per_second: float = 0.0
    """Records per second into all subtasks, in the last ten seconds."""
    records_out_per_second: float = 0.0
    busy_ms_per_second: float = 0.0
    """Busy time of the busiest subtask."""
    watermark_lag: int | None = None
    """Milliseconds by which the watermark was behind the clock when the newest epoch was
    accepted."""
    state_bytes: int = 0

    def at_rest(self) -> StageDetails:
        """Details of the stage while it is idle."""
        subtasks = tuple(each.at_rest() for each in self.subtasks)
        return replace(
            self,
            subtasks=subtasks,
            records_in_per_second=0.0,
            records_out_per_second=0.0,
            busy_ms_per_second=0.0,
        )


IDLE_AFTER = 2_000
"""Milliseconds without a record after which a job is shown at rest."""


@dataclass(frozen=True)
class JobDetails:
    """Details of a job at one moment: its state, epochs, checkpoints, stages and metrics."""

    job_name: str = ""
    status: JobStatus = JobStatus.CREATED
    since: Mapping[JobStatus, int] = field(default_factory=_nothing)
    """Time of the last entry into each state, ms since the epoch of Unix."""
    epoch: int = 0
    """The newest that was accepted."""
    epochs: int = 0
    """Accepted in this run."""
    running: EpochAttempt | None = None
    """The epoch that is under way."""
    waits_for: str = ""
    """Cause, besides its epoch, for which the job waits, as shown to clients that wait for the
    job."""
    checkpoint: int | None = None
    """Number of the newest checkpoint."""
    checkpoints: CheckpointHistory = field(default_factory=CheckpointHistory)
    records: int = 0
    """Read from sources in this run."""
    records_per_second: float = 0.0
    """Read from sources, over the last ten seconds (`millrace.engine.rates`): what every page and
    command shows as a job's throughput."""
    last_read: int = 0
    """Time at which an epoch that had read something was last accepted, ms since the epoch of
    Unix; 0 if there was none."""
    watermark: int | None = None
    """The lowest of all stages that have one, ms since the epoch; None before the first."""
    epoch_ms: float = 0.0
    """Duration of the last epoch."""
    epoch_accepted: int = 0
    """Time at which the last epoch was accepted, ms since the epoch of Unix."""
    watermark_lag: int | None = None
    """Milliseconds by which the watermark was behind the clock at that time."""
    state_bytes: int = 0
    """Bytes of all state in checkpoints."""
    rescales: tuple[RescaleStats, ...] = ()
    """The last ones of this run, newest first."""
    restarts: int = 0
    refused: int = 0
    """Epochs that had to run again because their answers did not fit together."""
    exceptions: tuple[ExceptionEntry, ...] = ()
    """The last ones, newest first."""
    cached: Mapping[str, int] = field(default_factory=_nothing)
    """Numbers of subtasks by the origin of their state: current, replayed, restored, new."""
    stages: tuple[StageDetails, ...] = ()
    metrics: Mapping[str, Mapping[int, Mapping[str, Any]]] = field(default_factory=_nothing)
    """The functions' own metrics: per operator uid and subtask; -1 is the driver."""
    latencies: tuple[LatencyDetails, ...] = ()
    """Latencies of the last markers, if there are any (``metrics.latency.interval``)."""
    described: Mapping[str, Mapping[str, MetricDescription]] = field(default_factory=_nothing)
    """Descriptions of the metrics, per operator uid."""

    def as_of(self, now: int, between: int = 0) -> JobDetails:
        """Details at the time ``now``. If the job has read nothing for some seconds, its rates are
        0, although no epoch has reported this.

        Args:
            now: ms since the epoch of Unix.
            between: ms that may pass between two epochs of a job with much input.
        """
        patience = max(IDLE_AFTER, 2 * round(self.epoch_ms), 2 * between)
        seen = self.running.since if self.running is not None else now
        if not self.last_read or min(now, seen) - self.last_read <= patience:
            return self
        stages = tuple(stage.at_rest() for stage in self.stages)
        return replace(self, records_per_second=0.0, stages=stages)


Listener = Callable[[JobDetails], None]
"""Called after every accepted epoch, in the job's thread; must be quick."""
