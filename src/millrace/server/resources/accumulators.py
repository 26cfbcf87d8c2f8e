"""Accumulators of a job's functions, and the result of a job that has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from millrace.common.job import JobStatus
from millrace.server.api_route import ApiRequest, ApiRoute, QueryParameter
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob, ObservedVertex
from millrace.server.resources.vertices import get_attempt, host_of

__all__ = ["ROUTES", "totals"]


class UserAccumulator(msgspec.Struct, frozen=True):
    """A figure that user functions report."""

    name: str
    type: str
    value: str


class JobAccumulators(msgspec.Struct, frozen=True, rename="kebab"):
    """Answer of ``/jobs/:jobid/accumulators``."""

    job_accumulators: list[UserAccumulator]
    user_task_accumulators: list[UserAccumulator]
    serialized_user_task_accumulators: dict[str, str]


class VertexAccumulators(msgspec.Struct, frozen=True, rename="kebab"):
    """Answer of ``/jobs/:jobid/vertices/:vertexid/accumulators``."""

    id: str
    user_accumulators: list[UserAccumulator]


class SubtaskAccumulators(msgspec.Struct, frozen=True, rename="kebab"):
    """The figures of a subtask."""

    subtask: int
    attempt: int
    host: str
    endpoint: str
    user_accumulators: list[UserAccumulator]


class AllSubtaskAccumulators(msgspec.Struct, frozen=True):
    """Answer of ``/subtasks/accumulators``."""

    id: str
    parallelism: int
    subtasks: list[SubtaskAccumulators]


class AttemptAccumulators(msgspec.Struct, frozen=True, rename="kebab"):
    """Answer of ``/subtasks/:subtaskindex/attempts/:attempt/accumulators``."""

    subtask: int
    attempt: int
    id: str
    user_accumulators: list[UserAccumulator]


class QueueStatus(msgspec.Struct, frozen=True):
    """Whether the result of a job is available: ``COMPLETED`` or ``IN_PROGRESS``."""

    id: str


class ExecutionResult(msgspec.Struct, frozen=True, rename="kebab"):
    """The outcome of a job."""

    id: str
    application_status: str
    net_runtime: int
    accumulator_results: dict[str, str]
    failure_cause: dict[str, str] | None = None


class ExecutionResultAnswer(msgspec.Struct, frozen=True, rename="kebab"):
    """Answer of ``/jobs/:jobid/execution-result``."""

    status: QueueStatus
    job_execution_result: ExecutionResult | None = None


Values = Mapping[str, Any]
_APPLICATION_STATUS = {
    JobStatus.FINISHED: "SUCCEEDED",
    JobStatus.FAILED: "FAILED",
    JobStatus.CANCELED: "CANCELED",
}


def totals(sets: Iterable[Values]) -> list[UserAccumulator]:
    """Accumulators summed over subtasks; values that are not numbers are left out."""
    sums: dict[str, int | float] = {}
    for values in sets:
        for name, value in values.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                sums[name] = sums.get(name, 0) + value
    return [_accumulator(name, value) for name, value in sorted(sums.items())]


def _accumulator(name: str, value: float) -> UserAccumulator:
    kind = "LongCounter" if isinstance(value, int) else "DoubleCounter"
    return UserAccumulator(name, kind, str(value))


def _of_vertex(job: ObservedJob, vertex: ObservedVertex) -> list[dict[int, Values]]:
    operators = vertex.details.operators if vertex.details is not None else {}
    return [dict(job.details.metrics.get(uid, {})) for uid in operators]


def get_job_accumulators(server: JobServer, request: ApiRequest) -> JobAccumulators:
    """Answer ``GET /jobs/:jobid/accumulators``."""
    metrics = server.observed(request).details.metrics
    sets = [values for by_subtask in metrics.values() for values in by_subtask.values()]
    return JobAccumulators([], totals(sets), {})


def get_vertex_accumulators(server: JobServer, request: ApiRequest) -> VertexAccumulators:
    """Answer ``GET /jobs/:jobid/vertices/:vertexid/accumulators``."""
    job, vertex = server.observed_vertex(request)
    sets = [values for operator in _of_vertex(job, vertex) for values in operator.values()]
    return VertexAccumulators(vertex.id, totals(sets))


def get_subtask_accumulators(server: JobServer, request: ApiRequest) -> AllSubtaskAccumulators:
    """Answer ``GET /jobs/:jobid/vertices/:vertexid/subtasks/accumulators``."""
    job, vertex = server.observed_vertex(request)
    operators = _of_vertex(job, vertex)
    subtasks = [
        SubtaskAccumulators(
            number,
            job.details.restarts,
            host_of(subtask.worker),
            subtask.worker,
            totals(operator.get(number, {}) for operator in operators),
        )
        for number, subtask in enumerate(vertex.subtasks)
    ]
    return AllSubtaskAccumulators(vertex.id, vertex.parallelism, subtasks)


def get_attempt_accumulators(server: JobServer, request: ApiRequest) -> AttemptAccumulators:
    """Answer ``GET .../subtasks/:subtaskindex/attempts/:attempt/accumulators``."""
    subtask = get_attempt(server, request)
    of_all = get_subtask_accumulators(server, request).subtasks
    counted = of_all[subtask.subtask].user_accumulators
    return AttemptAccumulators(subtask.subtask, subtask.attempt, _attempt_id(request), counted)


def _attempt_id(request: ApiRequest) -> str:
    path = request.path
    return f"{path['jobid']}_{path['vertexid']}_{path['subtaskindex']}_{path['attempt']}"


def get_execution_result(server: JobServer, request: ApiRequest) -> ExecutionResultAnswer:
    """Answer ``GET /jobs/:jobid/execution-result``."""
    job = server.observed(request)
    if not job.job.is_over:
        return ExecutionResultAnswer(QueueStatus("IN_PROGRESS"))
    error = job.job.error
    sets = [v for by_subtask in job.details.metrics.values() for v in by_subtask.values()]
    result = ExecutionResult(
        job.id,
        _APPLICATION_STATUS.get(job.job.status, "UNKNOWN"),
        max(0, job.end - job.job.created),
        {accumulator.name: accumulator.value for accumulator in totals(sets)},
        {"class": "Exception", "stack-trace": error} if error else None,
    )
    return ExecutionResultAnswer(QueueStatus("COMPLETED"), result)


VERTEX = "/jobs/{jobid}/vertices/{vertexid}"
ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/accumulators",
        get_job_accumulators,
        "The accumulators of a job, summed over its subtasks.",
        JobAccumulators,
        query=(QueryParameter("includeSerializedValue", bool, "accepted, without effect"),),
    ),
    ApiRoute(
        "GET",
        f"{VERTEX}/accumulators",
        get_vertex_accumulators,
        "The accumulators of a vertex, summed over its subtasks.",
        VertexAccumulators,
    ),
    ApiRoute(
        "GET",
        f"{VERTEX}/subtasks/accumulators",
        get_subtask_accumulators,
        "The accumulators of each subtask.",
        AllSubtaskAccumulators,
    ),
    ApiRoute(
        "GET",
        f"{VERTEX}/subtasks/{{subtaskindex}}/attempts/{{attempt}}/accumulators",
        get_attempt_accumulators,
        "The accumulators of a subtask's newest attempt.",
        AttemptAccumulators,
    ),
    ApiRoute(
        "GET",
        "/jobs/{jobid}/execution-result",
        get_execution_result,
        "The result of a job that has ended.",
        ExecutionResultAnswer,
    ),
)
