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
from millrace.runtime.metrics import MetricDescription
from millrace.state.serialization.payload import decode
from millrace.state.state_delta import StateDelta
from millrace.state.store import EMPTY
from millrace.state.table_id import TableId


@dataclass(frozen=True)
class QueryableState:
    """A state whose descriptor made it queryable."""

    table: TableId
    name: str
    """The name to ask for."""
    kind: str
    """As descriptors have it: value, list, map, reducing, aggregating."""
    ttl: int | None = None
    """Milliseconds after which a value is not to be shown any more."""

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
    """The position at which the run ends."""


@dataclass(frozen=True)
class CommitPlan:
    """A committable of a durable checkpoint, for a sink's subtask to commit."""

    committable: bytes
    retries: int = 0


@dataclass(frozen=True)
class StateHandle:
    """Reference to the state of one subtask of an earlier job graph."""

    subtask: int
    parallelism: int
    deltas: tuple[StateDelta, ...]
    head: bool
    """Whether it was of the stage that the restoring subtask's first operator was in."""
    divided: bool = False
    """Whether its owner has written only the keys of the restoring subtask to it."""


@dataclass(frozen=True)
class RestoreAssignment:
    """State that a subtask restores from other subtasks' state."""

    handles: tuple[StateHandle, ...]
    same_inputs: bool = True
    """Whether the stage has the same inputs as before; else its watermark starts over."""
    same_channels: bool = True
    """Whether the watermarks of single channels can be distinguished."""
    forked: bool = False
    """Whether the state belongs to somebody else, who may go on with it as well."""


@dataclass(frozen=True)
class FreshStart:
    """Start of a subtask without state."""

    @property
    def version(self) -> str:
        """Version of an empty state."""
        return EMPTY


@dataclass(frozen=True)
class LiveStart:
    """Start of a subtask with the state that its worker holds, after at most a few deltas."""

    version: str
    """The state version to start from."""
    recent: tuple[StateDelta, ...] = ()
    """The last deltas that lead to it, for a worker that missed some."""


@dataclass(frozen=True)
class RestoredStart:
    """Start of a subtask that restores its own state, unless its worker holds it."""

    version: str
    deltas: tuple[StateDelta, ...]
    """All the live deltas."""


@dataclass(frozen=True)
class AssignedStart:
    """Start of a subtask that restores its assigned parts of other subtasks' states, unless its
    worker has already done so. The subtask has no deltas of its own yet."""

    version: str
    assignment: RestoreAssignment


SubtaskStart = FreshStart | LiveStart | RestoredStart | AssignedStart
"""Where a subtask's state comes from as an epoch begins."""


@dataclass(frozen=True)
class SubtaskPlan:
    """One subtask's part of the plan of an epoch."""

    start: SubtaskStart = FreshStart()
    splits: tuple[SplitPlan, ...] = ()
    no_more_splits: bool = False
    commits: dict[str, tuple[CommitPlan, ...]] = field(default_factory=dict)
    """Per uid of a sink that commits in its subtasks: what is to be committed first."""
    source_events: tuple[SourceEvent, ...] = ()
    """From the enumerator to this subtask's reader."""
    max_watermark: int | None = None
    """Splits that are ahead of it are to wait (watermark alignment)."""
    drained: tuple[str, ...] = ()
    """Loops whose inputs have ended and in which nothing goes round any more."""


@dataclass(frozen=True)
class EpochPlan:
    """The plan of one epoch."""

    epoch: int
    attempt: int
    """Counts the tries of this epoch."""
    now: int
    """Processing time, ms since the epoch, as the whole job sees it in this epoch."""
    job_dir: str | None
    durable: bool
    subtasks: dict[tuple[int, int], SubtaskPlan]
    """Per (stage, subtask)."""
    flush: bool = False
    """Whether sinks must hand over all they have: for a savepoint, for another parallelism, or
    because the run ends."""
    ends_run: bool = False
    """Whether the run ends, although the input does not: requests in flight are waited for."""
    completed_checkpoint: int | None = None
    """The checkpoint that was completed since the last accepted epoch, if there is one."""
    divide: dict[int, int] = field(default_factory=dict)
    """Stages whose subtasks are to divide their state, and among how many new subtasks."""
    restarts: int = 0
    """How often the job has restarted in this run: the attempt number of functions opened now."""
    end_file: str | None = None
    """Reading ends before its limit once this file is there."""
    end_object: str | None = None
    """The same in an object store, for workers on other machines than the driver; None: they all
    see the file."""


