"""Plan of an epoch for a subtask, and the subtask's acknowledgement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, NamedTuple

from millrace.common.functions.accumulators import Accumulator
from millrace.common.source import SourceEvent
from millrace.runtime.buffer import Buffer, BufferKind
from millrace.runtime.logs.log_line import LogLine
from millrace.runtime.logs.worker_notice import WorkerNotice
from millrace.runtime.metrics import MetricDescription
from millrace.state.serialization.payload import decode
from millrace.state.state_delta import StateDelta, StatePart
from millrace.state.store import EMPTY
from millrace.state.table_id import TableId


@dataclass(frozen=True)
class QueryableState:
    """A state whose descriptor made it queryable."""

    table: TableId
    name: str
    """Name under which clients query the state."""
    kind: str
    """Kind of state, as in descriptors: value, list, map, reducing, aggregating."""
    ttl: int | None = None
    """Milliseconds after which a value is no longer returned."""

    @property
    def uid(self) -> str:
        """Uid of the operator."""
        return self.table.uid

    @property
    def state(self) -> str:
        """Name of the state."""
        return self.table.name


@dataclass(frozen=True)
class SplitPlan:
    """A split for a source subtask to read in this epoch."""

    source: str
    """Uid of the source."""
    split: Any
    position: Any
    max_records: int
    end: Any = None
    """Position at which the run ends."""


@dataclass(frozen=True)
class CommitPlan:
    """A committable of a durable checkpoint, for a sink's subtask to commit."""

    committable: bytes
    retries: int = 0
    turn: int = 0
    """Number of older checkpoints in the plan, whose committables must be committed before."""


@dataclass(frozen=True)
class StateHandle:
    """Reference to the state of one subtask of an earlier job graph."""

    subtask: int
    parallelism: int
    deltas: tuple[StateDelta, ...]
    head: bool
    """Whether the state is of the stage of the restoring subtask's first operator."""
    divided: bool = False
    """Whether the handle is a part with only the keys of the restoring subtask: its two deltas are
    those of a `StatePart`."""


@dataclass(frozen=True)
class RestoreAssignment:
    """State that a subtask restores from other subtasks' state."""

    handles: tuple[StateHandle, ...]
    same_inputs: bool = True
    """Whether the stage has the same inputs as before. Else its watermark starts over."""
    same_channels: bool = True
    """Whether the watermarks of single channels can be distinguished."""
    forked: bool = False
    """Whether the state belongs to another job, which may continue with it as well."""

    @property
    def is_divided(self) -> bool:
        """Whether all state was divided by its former owners."""
        return bool(self.handles) and all(handle.divided for handle in self.handles)

    @property
    def rows(self) -> tuple[StateDelta, ...]:
        """Deltas with the rows that former owners divided off for this subtask; the deltas of the
        subtask itself may build on them.
        """
        return tuple(handle.deltas[0] for handle in self.handles if handle.divided)


@dataclass(frozen=True)
class FreshStart:
    """Start of a subtask without state."""

    @property
    def version(self) -> str:
        """Version of an empty state."""
        return EMPTY


@dataclass(frozen=True)
class LiveStart:
    """Start of a subtask with the state that its worker holds, after it has replayed at most a few
    deltas.
    """

    version: str
    """State version to start from."""
    recent: tuple[StateDelta, ...] = ()
    """The last deltas before the version, for a worker that missed some."""


@dataclass(frozen=True)
class RestoredStart:
    """Start of a subtask that restores its own state, unless its worker holds it."""

    version: str
    deltas: tuple[StateDelta, ...]
    """All live deltas."""


@dataclass(frozen=True)
class AssignedStart:
    """Start of a subtask that restores its assigned parts of other subtasks' states, unless its
    worker has already done so. The subtask has no deltas of its own yet."""

    version: str
    assignment: RestoreAssignment


SubtaskStart = FreshStart | LiveStart | RestoredStart | AssignedStart
"""Origin of a subtask's state at the beginning of an epoch."""


