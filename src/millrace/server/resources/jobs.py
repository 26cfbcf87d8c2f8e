"""The list of jobs, and the details of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, cast

import msgspec

from millrace.common.config.shown_settings import HIDDEN
from millrace.common.job import JobStatus
from millrace.engine.control_commands import waits_for
from millrace.server.api_route import AccessRole, ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob, ObservedVertex
from millrace.server.resources.execution_states import execution_state, state_counts, task_counts
from millrace.server.resources.functions import has_functions
from millrace.server.resources.job_plan import JobPlan, job_plan
from millrace.server.resources.vertex_metrics import IOMetrics, io_metrics, vertex_rates

__all__ = ["ROUTES", "StatusName", "job_details", "job_summary"]

StatusName = Literal[
    "INITIALIZING", "CREATED", "RUNNING", "FAILING", "FAILED", "CANCELLING", "CANCELED",
    "FINISHED", "RESTARTING", "SUSPENDED", "RECONCILING",
]  # fmt: skip


class JobIdAndStatus(msgspec.Struct, frozen=True):
    """A job in the shortest form."""

    id: str
    status: StatusName


class JobIds(msgspec.Struct, frozen=True):
    """Answer of ``/jobs``."""

    jobs: list[JobIdAndStatus]


class JobSummary(msgspec.Struct, frozen=True, rename="kebab"):
    """A job in the overview."""

    jid: str
    name: str
    state: StatusName
    start_time: int
    end_time: int
    """End of the job in ms since the Unix epoch; -1 if it has not ended."""
    duration: int
    last_modification: int
    tasks: dict[str, int]
    """Number of subtasks per state."""
    records_per_second: float | None = None
    watermark_lag_ms: int | None = None
    last_checkpoint: int | None = None
    """Time at which the newest checkpoint was complete; None if there is none yet."""
    restarts: int = 0
    program: str = ""
    error: str = ""
    """Reason of the job's failure."""
    executor: str = ""
    """The executor, ``epochs`` or ``resident``; empty as long as it is not known."""


