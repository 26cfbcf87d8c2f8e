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
    "JobNotice",
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


class JobNotice(NamedTuple):
    """Warning of workers, or something else that people should know although nothing has failed,
    such as the address at which an operator listens."""

    level: str
    """Level of the log: INFO, WARNING, ERROR or CRITICAL."""
    logger: str
    text: str
    """Text of the newest one."""
    operator: str | None
    """Name of the operator; None if it is not known."""
    subtasks: tuple[int, ...]
    """Subtasks that have told it, as far as they are known."""
    first: int
    """Time of the first one, ms since the Unix epoch."""
    last: int
    times: int
    """Number of times; texts that differ only in numbers are the same notice."""


class BusySubtask(NamedTuple):
    """Subtask of the running epoch that has been running for long."""

    operator: str
    """Name of the operator that is running."""
    subtask: int
    worker: str
    """Process of the worker, as host:pid."""
    seconds: float
    """Seconds that the subtask had been running at the time of its report."""
    stack: str
    """Python stack, the outermost call first."""


@dataclass(frozen=True, slots=True)
class EpochAttempt:
    """Running epoch."""

    number: int
    attempt: int
    """Number of earlier attempts."""
    since: int
    """Start of this attempt, ms since the epoch of Unix."""
    busy: tuple[BusySubtask, ...] = ()
    """Subtasks that have been running for long, longest first."""
    done: int | None = None
    """Number of subtasks that have ended; None if no worker has reported."""
    subtasks: int = 0


class StateSize(NamedTuple):
    """Bytes of a stage's state in a checkpoint."""

    written: int
    """Bytes that are new with this checkpoint."""
    full: int


@dataclass(frozen=True, slots=True)
class RestoredCheckpoint:
    """Checkpoint from which the run has continued (Flink: ``RestoredCheckpointStats``)."""

    number: int | None
    """Number of the checkpoint; None if it is not one of this job's own checkpoints."""
    epoch: int
    time: int
    """Time of the restore, ms since the epoch of Unix."""


@dataclass(frozen=True, slots=True)
class CheckpointStats:
    """Figures of one checkpoint, complete or failed (Flink: ``CompletedCheckpointStats``)."""

    number: int | None
    """Number of the checkpoint; None if it failed."""
    epoch: int
    """First epoch that is not part of the checkpoint."""
    triggered: int
    """Time of the trigger, ms since the epoch of Unix."""
    duration: float
    """Milliseconds until the sinks had committed."""
    failure: str | None = None
    size: int = 0
    """Bytes of state that the checkpoint wrote (Flink: ``checkpointed_size``)."""
    full_size: int = 0
    """Bytes of all state that the checkpoint refers to (Flink: ``state_size``)."""
    path: str = ""
    """Directory of the checkpoint."""
    written_ms: float = 0.0
    """Milliseconds until the checkpoint was written; the sinks' commits follow."""
    stages: Mapping[str, StateSize] = field(default_factory=_nothing)
    """Sizes by stage uid."""


@dataclass(frozen=True, slots=True)
class CheckpointHistory:
    """Checkpoints of a run (Flink: ``CheckpointStatsHistory``)."""

    completed: int = 0
    failed: int = 0
    recent: tuple[CheckpointStats, ...] = ()
    """Last checkpoints, newest first."""
    restored: RestoredCheckpoint | None = None


@dataclass(frozen=True, slots=True)
class ExceptionEntry:
    """Failure in the history of a job (Flink: ``ExceptionHistoryEntry``)."""

    time: int
    """Time of the failure, ms since the epoch of Unix."""
    epoch: int
    cause: str
    """Cause as a sentence, or the traceback of the user's code."""
    operator: str | None = None
    """Name of the operator whose function failed."""
    record: str | None = None
    """``repr`` of the record with which the function was called."""
    fatal: bool = False
    """Whether the failure ended the job; if not, the job continued."""


