"""What is asked of a running job from outside: savepoints and another parallelism.

A request may come from any thread. The job takes one at a time, between two epochs.
"""

from __future__ import annotations

from collections import deque
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
        request.done.set_exception(JobExecutionError("the job has ended"))

    def take(self) -> Request | None:
        """The next request, if there is one."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def close(self) -> None:
        """The job has ended: who still waits is told so."""
        with self._lock:
            self._closed = True
            left, self._waiting = list(self._waiting), deque()
        for request in left:
            request.done.set_exception(JobExecutionError("the job has ended"))
