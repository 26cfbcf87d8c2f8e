"""Savepoint with which a job ends, as a result that is available after the end of the job."""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import JobCancelledError, JobExecutionError
from millrace.common.job import JobExecutionResult

__all__ = ["at_end"]


def at_end(savepoint: Future[str], job: Future[JobExecutionResult]) -> CompletableFuture[str]:
    """Future of the savepoint's path, which completes when the job has ended. If the savepoint
    fails, the future fails immediately, and the job goes on. If the future is cancelled, so is the
    request for the savepoint.

    Example:
        >>> savepoint, job = Future(), Future()
        >>> both = at_end(savepoint, job)
        >>> savepoint.set_result("/savepoints/a")
        >>> both.done()
        False
        >>> job.set_result(None)
        >>> both.result()
        '/savepoints/a'
    """
    return _SavepointAtEnd(savepoint, job)


class _SavepointAtEnd(CompletableFuture[str]):
    """Looks itself whether the savepoint and the job are done, whenever it is asked. A callback of
    the job's future may come too late: a future wakes the threads that wait for its result before
    it calls its callbacks.
    """

    def __init__(self, savepoint: Future[str], job: Future[JobExecutionResult]) -> None:
        super().__init__()
        self._savepoint, self._job = savepoint, job
        savepoint.add_done_callback(self._savepoint_ended)
        self.add_done_callback(lambda both: savepoint.cancel() if both.cancelled() else None)

    def _savepoint_ended(self, savepoint: Future[str]) -> None:
        self._follow()
        if not super().done():
            self._job.add_done_callback(lambda _: self._follow())

    def _follow(self) -> None:
        """Complete this future if both others allow it."""
        savepoint = self._savepoint
        if super().done() or not savepoint.done():
            return
        with suppress(InvalidStateError):  # another thread was faster, or who asked has cancelled
            if savepoint.cancelled():
                super().cancel()
            elif (error := savepoint.exception()) is not None:
                self.set_exception(error)
            elif self._job.done():
                self._end(savepoint.result(), self._job.exception())

    def _end(self, path: str, cause: BaseException | None) -> None:
        if cause is None or isinstance(cause, JobCancelledError):
            self.set_result(path)
            return
        error = JobExecutionError(
            f"the savepoint {path} is complete, but the job failed while it ended: {cause}"
        )
        error.__cause__ = cause
        self.set_exception(error)

    def done(self) -> bool:
        """Whether the future is completed or cancelled."""
        self._follow()
        return super().done()

    def cancelled(self) -> bool:
        """Whether the future is cancelled."""
        self._follow()
        return super().cancelled()

    def cancel(self) -> bool:
        """Cancel the future and the request for the savepoint; False if the future is completed."""
        self._follow()
        return super().cancel()

    def result(self, timeout: float | None = None) -> str:
        """The savepoint's path; waits for it, at most ``timeout`` seconds."""
        self._follow()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error, or None if there is none; waits for it, at most ``timeout`` seconds."""
        self._follow()
        return super().exception(timeout)