class RescaleStatus(Enum):
    """Outcome of a rescaling (Flink: ``TerminalState``)."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    IGNORED = "IGNORED"
    """The job already had the parallelism, or ended meanwhile."""


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
    """Number of the rescaling in its run, from 1."""
    parallelism: int
    """Requested parallelism."""
    begun: int
    """Time of the request, ms since the epoch of Unix."""
    stages: Mapping[str, StageRescale]
    """Changes by stage uid. Chains, and therefore stages, may depend on the parallelism."""
    ended: int | None = None
    status: RescaleStatus | None = None
    """Outcome; None while the rescaling is running."""
    failure: str | None = None
    """Reason for which the rescaling was refused or failed."""


class LatencyDetails(NamedTuple):
    """Latencies of the last markers from a source to a subtask, in ms (Flink: ``LatencyStats``)."""

    source: str
    """Uid of the stage that emits the markers."""
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
    """Records since the beginning of the run or the last rescaling."""
    records_out: int
    watermark: int | None
    """Watermark of the operator, ms since the epoch; None if it has none yet, or its input has
    ended."""


class SubtaskDetails(NamedTuple):
    """Details of a subtask: its work in the newest epoch, and the time since which it exists.

    Rates are those of the last ten seconds.
    """

    records_in: int
    """Records in the newest epoch."""
    records_out: int
    watermark: int | None
    """Watermark of the subtask, ms since the epoch; None if it has none, or is idle."""
    worker: str
    """Process of the worker, as host:pid."""
    seconds: float = 0.0
    """Seconds that the subtask took for the newest epoch."""
    total_in: int = 0
    """Records since the beginning of the run or the last rescaling."""
    total_out: int = 0
    bytes_in: int = 0
    """Bytes in the same time, without the data that a source reads."""
    bytes_out: int = 0
    records_in_per_second: float = 0.0
    records_out_per_second: float = 0.0
    bytes_in_per_second: float = 0.0
    bytes_out_per_second: float = 0.0
    busy_ms_per_second: float = 0.0
    """Milliseconds per second in which the subtask worked (Flink: ``busyTimeMsPerSecond``)."""
    back_pressured_ms_per_second: float = 0.0
    """Milliseconds per second in which the subtask waited until Spark took its output."""
    state_bytes: int = 0
    """Bytes of the subtask's state in checkpoints."""
    state: str = "current"
    """Origin of its state: current, replayed, restored or new."""
    operators: tuple[OperatorDetails, ...] = ()
    """Operators in the order of the chain."""
    busy_ms: int = 0
    """Milliseconds in which the subtask worked, since the beginning of the run or the last
    rescaling (Flink: ``accumulateBusyTimeMs``)."""
    back_pressured_ms: int = 0
    """Milliseconds in the same time in which the subtask waited until its output was taken."""
    idle_ms: int = 0
    """Rest of the same time. Time lost by failures is no part of it."""

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
    """Names of the operators by uid, in the order of the chain."""
    records_in: int = 0
    """Records in this run."""
    records_out: int = 0
    watermark: int | None = None
    """Lowest watermark of the subtasks."""
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
    parallelism: int = 0
    """Number of subtasks, also before the first epoch; 0 in reports of earlier releases."""

    def at_rest(self) -> StageDetails:
        """Details of the stage while it is idle."""
        subtasks = tuple(subtask.at_rest() for subtask in self.subtasks)
        return replace(
            self,
            subtasks=subtasks,
            records_in_per_second=0.0,
            records_out_per_second=0.0,
            busy_ms_per_second=0.0,
        )


IDLE_AFTER = 2_000
"""Milliseconds without a record after which a job is shown as idle."""


@dataclass(frozen=True)
class JobDetails:
    """Details of a job at one moment: its state, epochs, checkpoints, stages and metrics."""

    job_name: str = ""
    status: JobStatus = JobStatus.CREATED
    since: Mapping[JobStatus, int] = field(default_factory=_nothing)
    """Time of the last entry into each state, ms since the epoch of Unix."""
    epoch: int = 0
    """Number of the newest accepted epoch."""
    epochs: int = 0
    """Number of epochs accepted in this run."""
    running: EpochAttempt | None = None
    """The running epoch."""
    waits_for: str = ""
    """Event that the job waits for besides its epoch, as shown to waiting clients; empty if it does
    not wait."""
    checkpoint: int | None = None
    """Number of the newest checkpoint."""
    checkpoints: CheckpointHistory = field(default_factory=CheckpointHistory)
    records: int = 0
    """Records read from sources in this run."""
    records_per_second: float = 0.0
    """Records read from sources per second, in the last ten seconds (`millrace.engine.rates`).
    All pages and commands show this number as the job's throughput."""
    last_read: int = 0
    """Time at which an epoch was last accepted that read records, or in which a subtask was busy or
    back-pressured for most of the time; ms since the epoch of Unix. 0 if there was no such
    epoch."""
    watermark: int | None = None
    """Lowest watermark of all stages that have one, ms since the epoch; None if no stage has
    one."""
    epoch_ms: float = 0.0
    """Duration of the last epoch."""
    epoch_accepted: int = 0
    """Time at which the last epoch was accepted, ms since the epoch of Unix."""
    watermark_lag: int | None = None
    """Milliseconds by which the watermark was behind the clock at that time."""
    state_bytes: int = 0
    """Bytes of all state in checkpoints."""
    rescales: tuple[RescaleStats, ...] = ()
    """Last rescalings of this run, newest first."""
    restarts: int = 0
    refused: int = 0
    """Epochs that had to run again because their answers did not fit together."""
    exceptions: tuple[ExceptionEntry, ...] = ()
    """Last exceptions, newest first."""
    notices: tuple[JobNotice, ...] = ()
    """Last notices of workers, newest first."""
    cached: Mapping[str, int] = field(default_factory=_nothing)
    """Numbers of subtasks by the origin of their state: current, replayed, restored, new."""
    stages: tuple[StageDetails, ...] = ()
    metrics: Mapping[str, Mapping[int, Mapping[str, Any]]] = field(default_factory=_nothing)
    """Metrics of user functions, by operator uid and subtask; subtask -1 is the driver."""
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
