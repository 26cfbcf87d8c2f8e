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
    ended: CompletableFuture[str] = CompletableFuture()

    def follow(done: Future[str]) -> None:
        if done.cancelled():
            ended.cancel()
        elif (error := done.exception()) is not None:
            _fail(ended, error)
        else:
            job.add_done_callback(lambda job: _complete(ended, done.result(), job.exception()))

    savepoint.add_done_callback(follow)
    ended.add_done_callback(lambda both: savepoint.cancel() if both.cancelled() else None)
    return ended


def _complete(ended: Future[str], path: str, cause: BaseException | None) -> None:
    if cause is None or isinstance(cause, JobCancelledError):
        with suppress(InvalidStateError):
            ended.set_result(path)
        return
    error = JobExecutionError(
        f"the savepoint {path} is complete, but the job failed while it ended: {cause}"
    )
    error.__cause__ = cause
    _fail(ended, error)


def _fail(ended: Future[str], error: BaseException) -> None:
    with suppress(InvalidStateError):  # who asked has cancelled it
        ended.set_exception(error)
