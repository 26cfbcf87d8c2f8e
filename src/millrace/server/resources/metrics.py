"""Metrics of jobs and vertices by Flink's names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from millrace.metrics.job_metrics import JOB, JOB_OPERATOR
from millrace.metrics.measurement import Measurement, MetricKind, numbers
from millrace.server.api_route import ApiError, ApiRequest, ApiRoute, QueryParameter
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob, ObservedVertex

__all__ = ["ROUTES", "aggregated", "job_metrics", "selected", "vertex_metrics"]

AGGREGATES: Mapping[str, Callable[[list[float]], float]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "avg": lambda values: sum(values) / len(values),
}
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
"""Characters that an operator's name loses in a metric's name, as in Flink's reporters."""
GET = QueryParameter("get", description="names of metrics, separated by commas; none: all names")
AGG = QueryParameter("agg", description="of min, max, sum, avg, separated by commas; none: all")


class MetricValue(msgspec.Struct, frozen=True, omit_defaults=True):
    """A metric. Its value is included only if the request names the metric."""

    id: str
    value: str | None = None


class AggregatedMetric(msgspec.Struct, frozen=True, omit_defaults=True):
    """A metric aggregated over several subtasks or jobs. Its figures are included only if the
    request names the metric.
    """

    id: str
    min: float | None = None
    max: float | None = None
    avg: float | None = None
    sum: float | None = None


Values = Mapping[str, Any]
_RESTARTS = ("numRestarts", "fullRestarts")


def job_metrics(job: ObservedJob) -> dict[str, Any]:
    """The metrics of a job by Flink's names."""
    values: dict[str, Any] = {}
    for measurement in job.measurements():
        if measurement.scope.logical == JOB:
            values.update(_values(measurement.name, measurement, job))
    # its process knows of no earlier ones
    return {**values, **{name: job.restarts for name in _RESTARTS if name in values}}


def subtask_metrics(job: ObservedJob, vertex: ObservedVertex) -> list[dict[str, Any]]:
    """The metrics of each subtask, its operators and their functions."""
    by_subtask: list[dict[str, Any]] = [{} for _ in vertex.subtasks]
    for measurement in job.measurements():
        variables = measurement.scope.variables
        if variables.get("<task_id>") == vertex.uid and "<subtask_index>" in variables:
            values = _values(_name(measurement), measurement, job)
            by_subtask[int(variables["<subtask_index>"])].update(values)
    return by_subtask


def coordinator_metrics(job: ObservedJob, vertex: ObservedVertex) -> dict[str, Any]:
    """The metrics of a vertex's enumerators and committers, which run in the driver."""
    values: dict[str, Any] = {}
    for measurement in job.measurements():
        variables = measurement.scope.variables
        if measurement.scope.logical == JOB_OPERATOR and variables.get("<task_id>") == vertex.uid:
            values.update(_values(_name(measurement), measurement, job))
    return values


def _name(measurement: Measurement) -> str:
    operator = measurement.scope.variables.get("<operator_name>")
    if operator is None:
        return measurement.name
    return f"{_NO_NAME.sub('_', operator)}.{measurement.name}"


def _values(name: str, measurement: Measurement, job: ObservedJob) -> dict[str, Any]:
    if isinstance(measurement.value, str):
        return {name: measurement.value}
    if measurement.kind is MetricKind.METER and not job.is_running:
        return {name: 0.0}
    return {name + suffix.replace(".", "_"): value for suffix, value in numbers(measurement)}


def vertex_metrics(job: ObservedJob, vertex: ObservedVertex) -> dict[str, Any]:
    """The metrics of a vertex; names of subtask metrics begin with the subtask's number and a
    dot."""
    return {
        f"{index}.{name}": value
        for index, values in enumerate(subtask_metrics(job, vertex))
        for name, value in values.items()
    }


def selected(values: Values, wanted: str | None) -> list[MetricValue]:
    """The names of all metrics. If the request names metrics, their values instead."""
    if wanted is None:
        return [MetricValue(name) for name in sorted(values)]
    names = [name for name in wanted.split(",") if name in values]
    return [MetricValue(name, _text(values[name])) for name in names]


def aggregated(
    sets: Iterable[Values], wanted: str | None, aggregates: str | None
) -> list[AggregatedMetric]:
    """The names of all metrics. If the request names metrics, the aggregates of their values over
    several sets instead.

    Raises:
        ApiError: 400 if a requested aggregate does not exist.
    """
    known = list(sets)
    numbers: dict[str, list[float]] = {}
    for values in known:
        for name, value in values.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                numbers.setdefault(name, []).append(value)
    if wanted is None:
        return [AggregatedMetric(name) for name in sorted(numbers)]
    chosen = list(AGGREGATES) if aggregates is None else aggregates.split(",")
    unknown = [name for name in chosen if name not in AGGREGATES]
    if unknown:
        raise ApiError(400, f"agg takes {', '.join(AGGREGATES)}, not {unknown[0][:40]!r}")
    return [
        AggregatedMetric(
            name, **{aggregate: float(AGGREGATES[aggregate](numbers[name])) for aggregate in chosen}
        )
        for name in wanted.split(",")
        if name in numbers
    ]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=repr).decode()


