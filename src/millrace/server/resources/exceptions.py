"""Exceptions of a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from millrace.engine.job_details import ExceptionEntry, JobNotice
from millrace.server.api_route import ApiRequest, ApiRoute, QueryParameter
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob
from millrace.server.registry import ProcessAttempt
from millrace.server.restarts import CRASHED

__all__ = ["ROUTES", "RootException", "exceptions_of"]

DEFAULT_COUNT = 20
_LAST_LINE = "Exception"


class RootException(msgspec.Struct, frozen=True, kw_only=True):
    """One exception of a job."""

    exception_name: str = msgspec.field(name="exceptionName")
    stacktrace: str
    """The user's traceback, or a sentence."""
    timestamp: int
    failure_labels: dict[str, str] = msgspec.field(name="failureLabels", default={})
    task_name: str | None = msgspec.field(name="taskName", default=None)
    """The operator whose function failed."""
    record: str | None = None
    """Record with which the function was called."""
    endpoint: str | None = None
    task_manager_id: str | None = msgspec.field(name="taskManagerId", default=None)
    concurrent_exceptions: list[str] = msgspec.field(name="concurrentExceptions", default=[])
    epoch: int | None = None
    fatal: bool = False
    """Whether the exception ended the job."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A warning of workers, or other news from them although nothing has failed."""

    level: str
    """Level of the log: INFO, WARNING, ERROR or CRITICAL."""
    logger: str
    text: str
    """Text of the newest one."""
    task_name: str | None = msgspec.field(name="taskName", default=None)
    """The operator, if it is known."""
    subtasks: list[int] = []
    """Subtasks that have told it, as far as they are known."""
    first: int
    """Time of the first one, ms since the Unix epoch."""
    timestamp: int
    """Time of the newest one."""
    count: int
    """Number of times; texts that differ only in numbers are the same notice."""


class ExceptionHistory(msgspec.Struct, frozen=True):
    """Exceptions, the newest first."""

    entries: list[RootException]
    truncated: bool


class ExceptionsAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/exceptions``."""

    root_exception: str | None = msgspec.field(name="root-exception")
    timestamp: int | None
    all_exceptions: list[RootException] = msgspec.field(name="all-exceptions")
    truncated: bool
    exception_history: ExceptionHistory = msgspec.field(name="exceptionHistory")
    notices: list[Notice] = []
    """Notices of workers in the last run, the newest first."""


def exceptions_of(
    job: ObservedJob, most: int = DEFAULT_COUNT, attempts: Sequence[ProcessAttempt] = ()
) -> ExceptionsAnswer:
    """Exceptions of a job, the newest first, at most ``most``.

    Args:
        attempts: the processes that the job has had.
    """
    entries = sorted([*_entries(job), *_deaths(job, attempts)], key=lambda entry: -entry.timestamp)
    newest = entries[0] if entries else None
    return ExceptionsAnswer(
        root_exception=newest.stacktrace if newest is not None else None,
        timestamp=newest.timestamp if newest is not None else None,
        all_exceptions=[],
        truncated=len(entries) > most,
        exception_history=ExceptionHistory(entries[:most], len(entries) > most),
        notices=[_notice(notice) for notice in job.details.notices],
    )


def _entries(job: ObservedJob) -> Iterator[RootException]:
    told = job.details.exceptions
    if job.job.error and not any(entry.fatal for entry in told):
        # the program failed, or the process died: the job could not say so itself
        yield RootException(
            exception_name=exception_name(job.job.error),
            stacktrace=job.job.error,
            timestamp=job.end,
            fatal=True,
        )
    yield from map(_entry, told)


def _deaths(job: ObservedJob, attempts: Sequence[ProcessAttempt]) -> Iterator[RootException]:
    """Exceptions for processes that died; the last one is the job's error if the job ended by
    it."""
    for attempt in attempts[:-1] if job.job.error else attempts:
        if attempt.ended is not None and attempt.outcome.startswith(CRASHED):
            how = attempt.outcome.removeprefix(f"{CRASHED}: ")
            again = "; it was started again" if attempt is not attempts[-1] else ""
            yield RootException(
                exception_name=_LAST_LINE,
                stacktrace=f"the job's process has died ({how}){again}",
                timestamp=attempt.ended,
            )


def _entry(entry: ExceptionEntry) -> RootException:
    return RootException(
        exception_name=exception_name(entry.cause),
        stacktrace=entry.cause,
        timestamp=entry.time,
        task_name=entry.operator,
        record=entry.record,
        epoch=entry.epoch,
        fatal=entry.fatal,
    )


def _notice(notice: JobNotice) -> Notice:
    return Notice(
        level=notice.level,
        logger=notice.logger,
        text=notice.text,
        task_name=notice.operator,
        subtasks=list(notice.subtasks),
        first=notice.first,
        timestamp=notice.last,
        count=notice.times,
    )


def exception_name(text: str) -> str:
    """The name of the exception that a traceback ends with.

    Example:
        >>> exception_name("Traceback ...\\n  File ...\\nmy.Error: no number")
        'my.Error'
        >>> exception_name("it was lost")
        'Exception'
    """
    last = text.strip().rpartition("\n")[2]
    name = last.partition(":")[0]
    return name if name.replace(".", "").isidentifier() and ":" in last else _LAST_LINE


def get_exceptions(server: JobServer, request: ApiRequest) -> ExceptionsAnswer:
    """Answer ``GET /jobs/:jobid/exceptions``."""
    job = server.observed(request)
    most = request.query.get("maxExceptions", DEFAULT_COUNT)
    return exceptions_of(job, most, server.registry.attempts(job.id))


ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/exceptions",
        get_exceptions,
        "The failures of a job, the newest first, and the warnings of its workers.",
        ExceptionsAnswer,
        query=(QueryParameter("maxExceptions", int, "how many at most", minimum=0),),
    ),
)
