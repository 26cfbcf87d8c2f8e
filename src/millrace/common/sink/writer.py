"""Sink writers: each writes the records of one subtask, epoch after epoch.

Flink: ``SinkWriter``, ``StatefulSinkWriter`` and ``CommittingSinkWriter`` (FLIP-143, FLIP-191).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

from millrace.common.functions.metrics import MetricGroup, UnregisteredMetricGroup
from millrace.common.types.batch import ColumnBatch, RowBatch

__all__ = ["SinkWriter", "WriterContext", "WriterEpoch"]

T = TypeVar("T")


class WriterEpoch(NamedTuple):
    """An epoch of a writer: the values that change with each epoch."""

    number: int
    attempt: str
    """Unique for this attempt of this epoch and operator (run, epoch, try, task attempt, place): a
    name made with it can never be written by a zombie of another attempt, or by another sink."""
    now: int
    """Processing time at the start of the epoch, ms since the epoch."""


def _wall_clock() -> int:
    return time.time_ns() // 1_000_000


_OF_EPOCHS = {"attempt": "attempt", "epoch": "number", "now": "now"}


@dataclass
class WriterContext:
    """Subtask of a writer, its metrics and log."""

    subtask_index: int
    parallelism: int
    run_id: str
    """Identifies this run of the job; part of every visible name, so that forks never collide."""
    directory: str = ""
    """Directory of the job and its checkpoints, for files that wait for their commit."""
    metrics: MetricGroup = field(default_factory=UnregisteredMetricGroup)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("millrace.sink"))
    current_time: Callable[[], int] = _wall_clock
    """Processing time in ms since the epoch (a manual clock in tests). It advances within an epoch
    that is kept open while records arrive."""
    uid: str = ""
    """Uid of the operator, since several operators may share one `Sink` object."""

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError; for an attribute that has moved, the message names its new
        place."""
        if name in _OF_EPOCHS:
            raise AttributeError(
                f"a writer lives for many epochs, so WriterContext has no '{name}': take it from "
                "the WriterEpoch that SinkWriter.begin_epoch(epoch) gets "
                f"(epoch.{_OF_EPOCHS[name]})"
            )
        if name == "shared":
            raise AttributeError(
                "a writer lives as long as its subtask, so WriterContext has no 'shared': keep "
                "the connection in an attribute of the writer, and close it in SinkWriter.close()"
            )
        raise AttributeError(f"a WriterContext has no attribute '{name}'")


class SinkWriter(Generic[T]):
    """Writes the batches of one subtask, in the form that `Sink.takes` chooses.

    A writer lives as long as its subtask, and keeps clients and connections in attributes. In each
    epoch with work for the writer, its methods are called in this order: `begin_epoch`, `write` or
    `write_columns` (once per batch), `flush`, `prepare_commit`, `snapshot_state`. If an epoch
    fails, `close` follows at once, and another writer begins with the state of the last accepted
    epoch.
    """

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        """Begin an epoch. A checkpoint contains the previous epoch with all its prepared work."""

    def write(self, batch: RowBatch[T]) -> None:
        """Take a batch of rows. Not called for sinks that take only columns."""
        raise NotImplementedError

    def write_columns(self, batch: ColumnBatch) -> None:
        """Take a batch of columns, if the sink takes them."""
        raise NotImplementedError

    def flush(self, end_of_input: bool) -> None:
        """Have the external system store all written records, because the checkpoint relies on
        them.

        Args:
            end_of_input: whether the input ends or a savepoint is made, so that nothing may stay
                open.
        """

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        """Make this epoch's work durable, and return the data that the committer needs (picklable).

        Args:
            end_of_input: as for `flush`.
        """
        return ()

    def snapshot_state(self) -> Any:
        """State for the writer of a restarted job (picklable, small), or None."""
        return None

    def next_wakeup(self) -> int | None:
        """Time (ms since the epoch) at which the writer wants an epoch even without data; None
        if there is no such time."""
        return None

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Handle the completion of a checkpoint since the last call; called after `begin_epoch`."""

    def close(self) -> None:
        """Release files and connections, because the subtask ends, moves to another worker, or
        has failed. The output of an unfinished epoch is discarded."""
