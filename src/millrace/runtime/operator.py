"""`Operator`: the base class of all operators, which process records in batches.

Flink's counterpart is ``StreamOperator``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from millrace.common.functions.accumulators import Accumulator
from millrace.common.functions.output_tag import OutputTag
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.runtime.buffer import MIN_WATERMARK
from millrace.runtime.epoch import Ack, EpochContext, ReadPlan, ReadResult
from millrace.runtime.metrics import MetricRegistry
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.runtime.output import Discard, Output
from millrace.runtime.waker import Waker
from millrace.state.store import SubtaskState


def wall_clock() -> int:
    """Current time in ms since the epoch."""
    return time.time_ns() // 1_000_000


class LoopTail(Protocol):
    """The end of a loop, as seen by a head in the same chain."""

    @property
    def backlog(self) -> int:
        """Number of records that wait to be fed back."""

    def take(self, limit: int) -> tuple[list[Any], list[int] | None] | None:
        """Take at most ``limit`` of the records to feed back, with their event times. None if no
        records wait.
        """


@dataclass
class OperatorContext:
    """Context of an operator: its place in the job, its state, clock and metrics."""

    uid: str
    name: str
    subtask_index: int
    parallelism: int
    max_parallelism: int
    state: SubtaskState
    clock: Callable[[], int]
    """Function that returns the processing time in ms since the epoch."""
    batch_mode: bool = False
    attempt_number: int = 0
    run_id: str = ""
    job_name: str = ""
    metrics: MetricRegistry = field(default_factory=MetricRegistry)
    accumulators: dict[str, Accumulator[Any, Any]] = field(default_factory=dict)
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    place: int = 0
    """Position in the chain. The head has 0."""
    source_clock: Callable[[], int] = wall_clock
    """Clock of source readers, in ms since the epoch."""
    poll_interval: int = 100
    """Milliseconds between two polls of a reader that does not know when it has records."""
    watermark_interval: int = 200
    """Milliseconds after which a watermark generator is asked although no record has come. 0 if it
    never is."""
    waker: Waker = field(default_factory=Waker)
    """Wakes the subtask's loop from another thread, such as one in which a request has ended."""
    tails: dict[str, LoopTail] = field(default_factory=dict)
    """Ends of loops in this chain. The operators of the chain share the dict, and tails add
    themselves when they are opened."""


