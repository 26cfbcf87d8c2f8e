"""The command bus: all requests to a job pass through it, from its client, its mailbox or HTTP."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from threading import Event, Lock
from typing import Any

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import CheckpointError, JobExecutionError
from millrace.common.job import JobStatus
from millrace.engine.job_requests import (
    NO_SAVEPOINT_DIR,
    CancelRequest,
    JobEndedError,
    QueuedRequest,
    Request,
    SavepointRequest,
    StopRequest,
    answer,
    refuse,
)
from millrace.engine.job_state import JobStateMachine

__all__ = ["CommandBus"]


class CommandBus:
    """Accepts the requests that the job's state allows, and refuses the others. No request is lost.

    Args:
        states: state machine of the job, which tells the requests that it accepts.
        interrupt: ends a running epoch; called, in any thread, when the job is cancelled.
        savepoint_dir: directory of savepoints whose requests name none; without it, such requests
            are refused.
    """

    def __init__(
        self,
        states: JobStateMachine,
        interrupt: Callable[[], None],
        savepoint_dir: str | None = None,
    ) -> None:
        self._states = states
        self._interrupt = interrupt
        self._savepoint_dir = savepoint_dir
        self._queue: deque[QueuedRequest] = deque()
        self._lock = Lock()
        self._closed = False
        self._stop_wanted = False
        self.wanted = Event()
        """Event that is set when there is a request to process."""
        self.ending = Event()
        """Event that is set when the job is asked to end."""
        self.cancelled = Event()
        """Event that is set when the job must end at once, or has failed: no commit is tried
        again."""
        self.end_reading: Callable[[], None] = lambda: None
        """Ends the reading of a running epoch. Called with every request, in any thread."""

    @property
    def stop_wanted(self) -> bool:
        """Whether the job should end with its next checkpoint."""
        return self._stop_wanted

    # -- for those who ask, in any thread ------------------------------------------------------

    def submit(self, request: Request) -> CompletableFuture[Any]:
        """Submit a request; returns its future. If the job's state does not allow the request,
        it fails with a JobExecutionError."""
        if isinstance(request, CancelRequest):
            self._cancel()
        elif isinstance(request, StopRequest):
            self._stop_wanted = True
            self.ending.set()
        else:
            self._enqueue(request)
            self.want()
            return request.done
        answer(request, None)
        self.want()
        return request.done

    def want(self) -> None:
        """Make the job serve its requests soon, by ending the reading of a running epoch."""
        self.wanted.set()
        self.end_reading()

    def _cancel(self) -> None:
        self._states.cancel()
        self.cancelled.set()
        self.ending.set()
        self.wanted.set()
        if self._states.status is JobStatus.CANCELLING:
            # asked again, too: the first time may have been in the instant before an epoch
            self._interrupt()

    def _enqueue(self, request: QueuedRequest) -> None:
        with self._lock:
            refusal = self._states.refusal(request.kind)
            if refusal is None and self._closed:
                refusal = "the job has ended"
            if refusal is None and self._has_place(request):
                self._queue.append(request)
                return
        if refusal is None:
            refuse(request, CheckpointError(NO_SAVEPOINT_DIR))
        else:
            refuse(request, JobExecutionError(refusal))

    def _has_place(self, request: QueuedRequest) -> bool:
        if not isinstance(request, SavepointRequest):
            return True
        return bool(request.directory or self._savepoint_dir)

    # -- for the job ---------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        """Whether a request is waiting."""
        return bool(self._queue)

    def take(self) -> QueuedRequest | None:
        """The next request that has not been cancelled; None if there is none."""
        with self._lock:
            while self._queue:
                request = self._queue.popleft()
                if not request.done.cancelled():
                    return request
            return None

    def end_pauses(self) -> None:
        """End the pauses between retries in the background, so that they do not delay the end of
        a failing job."""
        self.cancelled.set()

    def close(self, unfinished: Iterable[QueuedRequest], cause: BaseException | None) -> None:
        """Answer all remaining requests at the job's end: the waiting ones and the one being
        served. ``cause`` is the error that ended the job; None after a normal end."""
        with self._lock:
            self._closed = True
            left, self._queue = list(self._queue), deque()
        for request in (*unfinished, *left):
            ended = f"the job has ended before it could {request.kind.value}"
            error = JobEndedError(ended + (f": {cause}" if cause else ""))
            error.__cause__ = cause
            refuse(request, error)