def _chosen(items: Sequence[Any], numbers: str | None, what: str) -> list[Any]:
    """The items at some positions, which may be ranges such as 1-3."""
    if numbers is None:
        return list(items)
    chosen: set[int] = set()
    for part in numbers.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part, re.ASCII)
        if match is None:
            raise ApiError(400, f"{what} must be numbers or ranges such as 1-3, not {part[:40]!r}")
        last = min(int(match[2] or match[1]), len(items) - 1)
        chosen.update(range(int(match[1]), last + 1))
    return [items[index] for index in sorted(chosen)]


def get_job_metrics(server: JobServer, request: ApiRequest) -> list[MetricValue]:
    """Answer ``GET /jobs/:jobid/metrics``."""
    return selected(job_metrics(server.observed(request)), request.query.get("get"))


def get_all_jobs_metrics(server: JobServer, request: ApiRequest) -> list[AggregatedMetric]:
    """Answer ``GET /jobs/metrics``."""
    ids = request.query.get("jobs")
    wanted = None if ids is None else ids.split(",")
    jobs = [job for job in server.all_observed() if wanted is None or job.id in wanted]
    sets = [job_metrics(job) for job in jobs]
    return aggregated(sets, request.query.get("get"), request.query.get("agg"))


def get_vertex_metrics(server: JobServer, request: ApiRequest) -> list[MetricValue]:
    """Answer ``GET /jobs/:jobid/vertices/:vertexid/metrics``."""
    return selected(vertex_metrics(*server.observed_vertex(request)), request.query.get("get"))


def get_coordinator_metrics(server: JobServer, request: ApiRequest) -> list[MetricValue]:
    """Answer ``GET /jobs/:jobid/vertices/:vertexid/jm-operator-metrics``."""
    return selected(coordinator_metrics(*server.observed_vertex(request)), request.query.get("get"))


def get_subtasks_metrics(server: JobServer, request: ApiRequest) -> list[AggregatedMetric]:
    """Answer ``GET /jobs/:jobid/vertices/:vertexid/subtasks/metrics``."""
    sets = subtask_metrics(*server.observed_vertex(request))
    query = request.query
    chosen = _chosen(sets, query.get("subtasks"), "subtasks")
    return aggregated(chosen, query.get("get"), query.get("agg"))


def get_subtask_metrics(server: JobServer, request: ApiRequest) -> list[MetricValue]:
    """Answer ``GET /jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex/metrics``."""
    sets = subtask_metrics(*server.observed_vertex(request))
    index = request.path["subtaskindex"]
    if not (index.isascii() and index.isdigit() and len(index) < 10) or int(index) >= len(sets):
        raise ApiError(404, f"there is no subtask {index[:40]}")
    return selected(sets[int(index)], request.query.get("get"))


VERTEX = "/jobs/{jobid}/vertices/{vertexid}"
ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/metrics",
        get_all_jobs_metrics,
        "Metrics over jobs.",
        list[AggregatedMetric],
        query=(GET, AGG, QueryParameter("jobs", description="ids, separated by commas")),
    ),
    ApiRoute(
        "GET",
        "/jobs/{jobid}/metrics",
        get_job_metrics,
        "Metrics of a job.",
        list[MetricValue],
        query=(GET,),
    ),
    ApiRoute(
        "GET",
        f"{VERTEX}/metrics",
        get_vertex_metrics,
        "Metrics of a vertex, per subtask.",
        list[MetricValue],
        query=(GET,),
    ),
    ApiRoute(
        "GET",
        f"{VERTEX}/jm-operator-metrics",
        get_coordinator_metrics,
        "Metrics of a vertex's enumerators and committers, which run in the driver.",
        list[MetricValue],
        query=(GET,),
    ),
    ApiRoute(
        "GET",
        f"{VERTEX}/subtasks/metrics",
        get_subtasks_metrics,
        "Metrics over the subtasks of a vertex.",
        list[AggregatedMetric],
        query=(GET, AGG, QueryParameter("subtasks", description="numbers or ranges, as 0,2-4")),
    ),
    ApiRoute(
        "GET",
        f"{VERTEX}/subtasks/{{subtaskindex}}/metrics",
        get_subtask_metrics,
        "Metrics of a subtask.",
        list[MetricValue],
        query=(GET,),
    ),
)