class Operator:
    """Processes batches of records, as rows or as Arrow columns, and emits batches of either form.

    The lifecycle of an operator: `setup`, `open`, `restore`; then per epoch `begin_epoch`, any
    number of `advance_processing_time`, `process` and `process_watermark`, and `end_epoch`; last
    `close`. The head of a source stage has `read` in the place of `process`. An instance serves
    many epochs in one Python worker, and is discarded when an epoch is aborted.
    """

    takes = BatchForm.ROWS
    """Form of the input: rows are passed to `process`, columns to `process_columns`."""
    output: Output
    context: OperatorContext
    operator_states: tuple[OperatorStateDeclaration, ...] = ()
    """Operator states and their redistribution modes, which must be known before the operator is
    opened. States of a user's `CheckpointedFunction` are not among them, as it declares them when
    it requests them."""
    output_wrapper: Callable[[Output], Output] | None = None
    """Wrapper of the main output that converts records to the declared output type. None if there
    is no conversion."""
    immutable_input = False
    """Whether the rows passed to `process` are known to be immutable. Set before each batch."""
    message_check: Callable[[bytes], object] | None = None
    """Check of messages from outside, which come with `EpochContext.messages`; it raises a
    MillraceError for a message that the operator could not take. None if the operator takes no
    messages. A plain function, which the driver calls."""

    def setup(
        self, context: OperatorContext, output: Output, side: dict[OutputTag[Any], Output]
    ) -> None:
        """Set the operator's context, main output and side outputs."""
        self.context = context
        self.output = output
        self.side_outputs = side
        self.watermark = MIN_WATERMARK

    def open(self) -> None:
        """Create the objects that the operator needs during its whole life, such as state
        objects."""

    def restore(self) -> None:
        """Refresh all values that the operator derives from its state, because a restore has
        changed the tables.

        Called before the first epoch too.
        """

    def output_idle(self, input_idle: bool) -> bool:
        """Whether the output is idle, given whether the input is idle.

        Idleness: Flink docs, "Generating Watermarks".
        """
        return input_idle

    def begin_epoch(self, epoch: EpochContext) -> None:
        """Begin an epoch. The operators downstream in the chain have already begun it."""

    def advance_processing_time(self, now: int) -> None:
        """Fire processing-time timers up to ``now`` (ms since 1970). Also called at the
        beginning of an epoch."""

    def begin_reading(self, plan: ReadPlan) -> None:
        """Take the splits and events of an epoch. Only the head of a source stage implements the
        methods for reading."""
        raise NotImplementedError

    def revise_reading(self, plan: ReadPlan) -> bool:
        """Take the driver's plan of an epoch that has begun ahead of it. Returns whether the reader
        must be asked again: the plan has something that it does not know."""
        raise NotImplementedError

    def read_available(self, plan: ReadPlan) -> Iterator[None]:
        """Read the available records, and yield after each batch. Resident tasks call this
        repeatedly within an epoch.
        """
        raise NotImplementedError

    def finish_reading(self, plan: ReadPlan) -> ReadResult:
        """Advance the watermark after reading, and return the progress of the epoch."""
        raise NotImplementedError

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Called when the checkpoint with the state from which this epoch starts is complete."""

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch of rows.

        ``timestamps`` are event times in ms since 1970, one per value; None: there are none.
        """
        raise NotImplementedError

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch of rows from input ``number``. Calls `process` by default."""
        self.process(values, timestamps)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        """Process a columnar batch from input ``number``. Needed if `takes` includes columns."""
        raise NotImplementedError

    def process_watermark(self, timestamp: int) -> None:
        """Advance event time to ``timestamp`` (ms since 1970), and emit the watermark."""
        self.watermark = timestamp
        self.output.emit_watermark(timestamp)
        for side in self.side_outputs.values():
            side.emit_watermark(timestamp)

    def flush(self) -> None:
        """Emit waiting records within an epoch. Resident tasks call this when there is no more
        input for now, and when the buffer timeout is over.
        """

    def next_flush(self) -> int | None:
        """Time (ms since 1970) at which `flush` must be called even without input. None if no such
        call is needed in this epoch. Resident tasks ask for it.
        """
        return None

    def room(self) -> int | None:
        """Number of records that the operator can take now without waiting for an external
        response. None if the operator never waits. Resident tasks hold further records back.
        """
        return None

    @property
    def wants_barrier(self) -> bool:
        """Whether the open epoch should end soon although no checkpoint is due. Resident tasks ask
        for it.
        """
        return False

    @property
    def holds_end(self) -> bool:
        """Whether the operator delays the end of the input for the operators downstream. The head
        of a loop does so while records still circulate. On resident tasks, an operator with
        requests in flight does so, too.
        """
        return False

    @property
    def holds_barrier(self) -> bool:
        """Whether the end of the epoch must wait for an external response. Resident tasks do
        other work during the wait."""
        return False

    def end_epoch(self, ended: bool) -> None:
        """End an epoch: write buffered state to the tables. ``ended`` says whether the input has
        ended."""

    def contribute(self, ack: Ack) -> None:
        """Add this operator's reports (committables, metrics) to the subtask's acknowledgement."""

    def next_wakeup(self) -> int | None:
        """Time (ms since 1970) at which an epoch must run even without input. None if there is
        none."""
        return None

    def close(self) -> None:
        """Release all resources; must not raise."""

    def side_output(self, tag: OutputTag[Any]) -> Output:
        """Output for this tag. If the program does not use the tag, the output discards its
        records."""
        return self.side_outputs.get(tag) or _DISCARD


_DISCARD = Discard()
