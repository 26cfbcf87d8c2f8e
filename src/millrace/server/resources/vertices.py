"""The vertices of a job and their subtasks."""

from __future__ import annotations

from typing import Literal

import msgspec

from millrace.common.job import JobStatus
from millrace.engine.job_details import OperatorDetails, SubtaskDetails
from millrace.server.api_route import ApiError, ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob, ObservedVertex
from millrace.server.resources.execution_states import execution_state, state_counts
from millrace.server.resources.vertex_metrics import (
    IOMetrics,
    io_metrics,
    subtask_io_metrics,
    vertex_rates,
)

__all__ = ["ROUTES", "get_attempt", "host_of", "vertex_details"]


_LOW, _HIGH = 0.1, 0.5


class SubtaskAnswer(msgspec.Struct, frozen=True, rename="kebab"):
    """A subtask; its counters began with the run or the last rescaling."""

    subtask: int
    status: str
    attempt: int
    host: str
    endpoint: str
    start_time: int
    end_time: int
    duration: int
    metrics: IOMetrics
    taskmanager_id: str
    status_duration: dict[str, int]
    other_concurrent_attempts: list[str] | None
    watermark: int | None
    records_in_per_second: float
    records_out_per_second: float
    busy_ratio: float
    back_pressured_ratio: float
    state_bytes: int


class VertexOperator(msgspec.Struct, frozen=True, rename="kebab"):
    """An operator of a vertex; its counters began with the run or the last rescaling."""

    uid: str
    name: str
    records_in: int
    """Records that have come to all its subtasks."""
    records_out: int
    watermark: int | None
    """Lowest watermark of its subtasks."""


class VertexAnswer(msgspec.Struct, frozen=True, rename="kebab"):
    """Answer of ``/jobs/:jobid/vertices/:vertexid``."""

    id: str
    uid: str
    name: str
    parallelism: int
    max_parallelism: int = msgspec.field(name="maxParallelism")
    now: int
    subtasks: list[SubtaskAnswer]
    metrics: IOMetrics
    operators: dict[str, str]
    operator_figures: list[VertexOperator]
    records_in_per_second: float | None
    records_out_per_second: float | None
    busy_ratio: float | None
    busy_ratio_median: float | None
    back_pressured_ratio: float | None
    back_pressured_ratio_median: float | None
    skew: float | None
    watermark: int | None
    watermark_lag_ms: int | None


class SubtaskTimes(msgspec.Struct, frozen=True):
    """Times at which a subtask entered each state, in ms."""

    subtask: int
    host: str
    endpoint: str
    duration: int
    timestamps: dict[str, int]


class TimesAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/subtasktimes``."""

    id: str
    name: str
    now: int
    subtasks: list[SubtaskTimes]


class SubtaskWatermark(msgspec.Struct, frozen=True):
    """The watermark of a subtask, under the name of Flink's metric."""

    id: str
    value: str


Level = Literal["ok", "low", "high"]


class SubtaskBackPressure(msgspec.Struct, frozen=True, kw_only=True):
    """Fractions of time in which a subtask is busy, idle and back-pressured."""

    subtask: int
    attempt_number: int = msgspec.field(name="attempt-number", default=0)
    level: Level = msgspec.field(name="backpressureLevel")
    level_dashed: Level = msgspec.field(name="backpressure-level")
    ratio: float
    idle_ratio: float = msgspec.field(name="idleRatio")
    busy_ratio: float = msgspec.field(name="busyRatio")


class BackPressureAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of ``/backpressure``."""

    status: str
    level: Level = msgspec.field(name="backpressureLevel")
    level_dashed: Level = msgspec.field(name="backpressure-level")
    end_timestamp: int = msgspec.field(name="end-timestamp")
    subtasks: list[SubtaskBackPressure]


class TaskManagerShare(msgspec.Struct, frozen=True, rename="kebab"):
    """The subtasks of a vertex in one worker process."""

    host: str
    endpoint: str
    status: str
    start_time: int
    end_time: int
    duration: int
    metrics: IOMetrics
    status_counts: dict[str, int]
    taskmanager_id: str


class TaskManagersAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/vertices/:vertexid/taskmanagers``."""

    id: str
    name: str
    now: int
    taskmanagers: list[TaskManagerShare]


def host_of(worker: str) -> str:
    """Host of a worker that is named host:pid.

    Example:
        >>> host_of("node-1:4711"), host_of("")
        ('node-1', '(unassigned)')
    """
    return worker.rpartition(":")[0] or worker or "(unassigned)"


