"""The life of a job as a list of events: runs, checkpoints, savepoints, failures, rescalings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from millrace.engine.job_details import CheckpointStats, RescaleStats, RescaleStatus
from millrace.server.api_route import ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob
from millrace.server.registry import ProcessAttempt, TriggeredOperation
from millrace.server.resources.exceptions import RootException, exceptions_of

__all__ = ["ROUTES", "TimelineEvent", "timeline"]

MOST_FAILURES = 200


class TimelineEvent(msgspec.Struct, frozen=True):
    """Something that happened to a job; times in ms since the Unix epoch."""

    kind: Literal["run", "restore", "checkpoint", "savepoint", "failure", "rescale"]
    time: int
    end: int | None
    """End of the event; None for a moment, and for what has not ended."""
    status: Literal["COMPLETED", "FAILED", "IN_PROGRESS"]
    title: str
    detail: str = ""
    """Path of a snapshot, or the reason of a failure."""


class TimelineAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/timeline``, the oldest event first."""

    begin: int
    """Time of the job's submission."""
    end: int
    """Time of the job's end; the current time if the job has not ended."""
    events: list[TimelineEvent]


def timeline(
    job: ObservedJob,
    attempts: Iterable[ProcessAttempt],
    triggers: Iterable[TriggeredOperation] = (),
) -> TimelineAnswer:
    """The life of a job.

    Args:
        attempts: the processes that the job has had.
        triggers: requests that have succeeded, of this job and of others.
    """
    attempts = list(attempts)
    events = [_run(attempt) for attempt in attempts]
    events += _restore(job)
    events += map(_checkpoint, job.details.checkpoints.recent)
    events += (
        _savepoint(trigger) for trigger in triggers if trigger.job == job.id and _path(trigger)
    )
    events += map(_rescale, job.details.rescales)
    events += (
        TimelineEvent(
            "failure",
            failure.timestamp,
            None,
            "FAILED",
            failure.exception_name,
            _last_line(failure),
        )
        for failure in exceptions_of(job, MOST_FAILURES, attempts).exception_history.entries
    )
    return TimelineAnswer(job.job.created, job.end, sorted(events, key=lambda event: event.time))


def _run(attempt: ProcessAttempt) -> TimelineEvent:
    is_first = attempt.number == 0
    return TimelineEvent(
        kind="run",
        time=attempt.started,
        end=attempt.ended,
        status=(
            "IN_PROGRESS"
            if attempt.ended is None
            else "FAILED"
            if attempt.outcome.startswith(("crashed", "failed"))
            else "COMPLETED"
        ),
        title="Started" if is_first else f"Started again ({attempt.number})",
        detail=attempt.outcome,
    )


def _restore(job: ObservedJob) -> Iterator[TimelineEvent]:
    restored = job.details.checkpoints.restored
    if restored is not None:
        what = "savepoint" if restored.number is None else f"checkpoint {restored.number}"
        title = f"Continued from {what}, epoch {restored.epoch}"
        yield TimelineEvent("restore", restored.time, None, "COMPLETED", title)


def _checkpoint(stats: CheckpointStats) -> TimelineEvent:
    name = f"Checkpoint {stats.number}" if stats.number is not None else "Checkpoint"
    return TimelineEvent(
        kind="checkpoint",
        time=stats.triggered,
        end=round(stats.triggered + stats.duration),
        status="COMPLETED" if stats.failure is None else "FAILED",
        title=name,
        detail=stats.path if stats.failure is None else stats.failure,
    )


def _savepoint(trigger: TriggeredOperation) -> TimelineEvent:
    title = "Stopped with a savepoint" if trigger.kind == "stop" else "Savepoint"
    return TimelineEvent("savepoint", trigger.created, None, "COMPLETED", title, _path(trigger))


def _path(trigger: TriggeredOperation) -> str:
    path = json.loads(trigger.result or "{}").get("savepoint")
    return path if isinstance(path, str) else ""


def _rescale(stats: RescaleStats) -> TimelineEvent:
    failed = stats.status is RescaleStatus.FAILED
    return TimelineEvent(
        kind="rescale",
        time=stats.begun,
        end=stats.ended,
        status="IN_PROGRESS" if stats.status is None else "FAILED" if failed else "COMPLETED",
        title=f"Rescaled to {stats.parallelism}",
        detail=stats.failure or "",
    )


def _last_line(entry: RootException) -> str:
    return entry.stacktrace.strip().rpartition("\n")[2][:500]


def get_timeline(server: JobServer, request: ApiRequest) -> TimelineAnswer:
    """Answer ``GET /jobs/:jobid/timeline``."""
    job = server.observed(request)
    attempts = server.registry.attempts(job.id)
    return timeline(job, attempts, server.registry.succeeded_triggers(job.id))


ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/timeline",
        get_timeline,
        "Runs, newest checkpoints, savepoints, failures and rescalings of a job.",
        TimelineAnswer,
    ),
)
