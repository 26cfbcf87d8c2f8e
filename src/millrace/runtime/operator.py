"""The operator interface: a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.common.functions.accumulators import Accumulator
from millrace.common.functions.output_tag import OutputTag
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.runtime.buffer import MIN_WATERMARK
from millrace.runtime.epoch import Ack
from millrace.runtime.metrics import MetricRegistry
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.runtime.output import Discard, Output
from millrace.state.store import SubtaskState


@dataclass
class OperatorContext:
    """Where an operator runs, and what it may use."""

    uid: str
    name: str
    subtask_index: int
    parallelism: int
    max_parallelism: int
    state: SubtaskState
    clock: Callable[[], int]
    """Processing time, ms since the epoch."""
    batch_mode: bool = False
    attempt_number: int = 0
    run_id: str = ""
    metrics: MetricRegistry = field(default_factory=MetricRegistry)
    accumulators: dict[str, Accumulator[Any, Any]] = field(default_factory=dict)
    job_parameters: Mapping[str, str] = field(default_factory=dict)


class Operator:
    """Works on batches of records, as lists or as columns; hands either on.

    The life of an operator: `setup`, `open`, `restore`, then epochs of `begin_epoch`, any number of
    `process` and `process_watermark`, and `end_epoch`; last `close`. An instance serves many epochs
    in one worker, and is thrown away when an epoch is aborted.
    """

    takes = BatchForm.ROWS
    """Rows go to `process`, columns to `process_columns`."""
    output: Output
    context: OperatorContext
    operator_states: tuple[OperatorStateDeclaration, ...] = ()
    """Its states that belong to no key, and how they are redistributed: known before it is opened.
    Those of a user's `CheckpointedFunction` are declared by the calls that get them."""
    declared: Callable[[Output], Output] | None = None
    """Wraps the main output, for a declared type that changes what is emitted."""
    holds_end = False
    """Whether its input has ended, but what follows must not know yet."""

    def setup(
        self, context: OperatorContext, output: Output, side: dict[OutputTag[Any], Output]
    ) -> None:
        """Connect the operator with where it runs and what follows."""
        self.context = context
        self.output = output
        self.side_outputs = side
        self.watermark = MIN_WATERMARK

    def open(self) -> None:
        """Create what lives as long as the instance."""

    def restore(self) -> None:
        """The tables hold another version than this operator left: take over what is in them.
        Called before the first epoch too."""

    def idle_after(self, idle: bool) -> bool:
        """Whether what comes out is idle (see Flink docs, "Generating Watermarks"), given
        whether the input is."""
        return idle

    def begin_epoch(self, epoch: int, now: int) -> None:
        """An epoch begins; ``now`` in ms since the epoch. Processing-time timers fire here."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """The state that this epoch begins with is that of a complete checkpoint."""

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Take a batch of records; event times in ms since the epoch, one per value, or None."""
        raise NotImplementedError

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        """Take a batch from one of several inputs; an operator with one input takes all alike."""
        self.process(values, timestamps)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        """Take a columnar batch from an input, if `takes` says so."""
        raise NotImplementedError

    def process_watermark(self, timestamp: int) -> None:
        """Event time has come to ``timestamp``."""
        self.watermark = timestamp
        self.output.emit_watermark(timestamp)
        for side in self.side_outputs.values():
            side.emit_watermark(timestamp)

    def end_epoch(self, ended: bool) -> None:
        """The epoch's input is complete (``ended``: and the stream is): write state that waits."""

    def contribute(self, ack: Ack) -> None:
        """Add what this operator reports to the subtask's acknowledgement."""

    def next_wakeup(self) -> int | None:
        """When (ms since the epoch) this operator wants an epoch even without input."""
        return None

    def close(self) -> None:
        """Release everything; no exception may come out."""

    def side_output(self, tag: OutputTag[Any]) -> Output:
        """Where records of this tag go; nowhere if the program does not ask for them."""
        return self.side_outputs.get(tag) or _DISCARD


_DISCARD = Discard()
