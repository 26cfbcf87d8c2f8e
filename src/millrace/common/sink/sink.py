"""Sinks in two phases: writers in subtasks, a committer that makes their work visible.

A `SinkWriter` lives in its subtask and takes batches of values. It ends each epoch with
`prepare_commit`: the *committables* it returns become part of the checkpoint. Only after the
checkpoint is durable does the `Committer` get them. After a crash it may get the same ones
again, so committing must be idempotent. Semantics: Flink docs, "Data Sinks"; FLIP-143.

Example: a complete exactly-once sink that writes one text file per subtask and checkpoint::

    class Lines(Sink[str]):
        def __init__(self, directory: str) -> None:
            self.directory = directory

        def create_writer(self, context, state):
            return LinesWriter(self.directory)

        def create_committer(self, context) -> Committer:
            return LinesCommitter()

    class LinesWriter(SinkWriter[str]):
        def __init__(self, directory: str) -> None:
            self.directory = directory

        def begin_epoch(self, epoch: WriterEpoch) -> None:
            self.final = os.path.join(self.directory, epoch.attempt + ".txt")
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

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from millrace.common.errors import StateError
from millrace.common.sink.committer import CommitMode, Committer, CommitterContext
from millrace.common.sink.writer import SinkWriter, WriterContext
from millrace.common.types.batch import BatchForm

__all__ = ["Sink"]

T_contra = TypeVar("T_contra", contravariant=True)


class Sink(ABC, Generic[T_contra]):
    """Destination of a stream. Must be picklable."""

    takes = BatchForm.ROWS
    """The form in which writers get batches: rows by `SinkWriter.write`, columns by
    `SinkWriter.write_columns`. With EITHER nothing is converted."""
    runs_spark_jobs = False
    """Whether the committer runs Spark jobs, for which slots of the application must be free while
    the job runs."""

    @abstractmethod
    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        """The writer of a subtask. ``state`` is the last result of `SinkWriter.snapshot_state`
        of the previous writer; None if there is none."""

    def merge_writer_states(self, states: Sequence[Any]) -> Any:
        """One state made from the states of several writers, because the parallelism became
        smaller.

        Raises:
            StateError: merging is not possible (the default). A savepoint leaves writers nothing to
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
        """The committer; None if the writers' work needs no commit (at-least-once)."""
        return None

    @property
    def exclusive_id(self) -> str | None:
        """Text of an id that only one sink of a job may have, such as a transactional id."""
        return None