@dataclass(frozen=True)
class SubtaskPlan:
    """One subtask's part of the plan of an epoch."""

    start: SubtaskStart = FreshStart()
    splits: tuple[SplitPlan, ...] = ()
    no_more_splits: bool = False
    commits: dict[str, tuple[CommitPlan, ...]] = field(default_factory=dict)
    """Committables to commit first, per uid of a committing sink in the subtask."""
    source_events: tuple[SourceEvent, ...] = ()
    """Events from the enumerator to this subtask's reader."""
    max_watermark: int | None = None
    """Watermark beyond which splits must wait (watermark alignment). None if there is no limit."""
    drained: tuple[str, ...] = ()
    """Loops whose inputs have ended and in which no records circulate any more."""


@dataclass(frozen=True)
class EpochPlan:
    """The plan of one epoch."""

    epoch: int
    attempt: int
    """Number of the attempt to run this epoch."""
    now: int
    """Processing time of the whole job in this epoch, in ms since the epoch."""
    job_dir: str | None
    durable: bool
    subtasks: dict[tuple[int, int], SubtaskPlan]
    """Plans by (stage, subtask)."""
    flush: bool = False
    """Whether sinks must hand over all committables: for a savepoint, for another parallelism, or
    because the run ends."""
    ends_run: bool = False
    """Whether the run ends although the input does not. Requests in flight are awaited."""
    completed_checkpoint: int | None = None
    """Id of the checkpoint completed since the last accepted epoch. None if there is none."""
    divide: dict[int, int] = field(default_factory=dict)
    """Stages whose subtasks must divide their state, and the number of new subtasks."""
    restarts: int = 0
    """Number of restarts of the job in this run: the attempt number of functions opened now."""
    end_file: str | None = None
    """Path of a file that ends reading before its limit, as soon as it exists."""
    end_object: str | None = None
    """Location of the same file in an object store, for workers on other machines than the driver.
    None if all workers see the file."""
    ends_at: int | None = None
    """Time at which an epoch of resident tasks ends although it has no news, in ms since the epoch.
    None if there is none."""
    only_commits: bool = False
    """Whether the job has ended but for commits: the end of the input does not end the epoch."""
    messages: Mapping[str, bytes] = field(default_factory=dict)
    """Messages from outside to all subtasks of an operator, by its uid."""


@dataclass(frozen=True)
class EpochContext:
    """An epoch, as seen by the operators of a subtask."""

    number: int
    now: int
    """Processing time, ms since the epoch."""
    attempt: str = ""
    """Name part for files and transactions that only this attempt of the subtask writes."""
    version: str = ""
    """Version of the state after the epoch, if the epoch changes the state."""
    directory: str = ""
    """The job's directory. Empty if there is none."""
    leaves_nothing_open: bool = False
    """Whether sinks must hand over all committables."""
    ends_run: bool = False
    """Whether the run ends with this epoch although the input does not. Requests in flight are
    awaited."""
    completed_checkpoint: int | None = None
    """Id of the checkpoint completed since the last accepted epoch. None if there is none."""
    commits: Mapping[str, Sequence[CommitPlan]] = field(default_factory=dict)
    """Committables to commit first, per uid of a committing sink in the subtask."""
    feedback: Mapping[str, Sequence[bytes]] = field(default_factory=dict)
    """Encoded batches fed back in the epoch before, per loop that begins in the subtask."""
    feeds_at_once: bool = False
    """Whether heads of loops take records from their tails within the epoch, also what was left of
    the epoch before. Then ``feedback`` is empty."""
    hands_over: bool = False
    """Whether subtasks of the same task exchange immutable records as they are."""
    drained: Sequence[str] = ()
    """Loops whose inputs have ended and in which no records circulate any more."""
    messages: Mapping[str, bytes] = field(default_factory=dict)
    """Messages from outside, by the operator's uid. An epoch that is repeated has them again."""


