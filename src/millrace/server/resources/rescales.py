"""The rescalings of a job: times, former and new parallelism."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from millrace.common.job import JobStatus
from millrace.engine.job_details import RescaleStats, RescaleStatus, StageRescale
from millrace.server.api_route import ApiError, ApiRequest, ApiRoute
from millrace.server.job_server import JobServer, checked_id
from millrace.server.observed_job import ObservedJob, vertex_id

__all__ = ["ROUTES"]

Status = Literal["COMPLETED", "FAILED", "IGNORED"]
GROUP = "default"
"""All operators share their resources (Flink: slot sharing group)."""


class VertexRescale(msgspec.Struct, frozen=True, rename="camel"):
    """The parallelism of a vertex before and after a rescaling; null if the graph had no such
    vertex at that time.
    """

    job_vertex_id: str
    job_vertex_name: str
    slot_sharing_group_name: str
    desired_parallelism: int | None
    sufficient_parallelism: int | None
    pre_rescale_parallelism: int | None
    post_rescale_parallelism: int | None
    """Also null if the rescaling failed."""


class RescaleDetails(msgspec.Struct, frozen=True, rename="camel"):
    """One change of the parallelism."""

    rescale_uuid: str
    resource_requirements_uuid: str
    rescale_attempt_id: int
    """Number of the rescaling, counted per run from 1."""
    vertices: dict[str, VertexRescale]
    start_timestamp_in_millis: int
    end_timestamp_in_millis: int | None
    terminal_state: Status | None
    """Outcome of the rescaling; null while it is in progress."""
    terminated_reason: str | None
    trigger_cause: str = "UPDATE_REQUIREMENT"
    slots: dict[str, None] = {}
    """Always empty, because Spark's executors are not assigned one by one."""
    scheduler_states: tuple[None, ...] | None = None
    failure_cause: str | None = None
    """Reason why the rescaling was refused or failed."""


class RescalesCounts(msgspec.Struct, frozen=True, rename="camel"):
    """Numbers of the latest rescalings by outcome."""

    ignored: int
    in_progress: int
    completed: int
    failed: int


class LatestRescales(msgspec.Struct, frozen=True):
    """The latest rescaling of each outcome."""

    completed: RescaleDetails | None
    failed: RescaleDetails | None
    ignored: RescaleDetails | None


class RescalesOverview(msgspec.Struct, frozen=True, rename="camel"):
    """Answer of ``/jobs/:jobid/rescales/overview``."""

    rescales_counts: RescalesCounts
    latest: LatestRescales


def rescale_details(stats: RescaleStats, job: ObservedJob) -> RescaleDetails:
    """One rescaling, with its outcome in Flink's words."""
    return RescaleDetails(
        rescale_uuid=stats.id,
        resource_requirements_uuid=stats.id,
        rescale_attempt_id=stats.number,
        vertices={
            vertex_id(uid): _vertex(uid, stage, stats.status) for uid, stage in stats.stages.items()
        },
        start_timestamp_in_millis=stats.begun,
        end_timestamp_in_millis=stats.ended,
        terminal_state=stats.status.value if stats.status is not None else None,
        terminated_reason=_reason(stats, job),
        failure_cause=stats.failure,
    )


def _vertex(uid: str, stage: StageRescale, status: RescaleStatus | None) -> VertexRescale:
    return VertexRescale(
        job_vertex_id=vertex_id(uid),
        job_vertex_name=stage.name,
        slot_sharing_group_name=GROUP,
        desired_parallelism=stage.after,
        sufficient_parallelism=None if stage.after is None else 1,
        pre_rescale_parallelism=stage.before,
        post_rescale_parallelism=stage.after if status is RescaleStatus.COMPLETED else None,
    )


def _reason(stats: RescaleStats, job: ObservedJob) -> str | None:
    match stats.status:
        case None:
            return None
        case RescaleStatus.COMPLETED:
            return "SUCCEEDED"
        case RescaleStatus.FAILED:
            return "EXCEPTION_OCCURRED"
        case RescaleStatus.IGNORED if stats.failure is None:
            return "NO_RESOURCES_OR_PARALLELISMS_CHANGE"
    match job.details.status:
        case JobStatus.FAILING | JobStatus.FAILED:
            return "JOB_FAILING"
        case JobStatus.CANCELLING | JobStatus.CANCELED | JobStatus.SUSPENDED:
            return "JOB_CANCELING"
    return "JOB_FINISHED"


def get_history(server: JobServer, request: ApiRequest) -> list[RescaleDetails]:
    """Answer ``GET /jobs/:jobid/rescales/history``: the newest first."""
    job = server.observed(request)
    return [rescale_details(rescale, job) for rescale in job.details.rescales]


def get_overview(server: JobServer, request: ApiRequest) -> RescalesOverview:
    """Answer ``GET /jobs/:jobid/rescales/overview``."""
    job = server.observed(request)
    known = job.details.rescales
    statuses = [rescale.status for rescale in known]
    counts = RescalesCounts(
        ignored=statuses.count(RescaleStatus.IGNORED),
        in_progress=statuses.count(None),
        completed=statuses.count(RescaleStatus.COMPLETED),
        failed=statuses.count(RescaleStatus.FAILED),
    )
    latest = LatestRescales(
        completed=_latest(known, RescaleStatus.COMPLETED, job),
        failed=_latest(known, RescaleStatus.FAILED, job),
        ignored=_latest(known, RescaleStatus.IGNORED, job),
    )
    return RescalesOverview(counts, latest)


def _latest(
    known: Iterable[RescaleStats], status: RescaleStatus, job: ObservedJob
) -> RescaleDetails | None:
    return next(
        (rescale_details(rescale, job) for rescale in known if rescale.status is status), None
    )


def get_details(server: JobServer, request: ApiRequest) -> RescaleDetails:
    """Answer ``GET /jobs/:jobid/rescales/details/:rescaleuuid``."""
    job, id = server.observed(request), checked_id(request.path["rescaleuuid"], "rescaling")
    for rescale in job.details.rescales:
        if rescale.id == id:
            return msgspec.structs.replace(rescale_details(rescale, job), scheduler_states=())
    raise ApiError(404, f"job {job.id} remembers no rescaling {id}")


ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/rescales/history",
        get_history,
        "The last ten changes of a job's parallelism in its newest run, the newest first.",
        list[RescaleDetails],
    ),
    ApiRoute(
        "GET",
        "/jobs/{jobid}/rescales/overview",
        get_overview,
        "The last ten changes of a job's parallelism in figures.",
        RescalesOverview,
    ),
    ApiRoute(
        "GET",
        "/jobs/{jobid}/rescales/details/{rescaleuuid}",
        get_details,
        "One of the last changes of a job's parallelism.",
        RescaleDetails,
    ),
)
