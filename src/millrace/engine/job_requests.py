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
    """The job has ended before it could do what was asked of it; nothing was wrong with that."""


class RequestKind(Enum):
    """The kinds of requests; the value completes "the job cannot ..."."""

    CHECKPOINT = "make a checkpoint"
    SAVEPOINT = "make a savepoint"
    RESCALE = "change its parallelism"
    STOP = "be stopped"
    CANCEL = "be cancelled"


class After(Enum):
    """How the job continues once its savepoint is complete."""

    GO_ON = "GO_ON"
    STOP = "STOP"
    DRAIN = "DRAIN"
    """Stop, and before the savepoint end all input: timers fire and windows close."""
    CANCEL = "CANCEL"


@dataclass(frozen=True)
class CheckpointRequest:
    """Make a checkpoint now, whatever the interval; the future gives its number."""

    kind: ClassVar[RequestKind] = RequestKind.CHECKPOINT
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


@dataclass(frozen=True)
class SavepointRequest:
    """Make a savepoint; the future gives its path."""

    kind: ClassVar[RequestKind] = RequestKind.SAVEPOINT
    directory: str | None
    after: After
    format_type: SavepointFormatType = SavepointFormatType.CANONICAL
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


@dataclass(frozen=True)
class RescaleRequest:
    """Go on with another parallelism; the future gives None as soon as the job is about to."""

    kind: ClassVar[RequestKind] = RequestKind.RESCALE
    parallelism: int
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


@dataclass(frozen=True)
class StopRequest:
    """End after the running epoch, with a checkpoint to resume from; the future gives None at
    once."""

    kind: ClassVar[RequestKind] = RequestKind.STOP
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


@dataclass(frozen=True)
class CancelRequest:
    """End at once; the future gives None at once."""

    kind: ClassVar[RequestKind] = RequestKind.CANCEL
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


QueuedRequest = CheckpointRequest | SavepointRequest | RescaleRequest
"""What the job does between two epochs, one after the other."""
Request = QueuedRequest | StopRequest | CancelRequest


def answer(request: Request, result: Any) -> None:
    """Give a request its result, unless who asked has cancelled the future.

    Raises:
        InvalidStateError: it has been answered already.
    """
    try:
        request.done.set_result(result)
    except InvalidStateError:
        if not request.done.cancelled():
            raise


def refuse(request: Request, error: BaseException) -> None:
    """Give a request the reason why not.

    Raises:
        InvalidStateError: it has been answered already.
    """
    try:
        request.done.set_exception(error)
    except InvalidStateError:
        if not request.done.cancelled():
            raise