class JobSummaries(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/overview``."""

    jobs: list[JobSummary]


class VertexSummary(msgspec.Struct, frozen=True, rename="kebab"):
    """A vertex in the details of a job."""

    id: str
    uid: str
    name: str
    max_parallelism: int = msgspec.field(name="maxParallelism")
    parallelism: int
    status: str
    start_time: int
    end_time: int
    duration: int
    tasks: dict[str, int]
    metrics: IOMetrics
    operators: dict[str, str]
    """Uid -> name, in the order of the chain."""
    records_in_per_second: float | None
    records_out_per_second: float | None
    busy_ratio: float | None
    busy_ratio_median: float | None
    back_pressured_ratio: float | None
    back_pressured_ratio_median: float | None
    skew: float | None
    watermark: int | None
    watermark_lag_ms: int | None
    state_bytes: int | None
    """Bytes of all state of the vertex in checkpoints."""


class JobAnswer(msgspec.Struct, frozen=True, rename="kebab"):
    """Answer of ``/jobs/:jobid``."""

    jid: str
    name: str
    is_stoppable: bool = msgspec.field(name="isStoppable")
    state: StatusName
    job_type: str
    executor: str
    """The executor, ``epochs`` or ``resident``; empty as long as it is not known."""
    executor_reason: str
    start_time: int
    end_time: int
    duration: int
    max_parallelism: int = msgspec.field(name="maxParallelism")
    now: int
    timestamps: dict[str, int]
    vertices: list[VertexSummary]
    status_counts: dict[str, int]
    plan: JobPlan
    program: str
    arguments: tuple[str, ...]
    """Arguments of the program; asterisks for clients that may only read."""
    error: str
    epoch: int
    epoch_ms: float
    records: int
    records_per_second: float
    watermark: int | None
    last_checkpoint: int | None
    restarts: int
    waits_for: str
    has_functions: bool
    """Whether the job has Stateful Functions."""
    spark_ui: str
    """URL of the web UI of the job's Spark application; empty if it has none, or has ended."""


class StatusAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/status``."""

    status: StatusName


def job_summary(job: ObservedJob) -> JobSummary:
    """A job in the overview."""
    details = job.details
    running = job.is_running
    has_lag = running and details.watermark is not None
    return JobSummary(
        jid=job.id,
        name=job.name,
        state=_status(job),
        start_time=job.job.created,
        end_time=-1 if job.job.ended is None else job.job.ended,
        duration=max(0, job.end - job.job.created),
        last_modification=job.job.ended or max(job.job.created, *details.since.values(), 0),
        tasks=task_counts(job, (vertex.parallelism for vertex in job.vertices)),
        records_per_second=details.records_per_second if running else None,
        watermark_lag_ms=max(0, job.now - (details.watermark or 0)) if has_lag else None,
        last_checkpoint=_last_checkpoint(job),
        restarts=job.restarts,
        program=job.job.submission.program,
        error=job.job.error,
        executor=job.archive.executor if job.archive is not None else "",
    )


def job_details(job: ObservedJob, role: AccessRole = AccessRole.OPERATE) -> JobAnswer:
    """All details of a job; readers do not see the job's arguments."""
    details = job.details
    vertices = [_vertex_summary(job, vertex) for vertex in job.vertices]
    return JobAnswer(
        jid=job.id,
        name=job.name,
        is_stoppable=job.is_stoppable,
        state=_status(job),
        job_type="BATCH" if job.is_batch else "STREAMING",
        executor=job.archive.executor if job.archive is not None else "",
        executor_reason=job.archive.executor_reason if job.archive is not None else "",
        start_time=job.job.created,
        end_time=-1 if job.job.ended is None else job.job.ended,
        duration=max(0, job.end - job.job.created),
        max_parallelism=job.archive.max_parallelism if job.archive is not None else -1,
        now=job.now,
        timestamps=_timestamps(job),
        vertices=vertices,
        status_counts=state_counts(execution_state(job), len(vertices)),
        plan=job_plan(job),
        program=job.job.submission.program,
        arguments=_shown_arguments(job, role),
        error=job.job.error,
        epoch=details.epoch,
        epoch_ms=details.epoch_ms,
        records=details.records,
        records_per_second=details.records_per_second if job.is_running else 0.0,
        watermark=details.watermark,
        last_checkpoint=_last_checkpoint(job),
        restarts=job.restarts,
        waits_for=waits_for(details) if job.is_running else "",
        has_functions=has_functions(job),
        spark_ui=job.archive.spark_ui if job.archive is not None and not job.job.is_over else "",
    )


def _vertex_summary(job: ObservedJob, vertex: ObservedVertex) -> VertexSummary:
    rates = vertex_rates(job, vertex)
    begun = _begun(job)
    return VertexSummary(
        id=vertex.id,
        uid=vertex.uid,
        name=vertex.name,
        max_parallelism=job.archive.max_parallelism if job.archive is not None else -1,
        parallelism=vertex.parallelism,
        status=execution_state(job),
        start_time=begun,
        end_time=-1 if job.job.ended is None else job.job.ended,
        duration=max(0, job.end - begun),
        tasks=state_counts(execution_state(job), vertex.parallelism),
        metrics=io_metrics(vertex),
        operators=dict(vertex.details.operators) if vertex.details is not None else {},
        state_bytes=vertex.details.state_bytes if vertex.details is not None else None,
        **msgspec.structs.asdict(rates),
    )


def _shown_arguments(job: ObservedJob, role: AccessRole) -> tuple[str, ...]:
    arguments = job.job.submission.arguments
    # a password may be among them, as among settings
    return arguments if role >= AccessRole.OPERATE else (HIDDEN,) * len(arguments)


def _last_checkpoint(job: ObservedJob) -> int | None:
    complete = [
        checkpoint for checkpoint in job.details.checkpoints.recent if checkpoint.failure is None
    ]
    return max(
        (round(checkpoint.triggered + checkpoint.duration) for checkpoint in complete), default=None
    )


def _begun(job: ObservedJob) -> int:
    return job.details.since.get(JobStatus.RUNNING, job.job.created)


def _status(job: ObservedJob) -> StatusName:
    return cast(StatusName, job.job.status.name)


def _timestamps(job: ObservedJob) -> dict[str, int]:
    stamps = {"INITIALIZING": job.job.created, **{status.name: 0 for status in JobStatus}}
    stamps.update((status.name, time) for status, time in job.details.since.items())
    stamps["CREATED"] = job.job.created
    if job.job.ended is not None:
        stamps[job.job.status.name] = job.job.ended
    return stamps


def _shortest(jobs: Iterable[ObservedJob]) -> JobIds:
    return JobIds([JobIdAndStatus(job.id, _status(job)) for job in jobs])


def get_jobs(server: JobServer, request: ApiRequest) -> JobIds:
    """Answer ``GET /jobs``."""
    return _shortest(server.all_observed())


def get_overview(server: JobServer, request: ApiRequest) -> JobSummaries:
    """Answer ``GET /jobs/overview``."""
    return JobSummaries([job_summary(job) for job in server.all_observed()])


def get_job(server: JobServer, request: ApiRequest) -> JobAnswer:
    """Answer ``GET /jobs/:jobid``."""
    return job_details(server.observed(request), request.role)


def get_status(server: JobServer, request: ApiRequest) -> StatusAnswer:
    """Answer ``GET /jobs/:jobid/status``."""
    return StatusAnswer(_status(server.observed(request)))


ROUTES = (
    ApiRoute("GET", "/jobs", get_jobs, "The ids and states of all jobs.", JobIds),
    ApiRoute("GET", "/jobs/overview", get_overview, "A summary of each job.", JobSummaries),
    ApiRoute("GET", "/jobs/{jobid}", get_job, "The details of a job.", JobAnswer),
    ApiRoute("GET", "/jobs/{jobid}/status", get_status, "The state of a job.", StatusAnswer),
)