def vertex_details(job: ObservedJob, vertex: ObservedVertex) -> VertexAnswer:
    """A vertex and its subtasks."""
    rates = vertex_rates(job, vertex)
    return VertexAnswer(
        id=vertex.id,
        uid=vertex.uid,
        name=vertex.name,
        parallelism=vertex.parallelism,
        max_parallelism=job.archive.max_parallelism if job.archive is not None else -1,
        now=job.now,
        subtasks=[_subtask(job, n, subtask) for n, subtask in enumerate(vertex.subtasks)],
        metrics=io_metrics(vertex),
        operators=dict(vertex.details.operators) if vertex.details is not None else {},
        operator_figures=_operator_figures(vertex),
        **msgspec.structs.asdict(rates),
    )


def _operator_figures(vertex: ObservedVertex) -> list[VertexOperator]:
    """Figures of the operators in the order of the chain; none before the first epoch."""
    if vertex.details is None or not any(
        vertex_subtask.operators for vertex_subtask in vertex.subtasks
    ):
        return []
    names = list(vertex.details.operators.items())
    by_operator: list[list[OperatorDetails]] = [[] for _ in names]
    for subtask in vertex.subtasks:
        for told, details in zip(by_operator, subtask.operators, strict=False):
            told.append(details)
    return [
        VertexOperator(
            uid,
            name,
            sum(figures.records_in for figures in told),
            sum(figures.records_out for figures in told),
            min(
                (figures.watermark for figures in told if figures.watermark is not None),
                default=None,
            ),
        )
        for (uid, name), told in zip(names, by_operator, strict=True)
    ]


def _subtask(job: ObservedJob, number: int, subtask: SubtaskDetails) -> SubtaskAnswer:
    begun = _begun(job)
    state = execution_state(job)
    return SubtaskAnswer(
        subtask=number,
        status=state,
        attempt=job.details.restarts,
        host=host_of(subtask.worker),
        endpoint=subtask.worker,
        start_time=begun,
        end_time=_end(job),
        duration=max(0, job.end - begun),
        metrics=subtask_io_metrics(subtask),
        taskmanager_id=subtask.worker or "(unassigned)",
        status_duration={state: max(0, job.end - begun)},
        other_concurrent_attempts=None,
        watermark=subtask.watermark,
        records_in_per_second=subtask.records_in_per_second if job.is_running else 0.0,
        records_out_per_second=subtask.records_out_per_second if job.is_running else 0.0,
        busy_ratio=min(subtask.busy_ms_per_second / 1_000, 1.0) if job.is_running else 0.0,
        back_pressured_ratio=(
            min(subtask.back_pressured_ms_per_second / 1_000, 1.0) if job.is_running else 0.0
        ),
        state_bytes=subtask.state_bytes,
    )


def _begun(job: ObservedJob) -> int:
    return job.details.since.get(JobStatus.RUNNING, job.job.created)


def _end(job: ObservedJob) -> int:
    return -1 if job.job.ended is None else job.job.ended


def _numbered(job: ObservedJob, vertex: ObservedVertex, index: str) -> SubtaskAnswer:
    known = vertex.subtasks
    if not (index.isascii() and index.isdigit() and len(index) < 10) or int(index) >= len(known):
        raise ApiError(404, f"there is no subtask {index[:40]}")
    return _subtask(job, int(index), known[int(index)])


def get_vertex(server: JobServer, request: ApiRequest) -> VertexAnswer:
    """Answer ``GET /jobs/:jobid/vertices/:vertexid``."""
    return vertex_details(*server.observed_vertex(request))


def get_subtask(server: JobServer, request: ApiRequest) -> SubtaskAnswer:
    """Answer ``GET /jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex``."""
    return _numbered(*server.observed_vertex(request), request.path["subtaskindex"])


def get_attempt(server: JobServer, request: ApiRequest) -> SubtaskAnswer:
    """Answer ``GET .../subtasks/:subtaskindex/attempts/:attempt``."""
    subtask = get_subtask(server, request)
    if request.path["attempt"] != str(subtask.attempt):
        raise ApiError(404, f"attempt {request.path['attempt'][:40]} is not the newest one")
    return subtask


