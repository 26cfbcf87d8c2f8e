"""The last hour of a job, and its processes."""

from __future__ import annotations

import msgspec

from millrace.server.api_route import ApiRequest, ApiRoute, QueryParameter
from millrace.server.history_sampler import HistoryPoint
from millrace.server.job_server import JobServer
from millrace.server.registry import ProcessAttempt

__all__ = ["ROUTES"]


class SeriesPoint(msgspec.Struct, frozen=True, rename="kebab"):
    """Figures of a job at one time; None if unknown."""

    time: int
    records_per_second: float | None
    epoch_ms: float | None
    checkpoint_ms: float | None
    checkpoint_bytes: float | None
    watermark_lag_ms: float | None
    busy_ratio: float | None
    latency_ms: float | None


class HistoryAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/history``, the oldest first."""

    series: list[SeriesPoint]


class AttemptAnswer(msgspec.Struct, frozen=True, rename="kebab"):
    """A process of a job: one attempt."""

    attempt: int
    pid: int
    start_time: int
    end_time: int
    """End of the process in ms since the Unix epoch; -1 while it runs."""
    duration: int
    outcome: str
    """Outcome in a few words; empty while the process runs."""


class AttemptsAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/attempts``, the first one first."""

    attempts: list[AttemptAnswer]


def _point(point: HistoryPoint) -> SeriesPoint:
    return SeriesPoint(
        point.time,
        point.records_per_second,
        point.epoch_ms,
        point.checkpoint_ms,
        point.checkpoint_bytes,
        point.watermark_lag_ms,
        point.busy_ratio,
        point.latency_ms,
    )


def _attempt(attempt: ProcessAttempt, now: int) -> AttemptAnswer:
    end = now if attempt.ended is None else attempt.ended
    return AttemptAnswer(
        attempt=attempt.number,
        pid=attempt.pid,
        start_time=attempt.started,
        end_time=-1 if attempt.ended is None else attempt.ended,
        duration=max(0, end - attempt.started),
        outcome=attempt.outcome,
    )


def get_history(server: JobServer, request: ApiRequest) -> HistoryAnswer:
    """Answer ``GET /jobs/:jobid/history``."""
    job = server.registered(request)
    points = server.history.points(job.id, request.query.get("since", 0))
    return HistoryAnswer([_point(point) for point in points])


def get_attempts(server: JobServer, request: ApiRequest) -> AttemptsAnswer:
    """Answer ``GET /jobs/:jobid/attempts``."""
    job = server.registered(request)
    now = server.now()
    return AttemptsAnswer([_attempt(attempt, now) for attempt in server.registry.attempts(job.id)])


ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/history",
        get_history,
        "Figures of a job's last hour, one point per second, since the server was started.",
        HistoryAnswer,
        query=(QueryParameter("since", int, "only later points; ms since the epoch of Unix"),),
    ),
    ApiRoute(
        "GET",
        "/jobs/{jobid}/attempts",
        get_attempts,
        "The processes that a job has had.",
        AttemptsAnswer,
    ),
)
