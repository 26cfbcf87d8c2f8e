"""The server as a whole: overview, settings of the web UI, and shutdown."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Literal

import msgspec

from millrace import __version__
from millrace.common.job import JobStatus
from millrace.server.api_route import AccessRole, ApiReply, ApiRequest, ApiRoute, EmptyAnswer
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob

__all__ = ["ROUTES", "cluster_overview"]

REFRESH_MS = 3_000
"""Flink's ``web.refresh-interval``."""
_CANCELLED = (JobStatus.CANCELED, JobStatus.SUSPENDED)


class Overview(msgspec.Struct, frozen=True, rename="kebab"):
    """Answer of ``/overview``."""

    taskmanagers: int
    """Number of worker processes in the newest epochs."""
    slots_total: int
    """Number of subtasks of running jobs, because the server does not know Spark's slots."""
    slots_available: int
    jobs_running: int
    """Number of jobs that have not ended."""
    jobs_finished: int
    jobs_cancelled: int
    jobs_failed: int
    flink_version: str
    """Version of Millrace; Flink's clients expect a version in this field."""
    flink_commit: str
    millrace_version: str


class Features(msgspec.Struct, frozen=True, rename="kebab"):
    """Features that the web UI may offer."""

    web_submit: bool
    web_cancel: bool
    web_history: bool = False
    web_rescale: bool = True


class DashboardConfiguration(msgspec.Struct, frozen=True, rename="kebab"):
    """Answer of ``/config``."""

    refresh_interval: int
    timezone_name: str
    timezone_offset: int
    """Milliseconds east of Greenwich."""
    flink_version: str
    flink_revision: str
    features: Features
    role: Literal["read", "operate"] = "operate"
    """Right of the client's token. Not in Flink's answer."""


class HealthAnswer(msgspec.Struct, frozen=True, rename="kebab"):
    """Answer of ``/health``."""

    status: str
    leader: bool
    leader_address: str | None


def cluster_overview(jobs: Iterable[ObservedJob]) -> Overview:
    """Overview of the server in figures."""
    known = list(jobs)
    statuses = [job.job.status for job in known]
    running = [job for job in known if job.is_running]
    workers = {s.worker for job in running for v in job.vertices for s in v.subtasks}
    return Overview(
        taskmanagers=len(workers),
        slots_total=sum(vertex.parallelism for job in running for vertex in job.vertices),
        slots_available=0,
        jobs_running=sum(not job.job.is_over for job in known),
        jobs_finished=statuses.count(JobStatus.FINISHED),
        jobs_cancelled=sum(status in _CANCELLED for status in statuses),
        jobs_failed=statuses.count(JobStatus.FAILED),
        flink_version=__version__,
        flink_commit="millrace",
        millrace_version=__version__,
    )


def get_overview(server: JobServer, request: ApiRequest) -> Overview:
    """Answer ``GET /overview``."""
    return cluster_overview(server.all_observed())


def get_config(server: JobServer, request: ApiRequest) -> DashboardConfiguration:
    """Answer ``GET /config``."""
    here = time.localtime()
    submit = server.settings.allow_uploads or server.settings.programs is not None
    return DashboardConfiguration(
        refresh_interval=REFRESH_MS,
        timezone_name=here.tm_zone,
        timezone_offset=here.tm_gmtoff * 1_000,
        flink_version=__version__,
        flink_revision="millrace",
        features=Features(web_submit=submit, web_cancel=True),
        role="operate" if request.role >= AccessRole.OPERATE else "read",
    )


def get_health(server: JobServer, request: ApiRequest) -> HealthAnswer:
    """Answer ``GET /health``."""
    leadership = server.leadership
    if leadership is None or leadership.token() is not None:
        return HealthAnswer("ok", True, request.address or None)
    leader = leadership.leader()
    return HealthAnswer("ok", False, leader.address if leader is not None else None)


def delete_cluster(server: JobServer, request: ApiRequest) -> ApiReply:
    """Answer ``DELETE /cluster``: the server ends, its jobs run on."""
    server.end()
    return ApiReply(EmptyAnswer(), 200)


ROUTES = (
    ApiRoute(
        "GET",
        "/overview",
        get_overview,
        "The server and its jobs in figures.",
        Overview,
        is_kept=True,
    ),
    ApiRoute("GET", "/config", get_config, "Settings of the web UI.", DashboardConfiguration),
    ApiRoute(
        "GET",
        "/health",
        get_health,
        "Whether the server is well.",
        HealthAnswer,
        AccessRole.NOBODY,
        waits_for_nothing=True,
    ),
    ApiRoute(
        "DELETE",
        "/cluster",
        delete_cluster,
        "End the server; jobs continue to run, and the next server finds them.",
        EmptyAnswer,
        AccessRole.OPERATE,
    ),
)