@dataclass(frozen=True)
class EpochContext:
    """An epoch, as seen by the operators of a subtask."""

    number: int
    now: int
    """Processing time, ms since the epoch."""
    attempt: str = ""
    """Names files and transactions that only this attempt of the subtask writes."""
    version: str = ""
    """Version of the state after the epoch, if it changes the state."""
    directory: str = ""
    """The job's directory; empty: it has none."""
    leaves_nothing_open: bool = False
    """Whether sinks must hand over all they have."""
    ends_run: bool = False
    """Whether the run ends with this epoch although the input does not: requests in flight are
    waited for."""
    completed_checkpoint: int | None = None
    """The checkpoint that was completed since the last accepted epoch, if there is one."""
    commits: Mapping[str, Sequence[CommitPlan]] = field(default_factory=dict)
    """Per uid of a sink that commits in its subtasks: what it commits first."""
    feedback: Mapping[str, Sequence[bytes]] = field(default_factory=dict)
    """Per loop that begins in the subtask, the encoded batches fed back in the epoch before."""
    drained: Sequence[str] = ()
    """Loops whose inputs have ended and in which nothing goes round any more."""


@dataclass(frozen=True)
class ReadPlan:
    """Splits for the head of a source stage to read in an epoch, and the limits of reading."""

    splits: Sequence[SplitPlan]
    batch_records: int
    """The most records of one batch."""
    events: Sequence[SourceEvent] = ()
    """From the enumerator to the reader."""
    max_watermark: int | None = None
    """Splits that are ahead of it pause; None: no limit."""
    no_more_splits: bool = False
    delivered: dict[int, list[memoryview]] = field(default_factory=dict)
    """Per lane, the payloads that the executor has brought."""
    is_end_wanted: Callable[[], bool] = lambda: False
    """Whether somebody waits for the epoch to end its reading now."""


class ReadResult(NamedTuple):
    """Result of reading an epoch in the head of a source stage."""

    ended: bool
    """Whether the input of this subtask has ended."""
    records: int
    idle: bool
    """It waits for splits or records: its watermark holds nobody back."""


class FailureKind(Enum):
    """Cause of a failure: user, worker, storage or input."""

    USER = "USER"
    STATE_MISS = "STATE_MISS"
    """Nobody's: this worker needs all the deltas."""
    STORAGE = "STORAGE"
    """The file system's: a segment could not be written, or is damaged."""
    INCOMPLETE = "INCOMPLETE"
    """Input was missing or mixed: a producer failed, or ran twice."""


@dataclass
class Failure:
    """Failure of a subtask. A user's error comes in displayable form."""

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
    """ms since the epoch; None: the split is idle and holds nobody back."""
    paused: bool = False
    """It waits for the others of its alignment group."""
    at_end: bool = False
    """The run reads no more of it."""


@dataclass
class Uncommitted:
    """Committables that a sink's subtask could not commit."""

    committables: list[bytes]
    reason: str
    """What its committer raised; empty: it only asked for another try."""


StateOrigin = Literal["current", "replayed", "restored", "new"]
"""Origin of a subtask's state: in its worker, a few deltas replayed, a restore, or none yet."""


class OperatorFigures(NamedTuple):
    """Records in and out of one operator of a subtask in an epoch, and its watermark."""

    records_in: int
    records_out: int
    watermark: int
    """That it has reached, ms since the epoch."""


@dataclass
class StateReport:
    """Version and changes of a subtask's state after an epoch."""

    version: str = ""
    """The version after the epoch."""
    delta: StateDelta | None = None
    """None when the state did not change."""
    parts: tuple[StateDelta, ...] = ()
    """The state as of now in parts, if the plan wanted that: one for each new subtask."""
    stateful: tuple[str, ...] = ()
    """Uids of operators with state, whenever they are more than last time."""
    origin: StateOrigin = "current"
    """How the state was found."""
    evicted: bool = False
    """Whether the subtask left its worker when it had answered, because memory is short: for the
    next epoch it needs all its deltas."""