def get_times(server: JobServer, request: ApiRequest) -> TimesAnswer:
    """Answer ``GET .../subtasktimes``."""
    job, vertex = server.observed_vertex(request)
    begun = _begun(job)
    stamps = {**state_counts("", 0), "CREATED": job.job.created, "RUNNING": begun}
    if job.job.ended is not None:
        stamps[execution_state(job)] = job.job.ended
    duration = max(0, job.end - begun)
    subtasks = [
        SubtaskTimes(number, host_of(subtask.worker), subtask.worker, duration, stamps)
        for number, subtask in enumerate(vertex.subtasks)
    ]
    return TimesAnswer(vertex.id, vertex.name, job.now, subtasks)


def get_watermarks(server: JobServer, request: ApiRequest) -> list[SubtaskWatermark]:
    """Answer ``GET .../watermarks``."""
    _, vertex = server.observed_vertex(request)
    return [
        SubtaskWatermark(f"{number}.currentInputWatermark", str(subtask.watermark))
        for number, subtask in enumerate(vertex.subtasks)
        if subtask.watermark is not None
    ]


def get_back_pressure(server: JobServer, request: ApiRequest) -> BackPressureAnswer:
    """Answer ``GET .../backpressure``."""
    job, vertex = server.observed_vertex(request)
    subtasks = [_back_pressure(number, subtask) for number, subtask in enumerate(vertex.subtasks)]
    worst = pressure_level(max((subtask.ratio for subtask in subtasks), default=0.0))
    return BackPressureAnswer(
        status="ok" if job.is_running else "deprecated",
        level=worst,
        level_dashed=worst,
        end_timestamp=job.now,
        subtasks=subtasks,
    )


def _back_pressure(number: int, subtask: SubtaskDetails) -> SubtaskBackPressure:
    ratio = min(subtask.back_pressured_ms_per_second / 1_000, 1.0)
    return SubtaskBackPressure(
        subtask=number,
        level=pressure_level(ratio),
        level_dashed=pressure_level(ratio),
        ratio=ratio,
        idle_ratio=subtask.idle_ms_per_second / 1_000,
        busy_ratio=min(subtask.busy_ms_per_second / 1_000, 1.0),
    )


def pressure_level(ratio: float) -> Level:
    """Flink's word for a ratio of back-pressured time.

    Example:
        >>> pressure_level(0.1), pressure_level(0.3), pressure_level(0.9)
        ('ok', 'low', 'high')
    """
    return "ok" if ratio <= _LOW else "low" if ratio <= _HIGH else "high"


def get_task_managers(server: JobServer, request: ApiRequest) -> TaskManagersAnswer:
    """Answer ``GET /jobs/:jobid/vertices/:vertexid/taskmanagers``."""
    job, vertex = server.observed_vertex(request)
    by_worker: dict[str, list[SubtaskDetails]] = {}
    for subtask in vertex.subtasks:
        by_worker.setdefault(subtask.worker, []).append(subtask)
    begun, state = _begun(job), execution_state(job)
    shares = [
        TaskManagerShare(
            host=host_of(worker),
            endpoint=worker,
            status=state,
            start_time=begun,
            end_time=_end(job),
            duration=max(0, job.end - begun),
            metrics=subtask_io_metrics(*subtasks),
            status_counts=state_counts(state, len(subtasks)),
            taskmanager_id=worker or "(unassigned)",
        )
        for worker, subtasks in by_worker.items()
    ]
    return TaskManagersAnswer(vertex.id, vertex.name, job.now, shares)


VERTEX = "/jobs/{jobid}/vertices/{vertexid}"
SUBTASK = f"{VERTEX}/subtasks/{{subtaskindex}}"
ROUTES = (
    ApiRoute("GET", VERTEX, get_vertex, "A vertex and its subtasks.", VertexAnswer),
    ApiRoute("GET", SUBTASK, get_subtask, "A subtask.", SubtaskAnswer),
    ApiRoute(
        "GET", f"{SUBTASK}/attempts/{{attempt}}", get_attempt,
        "The newest attempt of a subtask.", SubtaskAnswer,
    ),
    ApiRoute(
        "GET", f"{VERTEX}/subtasktimes", get_times, "The times at which subtasks began.",
        TimesAnswer,
    ),
    ApiRoute(
        "GET", f"{VERTEX}/watermarks", get_watermarks, "The watermarks of subtasks.",
        list[SubtaskWatermark],
    ),
    ApiRoute(
        "GET", f"{VERTEX}/backpressure", get_back_pressure, "The load of a vertex's subtasks.",
        BackPressureAnswer,
    ),
    ApiRoute(
        "GET", f"{VERTEX}/taskmanagers", get_task_managers, "The worker processes of a vertex.",
        TaskManagersAnswer,
    ),
)  # fmt: skip
