"""Requests to a running job: checkpoints, savepoints, another parallelism, and its end.

A request may come from any thread; its future is completed exactly once.
"""

from __future__ import annotations

from concurrent.futures import InvalidStateError
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import JobExecutionError
from millrace.common.savepoint_format_type import SavepointFormatType


class JobEndedError(JobExecutionError):
    """The job has ended, without being at fault, before it could serve the request."""


class RequestKind(Enum):
    """Kinds of requests. The value completes the sentence "the job cannot ..."."""

    CHECKPOINT = "make a checkpoint"
    SAVEPOINT = "make a savepoint"
    RESCALE = "change its parallelism"
    MESSAGE = "pass on a message to an operator"
    STOP = "be stopped"
    CANCEL = "be cancelled"


class AfterSavepoint(Enum):
    """Way in which the job continues once its savepoint is complete."""

    GO_ON = "GO_ON"
    STOP = "STOP"
    DRAIN = "DRAIN"
    """Stop, but end all input before the savepoint: timers fire and windows close."""
    CANCEL = "CANCEL"


@dataclass(frozen=True)
class CheckpointRequest:
    """Request for a checkpoint now, independent of the interval. The result of the future is the
    checkpoint's number."""

    kind: ClassVar[RequestKind] = RequestKind.CHECKPOINT
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


NO_SAVEPOINT_DIR = (
    "a savepoint needs a directory: name one (--savepoint DIR of millrace stop, DIR of millrace "
    "savepoint), or set execution.checkpointing.savepoint-dir"
)
"""Message of the refusal of a request without a directory."""


@dataclass(frozen=True)
class SavepointRequest:
    """Request for a savepoint. The result of the future is its path."""

    kind: ClassVar[RequestKind] = RequestKind.SAVEPOINT
    directory: str | None
    after: AfterSavepoint
    format_type: SavepointFormatType = SavepointFormatType.CANONICAL
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


@dataclass(frozen=True)
class RescaleRequest:
    """Request for another parallelism. The future completes, with None, just before the job
    changes its parallelism."""

    kind: ClassVar[RequestKind] = RequestKind.RESCALE
    parallelism: int
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


@dataclass(frozen=True)
class MessageRequest:
    """Message to all subtasks of an operator, which they get at the beginning of an epoch. The
    result of the future is the number of the checkpoint that ends this epoch."""

    kind: ClassVar[RequestKind] = RequestKind.MESSAGE
    operator: str
    """Uid of the operator."""
    message: bytes
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


@dataclass(frozen=True)
class StopRequest:
    """Request to end after the running epoch, with a checkpoint to resume from. The future
    completes with None immediately."""

    kind: ClassVar[RequestKind] = RequestKind.STOP
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


@dataclass(frozen=True)
class CancelRequest:
    """Request to end immediately. The future completes with None immediately."""

    kind: ClassVar[RequestKind] = RequestKind.CANCEL
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


QueuedRequest = CheckpointRequest | SavepointRequest | RescaleRequest | MessageRequest
"""Requests that the job serves between two epochs, one after the other."""
Request = QueuedRequest | StopRequest | CancelRequest


def answer(request: Request, result: Any) -> None:
    """Give a request its result, unless the caller has cancelled the future.

    Raises:
        InvalidStateError: the request has been answered already.
    """
    try:
        request.done.set_result(result)
    except InvalidStateError:
        if not request.done.cancelled():
            raise


def refuse(request: Request, error: BaseException) -> None:
    """Give a request the error for which it is refused.

    Raises:
        InvalidStateError: the request has been answered already.
    """
    try:
        request.done.set_exception(error)
    except InvalidStateError:
        if not request.done.cancelled():
            raise
