"""The parallelism of a job's vertices, with the interface of Flink's adaptive scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from millrace.server.api_route import (
    AccessRole,
    ApiError,
    ApiReply,
    ApiRequest,
    ApiRoute,
    EmptyAnswer,
)
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob
from millrace.server.operation_triggers import JobCommand
from millrace.server.resources.operations import RESCALING, running_job

__all__ = ["ROUTES", "wanted_parallelism"]

Bound = Annotated[int, msgspec.Meta(ge=1, le=1 << 15)]


class ParallelismBounds(msgspec.Struct, frozen=True, rename="camel"):
    """Bounds of a vertex's parallelism. A job always runs with the upper bound, because it never
    waits for resources."""

    lower_bound: Bound
    upper_bound: Bound


class VertexRequirements(msgspec.Struct, frozen=True):
    """Requirements of a vertex."""

    parallelism: ParallelismBounds


Requirements = dict[str, VertexRequirements]
"""Requirements by vertex id."""


def wanted_parallelism(job: ObservedJob, wanted: Requirements) -> int | None:
    """The parallelism to which a job must be rescaled; None if the job already has it.

    Raises:
        ApiError: 400, vertices are missing, or are not the job's, or no parallelism of the job
            gives each of them what it is to have.
    """
    _require_all(job, wanted)
    now = {vertex.id: vertex.parallelism for vertex in job.vertices}
    upper = {id: requirements.parallelism.upper_bound for id, requirements in wanted.items()}
    changed = [id for id in now if upper[id] != now[id]]
    if not changed:
        return None
    before, after = {now[id] for id in changed}, {upper[id] for id in changed}
    together = [id for id in now if now[id] in before]
    if len(after) > 1 or len(together) > len(changed):
        raise ApiError(
            400,
            "vertices that use the parallelism of the job can only be rescaled together: give "
            f"{', '.join(together)} the same upperBound, or set a parallelism for each of them in "
            "the program",
        )
    return after.pop()


def _require_all(job: ObservedJob, wanted: Mapping[str, VertexRequirements]) -> None:
    known = {vertex.id for vertex in job.vertices}
    if missing := sorted(known - wanted.keys()):
        raise ApiError(400, f"these vertices of the job are missing: {', '.join(missing)}")
    if unknown := sorted(wanted.keys() - known):
        raise ApiError(400, f"the job has no vertex {unknown[0][:80]!r}")
    for id, requirements in wanted.items():
        bounds = requirements.parallelism
        if bounds.lower_bound > bounds.upper_bound:
            raise ApiError(400, f"the lowerBound of {id} is above its upperBound")


def _begun(server: JobServer, request: ApiRequest) -> ObservedJob:
    job = server.observed(request)
    if not job.vertices:
        raise ApiError(409, f"job {job.id} has not begun: its vertices are not known yet")
    return job


def get_requirements(server: JobServer, request: ApiRequest) -> Requirements:
    """Answer ``GET /jobs/:jobid/resource-requirements``."""
    vertices = _begun(server, request).vertices
    return {
        vertex.id: VertexRequirements(ParallelismBounds(1, vertex.parallelism))
        for vertex in vertices
    }


def put_requirements(server: JobServer, request: ApiRequest) -> ApiReply:
    """Answer ``PUT /jobs/:jobid/resource-requirements``: rescales the job if necessary."""
    job = running_job(server, request)
    parallelism = wanted_parallelism(_begun(server, request), request.body)
    if parallelism is None:
        return ApiReply(EmptyAnswer())
    command = JobCommand("rescale", {"parallelism": parallelism})
    trigger = server.triggers.trigger(job.id, RESCALING, command)
    where = f"/jobs/{job.id}/rescaling/{trigger.id}"
    return ApiReply(EmptyAnswer(), headers={"Location": where})


PATH = "/jobs/{jobid}/resource-requirements"
ROUTES = (
    ApiRoute(
        "GET", PATH, get_requirements, "The parallelism of each vertex of a job.", Requirements
    ),
    ApiRoute(
        "PUT",
        PATH,
        put_requirements,
        "Rescale a job to the upper bounds. The header Location has the path of the result.",
        EmptyAnswer,
        AccessRole.OPERATE,
        body=Requirements,
    ),
)