@dataclass
class TimeReport:
    """Time that an epoch took in a subtask."""

    began_at: float = 0.0
    """When it began, ms since the epoch by this machine's clock."""
    done_at: float = 0.0
    """When it had processed its input, ms since the epoch."""
    seconds: float = 0.0
    """From the beginning to the end."""
    handing_seconds: float = 0.0
    """The part of these in which it waited for somebody to take its buffers."""


@dataclass
class TrafficReport:
    """Records and bytes that a subtask received and sent in an epoch."""

    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0
    """Bytes of the buffers that came; what a source reads has none."""
    bytes_out: int = 0
    operators: tuple[OperatorFigures, ...] = ()
    """In the order of the chain."""


@dataclass
class ProgressReport:
    """Watermark of a subtask, and its next wake-up."""

    watermark: int = 0
    """Watermark of its input, ms since the epoch."""
    idle: bool = False
    """It is a source that waits for splits or records: its watermark holds nobody back."""
    ended: bool = False
    """The maximum watermark has been processed: nothing can follow."""
    next_wakeup: int | None = None
    """When it needs an epoch even without input, ms since the epoch; None: it needs none."""


@dataclass
class ReadingReport:
    """Progress and requests of the source readers in a subtask."""

    splits: list[SplitProgress] = field(default_factory=list)
    split_requests: list[str] = field(default_factory=list)
    """Uids of sources whose reader here asks for a split."""
    source_events: dict[str, list[SourceEvent]] = field(default_factory=dict)
    """Per source uid: what its reader sends the enumerator."""


@dataclass
class CommitReport:
    """Committables of the sinks in a subtask, by uid."""

    committables: dict[str, list[bytes]] = field(default_factory=dict)
    uncommitted: dict[str, Uncommitted] = field(default_factory=dict)
    """What of the plan's commits is to be tried again."""
    work_files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The files that the writer's state refers to, if they are not what they were."""


@dataclass
class MetricReport:
    """New values of a subtask's metrics and accumulators."""

    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Per operator uid: gauges and distributions by name."""
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Per operator uid: what its counters counted in this epoch."""
    described: dict[str, dict[str, MetricDescription]] = field(default_factory=dict)
    """Per operator uid: descriptions of new metrics."""
    accumulators: dict[str, Accumulator[Any, Any]] = field(default_factory=dict)
    """By name, what this epoch added."""


@dataclass
class LoopReport:
    """Records that circulate in the loops that begin or end in a subtask."""

    feedback: dict[str, int] = field(default_factory=dict)
    """Per loop: how many records are to be fed back to the head with this subtask's index."""
    held: list[str] = field(default_factory=list)
    """Loops whose input has ended here while something may still go round."""


@dataclass
class Ack:
    """Acknowledgement of one subtask for one epoch."""

    stage: int
    subtask: int
    attempt: int
    """The task attempt that ran it."""
    failure: Failure | None = None
    worker: str = ""
    """host:pid, to see where a subtask lives."""
    consumed: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Per edge: for each of its producers the attempt whose buffers were used."""
    state: StateReport = field(default_factory=StateReport)
    time: TimeReport = field(default_factory=TimeReport)
    traffic: TrafficReport = field(default_factory=TrafficReport)
    progress: ProgressReport = field(default_factory=ProgressReport)
    reading: ReadingReport = field(default_factory=ReadingReport)
    committing: CommitReport = field(default_factory=CommitReport)
    metrics: MetricReport = field(default_factory=MetricReport)
    loops: LoopReport = field(default_factory=LoopReport)
    results: dict[str, bytes] = field(default_factory=dict)
    """Per collecting sink's uid: the encoded list of values for the client."""
    queryable: list[QueryableState] = field(default_factory=list)
    """Queryable states that have been used for the first time in this worker."""
    log: list[LogLine] = field(default_factory=list)
    """What the driver is to log."""


def ack_of(element: bytes) -> Ack:
    """Acknowledgement in a packed buffer."""
    buffer = Buffer.unpack(element)
    assert buffer.kind == BufferKind.ACK
    ack = decode(buffer.payload)
    assert isinstance(ack, Ack)
    return ack
