"""Sinks in two phases: writers in subtasks, a committer that makes their work visible.

In each epoch a `SinkWriter` is created in its subtask, takes batches of values and ends with
`prepare_commit`: the *committables* it returns become part of the checkpoint. Only after the
checkpoint is durable does the `Committer` get them. After a crash it may get the same ones
again, so committing must be idempotent. Semantics: Flink docs, "Data Sinks"; FLIP-143.

Example: a complete exactly-once sink that writes one text file per subtask and checkpoint::

    class Lines(Sink[str]):
        def __init__(self, directory: str) -> None:
            self.directory = directory

        def create_writer(self, context, state):
            return LinesWriter(self.directory, context.attempt)

        def create_committer(self, context) -> Committer:
            return LinesCommitter()

    class LinesWriter(SinkWriter[str]):
        def __init__(self, directory: str, attempt: str) -> None:
            self.final = os.path.join(directory, attempt + ".txt")
            self.lines: list[str] = []

        def write(self, batch: RowBatch[str]) -> None:
            self.lines.extend(batch.values)

        def prepare_commit(self, end_of_input: bool):
            if not self.lines:
                return []
            with open(self.final + ".pending", "w") as file:
                file.writelines(line + "\\n" for line in self.lines)
            return [self.final]

    class LinesCommitter(Committer):
        def commit(self, requests) -> None:
            for request in requests:
                final = request.committable
                if os.path.exists(final + ".pending"):
                    os.replace(final + ".pending", final)
                else:
                    request.signal_already_committed()
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from millrace.common.errors import StateError
from millrace.common.functions.metrics import MetricGroup, UnregisteredMetricGroup
from millrace.common.sink.committer import CommitMode, Committer, CommitterContext
from millrace.common.types.batch import BatchForm, ColumnBatch, RowBatch

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


@dataclass
class WriterContext:
    """Subtask and epoch of a writer, its clock, metrics and log."""

    subtask_index: int
    parallelism: int
    run_id: str
    """Identifies this run of the job; part of every visible name, so that forks never collide."""
    attempt: str
    """Unique for this attempt of this epoch and operator (run, epoch, try, task attempt, place): a
    name made with it can never be written by a zombie of another attempt, or by another sink."""
    epoch: int
    now: int
    """Processing time at the start of the epoch, ms since the epoch."""
    directory: str = ""
    """That of the job, whose checkpoints are below it: for files that wait to be committed."""
    shared: dict[str, Any] = field(default_factory=dict)
    """Survives from epoch to epoch in this worker, for connections; may be empty at any time. What
    has a ``close`` is closed with the operator, the latest first."""
    metrics: MetricGroup = field(default_factory=UnregisteredMetricGroup)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("millrace.sink"))
    uid: str = ""
    """Of the operator: a `Sink` object may be that of several."""


class SinkWriter(Generic[T]):
    """Writes what one subtask gets in one epoch, in the form that `Sink.takes` says."""

    def write(self, batch: RowBatch[T]) -> None:
        """Take a batch of rows, unless the sink takes columns only."""
        raise NotImplementedError

    def write_columns(self, batch: ColumnBatch) -> None:
        """Take a batch of columns, if the sink takes them."""
        raise NotImplementedError

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """A checkpoint was completed since the last writer; called before the first `write`."""

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        """Make this epoch's work durable and return what the committer needs (picklable).

        Args:
            end_of_input: nothing may stay open: the input ends, or a savepoint is being made.
        """
        return ()

    def snapshot_state(self) -> Any:
        """State for the writer of the next epoch (picklable, small), or None."""
        return None

    def next_wakeup(self) -> int | None:
        """When (ms since the epoch) this writer wants an epoch even without data, or None."""
        return None

    def close(self) -> None:
        """Release files and connections; also called when the epoch failed."""


class Sink(ABC, Generic[T_contra]):
    """Destination of a stream. Must be picklable."""

    takes = BatchForm.ROWS
    """The form in which writers get batches: rows by `SinkWriter.write`, columns by
    `SinkWriter.write_columns`. With EITHER nothing is converted."""

    @abstractmethod
    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        """A writer for one epoch; ``state`` is the previous writer's `snapshot_state`."""

    def merge_writer_states(self, states: Sequence[Any]) -> Any:
        """One state from those of several writers, when the parallelism became smaller.

        Raises:
            StateError: it is not possible (the default). A savepoint leaves writers nothing to
                keep if `prepare_commit` hands everything over when its input ends.
        """
        if len(states) == 1:
            return states[0]
        raise StateError(
            f"{type(self).__name__} keeps state of its writers and does not define "
            "merge_writer_states(), so its parallelism cannot become smaller"
        )

    @property
    def commit_mode(self) -> CommitMode:
        """Place of the committer, and whether the job waits for it."""
        return CommitMode.BEFORE_NEXT_EPOCH

    def create_committer(self, context: CommitterContext) -> Committer | None:
        """The committer, or None when the writers' work needs no commit (at-least-once)."""
        return None

    @property
    def exclusive_id(self) -> str | None:
        """Text of an id that only one sink of a job may have, such as a transactional id."""
        return None