@dataclass(frozen=True)
class ReadPlan:
    """Splits for the head of a source stage to read in an epoch, and the limits of reading."""

    splits: Sequence[SplitPlan]
    batch_records: int
    """Maximum number of records of one batch."""
    events: Sequence[SourceEvent] = ()
    """Events from the enumerator to the reader."""
    max_watermark: int | None = None
    """Watermark beyond which splits pause. None if there is no limit."""
    no_more_splits: bool = False
    delivered: dict[int, list[memoryview]] = field(default_factory=dict)
    """Payloads that the executor has delivered, per lane."""
    is_end_wanted: Callable[[], bool] = lambda: False
    """Function that tells whether the epoch must end its reading now."""
    room: Callable[[], int] | None = None
    """Function that gives the number of records that the subtasks downstream have room for. None
    if there is no limit."""

    @property
    def batch_limit(self) -> int:
        """Maximum number of records of the next batch."""
        if self.room is None:
            return self.batch_records
        return max(1, min(self.batch_records, self.room()))


class ReadResult(NamedTuple):
    """Result of reading in the head of a source stage, for one epoch."""

    ended: bool
    """Whether the input of this subtask has ended."""
    records: int
    idle: bool
    """Whether the source waits for splits or records, so that its watermark holds back no other."""


class FailureKind(Enum):
    """Cause of a failure: user, worker, storage or input."""

    USER = "USER"
    STATE_MISS = "STATE_MISS"
    """No one's fault: this worker needs all the deltas."""
    STORAGE = "STORAGE"
    """Failure of the file system: a segment could not be written, or is damaged."""
    INCOMPLETE = "INCOMPLETE"
    """Missing or mixed input: a producer failed, or ran twice."""


@dataclass
class Failure:
    """Failure of a subtask. A user's error is included in displayable form."""

    operator: str
    record: str | None
    user_traceback: str
    kind: FailureKind = FailureKind.USER


@dataclass
class SplitProgress:
    """Progress of a split: its position and watermark."""

    source: str
    split_id: str
    position: Any
    finished: bool
    records: int
    watermark: int | None = None
    """Watermark in ms since the epoch. None if the split is idle and holds back no other."""
    paused: bool = False
    """Whether the split waits for others of its alignment group."""
    at_end: bool = False
    """Whether the run reads no more of the split."""


@dataclass
class Uncommitted:
    """Committables that a sink's subtask could not commit."""

    committables: list[bytes]
    reason: str
    """Error that the committer raised. Empty if it only requested a retry."""
    untried: int = 0
    """Number of the last ones of the plan that were not tried, because they are of newer
    checkpoints. They are not among ``committables``."""


StateOrigin = Literal["current", "replayed", "restored", "new"]
"""Origin of a subtask's state: its worker, replayed deltas, a restore, or none yet."""


class OperatorFigures(NamedTuple):
    """Records in and out of one operator of a subtask in an epoch, and its watermark."""

    records_in: int
    records_out: int
    watermark: int
    """Watermark that the operator has reached, in ms since the epoch."""


@dataclass
class StateReport:
    """Version and changes of a subtask's state after an epoch."""

    version: str = ""
    """Version after the epoch."""
    delta: StateDelta | None = None
    """Changes of the state. None if it did not change."""
    follows_parts: bool = False
    """Whether the delta follows the rows of the parts that the subtask has restored."""
    parts: tuple[StatePart, ...] = ()
    """Parts of the current state, one for each new subtask, if the plan requests them."""
    stateful: tuple[str, ...] = ()
    """Uids of operators with state, if there are more than in the last report."""
    origin: StateOrigin = "current"
    """Origin of the state at the beginning of the epoch."""
    evicted: bool = False
    """Whether the subtask left its worker after its acknowledgement, because memory is short. It
    then needs all its deltas for the next epoch."""


@dataclass
class TimeReport:
    """Time that an epoch took in a subtask."""

    began_at: float = 0.0
    """Beginning, in ms since the epoch by this machine's clock."""
    done_at: float = 0.0
    """Time at which the input was processed, in ms since the epoch."""
    seconds: float = 0.0
    """Seconds from the beginning to the end."""
    handing_seconds: float = 0.0
    """Seconds of these in which the subtask waited for its buffers to be taken."""


