"""What is asked of a running job from outside: savepoints and another parallelism.

A request may come from any thread. The job takes one at a time, between two epochs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
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

    @property
    def waiting(self) -> bool:
        """Whether there is a next request."""
        return bool(self._waiting)

    def take(self) -> Request | None:
        """The next request, if there is one; what was cancelled in the meantime is none."""
        with self._lock:
            while self._waiting:
                request = self._waiting.popleft()
                if not request.done.cancelled():
                    return request
            return None

    def close(self, unfinished: Iterable[Request], cause: Exception | None) -> None:
        """The job has ended, for some ``cause`` or as it should: who still waits is told so, and
        whose request was being served."""
        with self._lock:
            self._closed = True
            left, self._waiting = list(self._waiting), deque()
        for request in (*unfinished, *left):
            error = JobExecutionError("the job has ended" + (f": {cause}" if cause else ""))
            error.__cause__ = cause
            refuse(request, error)


def answer(request: Request, result: Any) -> None:
    """Give a request its result, unless who asked has cancelled the future."""
    with suppress(InvalidStateError):
        request.done.set_result(result)


def refuse(request: Request, error: BaseException) -> None:
    """Give a request the reason why not."""
    with suppress(InvalidStateError):
        request.done.set_exception(error)
