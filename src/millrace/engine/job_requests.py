"""What is asked of a running job from outside: savepoints and another parallelism.

A request may come from any thread. The job takes one at a time, between two epochs.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from threading import Lock
from typing import Any

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import JobExecutionError


class After(Enum):
    """What the job does once its savepoint is complete."""

    GO_ON = "GO_ON"
    STOP = "STOP"
    DRAIN = "DRAIN"
    """Stop, and before the savepoint end all input: timers fire and windows close."""
    CANCEL = "CANCEL"


@dataclass(frozen=True)
class SavepointRequest:
    """Make a savepoint; the future gives its path."""

    directory: str | None
    after: After
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


@dataclass(frozen=True)
class RescaleRequest:
    """Go on with another parallelism; the future gives None as soon as the job is about to."""

    parallelism: int
    done: CompletableFuture[Any] = field(default_factory=CompletableFuture)


Request = SavepointRequest | RescaleRequest


class JobRequests:
    """The requests that wait, in their order."""

    def __init__(self) -> None:
        self._waiting: deque[Request] = deque()
        self._lock = Lock()
        self._closed = False

    def add(self, request: Request) -> None:
        """Let a request wait; after the job's end it fails at once."""
        with self._lock:
            if not self._closed:
                self._waiting.append(request)
                return
        refuse(request, JobExecutionError("the job has ended"))

    def take(self) -> Request | None:
        """The next request, if there is one."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def close(self, unfinished: Request | None) -> None:
        """The job has ended: who still waits is told so, first the one that was being served."""
        with self._lock:
            self._closed = True
            left, self._waiting = list(self._waiting), deque()
        for request in left if unfinished is None else [unfinished, *left]:
            refuse(request, JobExecutionError("the job has ended"))


def answer(request: Request, result: Any) -> None:
    """Give a request its result, unless who asked has cancelled the future."""
    with suppress(InvalidStateError):
        request.done.set_result(result)


def refuse(request: Request, error: BaseException) -> None:
    """Give a request the reason why not."""
    with suppress(InvalidStateError):
        request.done.set_exception(error)