@dataclass
class TrafficReport:
    """Records and bytes that a subtask received and sent in an epoch."""

    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0
    """Bytes of incoming buffers. Data that a source reads is not counted."""
    bytes_out: int = 0
    operators: tuple[OperatorFigures, ...] = ()
    """Figures in the order of the chain."""


@dataclass
class ProgressReport:
    """Watermark of a subtask, and its next wake-up."""

    watermark: int = 0
    """Watermark of the input, in ms since the epoch."""
    idle: bool = False
    """Whether the subtask is a source that waits for splits or records, so that its watermark holds
    back no other."""
    ended: bool = False
    """Whether the maximum watermark has been processed, so that no more records can follow."""
    next_wakeup: int | None = None
    """Time at which the subtask needs an epoch even without input, in ms since the epoch. None if
    there is none."""


@dataclass
class ReadingReport:
    """Progress and requests of the source readers in a subtask."""

    splits: list[SplitProgress] = field(default_factory=list)
    split_requests: list[str] = field(default_factory=list)
    """Uids of sources whose reader here requests a split."""
    source_events: dict[str, list[SourceEvent]] = field(default_factory=dict)
    """Events from the readers to the enumerators, by source uid."""


@dataclass
class CommitReport:
    """Committables of the sinks in a subtask, by uid."""

    committables: dict[str, list[bytes]] = field(default_factory=dict)
    uncommitted: dict[str, Uncommitted] = field(default_factory=dict)
    """Committables of the plan to retry."""
    work_files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Files that the writer's state refers to, if they have changed."""


@dataclass
class MetricReport:
    """New values of a subtask's metrics and accumulators."""

    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Values of gauges and distributions, by operator uid and name."""
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Increments of counters in this epoch, by operator uid and name."""
    described: dict[str, dict[str, MetricDescription]] = field(default_factory=dict)
    """Descriptions of new metrics, by operator uid and name."""
    accumulators: dict[str, Accumulator[Any, Any]] = field(default_factory=dict)
    """Values added in this epoch, by name."""


@dataclass
class LoopReport:
    """Records that circulate in the loops that begin or end in a subtask."""

    feedback: dict[str, int] = field(default_factory=dict)
    """Number of records to feed back to the head with this subtask's index, per loop."""
    held: list[str] = field(default_factory=list)
    """Loops whose input has ended here, but in which records may still circulate."""
    waits_to_end: bool = False
    """Whether the input has ended here, and the end waits for requests."""
    waits_for_requests: bool = False
    """Whether the subtask waits for requests, whose results may be fed back."""


@dataclass
class Ack:
    """Acknowledgement of one subtask for one epoch."""

    stage: int
    subtask: int
    attempt: int
    """Task attempt that ran the subtask."""
    failure: Failure | None = None
    worker: str = ""
    """Process in which the subtask lives, as host:pid."""
    consumed: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Attempts of the producers whose buffers were used, per edge."""
    state: StateReport = field(default_factory=StateReport)
    time: TimeReport = field(default_factory=TimeReport)
    traffic: TrafficReport = field(default_factory=TrafficReport)
    progress: ProgressReport = field(default_factory=ProgressReport)
    reading: ReadingReport = field(default_factory=ReadingReport)
    committing: CommitReport = field(default_factory=CommitReport)
    metrics: MetricReport = field(default_factory=MetricReport)
    loops: LoopReport = field(default_factory=LoopReport)
    results: dict[str, bytes] = field(default_factory=dict)
    """Encoded list of values for the client, by uid of the collecting sink."""
    queryable: list[QueryableState] = field(default_factory=list)
    """Queryable states that were used for the first time in this worker."""
    log: list[LogLine] = field(default_factory=list)
    """Lines for the driver to log."""
    notices: list[WorkerNotice] = field(default_factory=list)
    """Warnings of the worker, and what its operators tell."""


def ack_of(element: bytes) -> Ack:
    """Read the acknowledgement in a packed buffer."""
    buffer = Buffer.unpack(element)
    assert buffer.kind == BufferKind.ACK
    ack = decode(buffer.payload)
    assert isinstance(ack, Ack)
    return ack
