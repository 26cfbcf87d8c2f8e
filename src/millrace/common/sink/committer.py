"""Committers, which make the work of writers visible after the checkpoint.

FLIP-143, FLIP-371.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

from millrace.common.functions.metrics import MetricGroup, UnregisteredMetricGroup
from millrace.common.sink.writer import SinkWriter

__all__ = ["CommitMode", "CommitRequest", "CommitState", "Committer", "CommitterContext"]

T = TypeVar("T")


class CommitMode(Enum):
    """Place of a sink's committer, and whether the job waits for it."""

    BEFORE_NEXT_EPOCH = "BEFORE_NEXT_EPOCH"
    """In the driver, which waits until all is committed before it ends the next epoch. On resident
    tasks, writers may write the next epoch's records meanwhile. The default."""
    IN_BACKGROUND = "IN_BACKGROUND"
    """In a thread of the driver while the job goes on. A driver that was superseded may still be
    committing, so a commit must do no harm whoever makes it."""
    IN_SUBTASK = "IN_SUBTASK"
    """In the subtask that wrote, at the beginning of the next epoch, beside its writer
    (`CommitterContext.writer`): for what only the writer's own connection can commit."""


class CommitState(Enum):
    """Outcome of a commit request, as the committer reported it."""

    RECEIVED = "RECEIVED"
    """Nothing: it is committed, if `Committer.commit` returns."""
    RETRY = "RETRY"
    ALREADY_COMMITTED = "ALREADY_COMMITTED"
    FAILED = "FAILED"
    """For good, and the job goes on without it."""
    UNKNOWN_FAILURE = "UNKNOWN_FAILURE"
    """The job fails."""


class CommitRequest(Generic[T]):
    """A committable and the outcome of its commit. Flink: ``Committer.CommitRequest``."""

    def __init__(self, committable: T, number_of_retries: int = 0) -> None:
        self.committable = committable
        self.number_of_retries = number_of_retries
        """Number of earlier attempts in this run."""
        self.state = CommitState.RECEIVED
        self.error: BaseException | None = None

    def retry_later(self) -> None:
        """Report that the commit was not possible now, and is to be retried later."""
        self.state = CommitState.RETRY

    def update_and_retry_later(self, committable: T) -> None:
        """Report that a part was committed, and the rest is to be retried later."""
        self.committable = committable
        self.retry_later()

    def signal_already_committed(self) -> None:
        """Report that an earlier attempt has already committed. Only metrics show the
        difference."""
        self.state = CommitState.ALREADY_COMMITTED

    def signal_failed_with_known_reason(self, error: BaseException) -> None:
        """Report that the commit can never succeed and its data is lost: the loss is logged and
        counted, and the job continues."""
        self.state, self.error = CommitState.FAILED, error

    def signal_failed_with_unknown_reason(self, error: BaseException) -> None:
        """Report that the commit fails the job. A resumed job tries again."""
        self.state, self.error = CommitState.UNKNOWN_FAILURE, error


@dataclass
class CommitterContext:
    """Context of a committer: its subtask, or the driver; its metrics and log."""

    subtask_index: int | None = None
    """Index of the subtask; None in the driver."""
    parallelism: int = 1
    """Parallelism of the sink."""
    writer: SinkWriter[Any] | None = None
    """In a subtask, its writer, which may be a new one: the epoch may be another writer's. None in
    the driver."""
    metrics: MetricGroup = field(default_factory=UnregisteredMetricGroup)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("millrace.sink"))


class Committer(ABC):
    """Makes prepared work visible; runs after the checkpoint is durable."""

    @abstractmethod
    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        """Commit all requests. The commit must be idempotent, because an earlier attempt may have
        committed any of the requests.

        A request without a signal counts as committed. If the call raises, requests without a
        signal are retried; after ``sink.committer.retries`` attempts the job fails. An error of
        millrace's own fails the job at once.

        The requests are of one checkpoint, in the order of their epochs. A newer checkpoint of the
        same subtask (in the driver: of the sink) is committed only when none of them is left to
        retry. Within a call, this order is the committer's own: if a commit must not come before
        an older one, a committer that retries a request also retries those after it.
        """

    def begin_commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        """Begin to commit while the checkpoint is being written. This may include only work that is
        invisible before `commit` and that `abandon_commit` can undo. By default, it does nothing.

        Called only with `CommitMode.IN_BACKGROUND`. Either `commit` follows, with the same requests
        in the same order, or `abandon_commit`; or neither, if the process ends. If the call raises,
        it must have left nothing behind, and `commit` does everything.
        """

    def abandon_commit(self) -> None:
        """Undo `begin_commit`, because the checkpoint was not completed. The requests come again
        with a later checkpoint, together with others, or with none. If the call raises, the job
        fails, because it is not known what the next commit would make visible.
        """

    def close(self) -> None:
        """Release connections."""
