"""The metrics of workers, summed over the subtasks of each worker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.metrics.job_metrics import TASK
from millrace.server.api_route import ApiRequest, ApiRoute, QueryParameter
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob
from millrace.server.resources.metrics import (
    AGG,
    GET,
    AggregatedMetric,
    MetricValue,
    aggregated,
    selected,
)
from millrace.server.resources.taskmanagers import found_worker

__all__ = ["ROUTES", "worker_metrics"]

SUMMED = frozenset(
    {
        "numRecordsIn", "numRecordsOut", "numRecordsInPerSecond", "numRecordsOutPerSecond",
        "numBytesIn", "numBytesOut", "numBytesInPerSecond", "numBytesOutPerSecond",
        "busyTimeMsPerSecond", "backPressuredTimeMsPerSecond", "lastEpochTimeMs", "stateSize",
        "accumulateBusyTimeMs", "accumulateBackPressuredTimeMs",
    }
)  # fmt: skip
"""A worker runs one subtask after the other: at 1000 ms of busy time per second it does nothing
else."""


def worker_metrics(jobs: Iterable[ObservedJob]) -> dict[str, dict[str, Any]]:
    """Metrics per worker, over its subtasks of running jobs: sums, and the lowest watermark."""
    by_worker: dict[str, dict[str, Any]] = {}
    for job in (job for job in jobs if job.is_running):
        for measurement in job.measurements():
            worker = measurement.scope.variables.get("<tm_id>")
            if (
                measurement.scope.logical != TASK
                or worker is None
                or isinstance(measurement.value, str)
            ):
                continue
            values = by_worker.setdefault(worker, {})
            if measurement.name in SUMMED:
                values[measurement.name] = values.get(measurement.name, 0) + measurement.value
            elif measurement.name == "currentInputWatermark":
                values[measurement.name] = min(
                    values.get(measurement.name, measurement.value), measurement.value
                )
    return by_worker


def get_worker_metrics(server: JobServer, request: ApiRequest) -> list[MetricValue]:
    """Answer ``GET /taskmanagers/:taskmanagerid/metrics``."""
    worker = found_worker(server, request)
    values = worker_metrics(worker.jobs).get(worker.id, {})
    return selected(values, request.query.get("get"))


def get_all_workers_metrics(server: JobServer, request: ApiRequest) -> list[AggregatedMetric]:
    """Answer ``GET /taskmanagers/metrics``."""
    chosen = request.query.get("taskmanagers")
    wanted = None if chosen is None else chosen.split(",")
    by_worker = worker_metrics(server.all_observed())
    sets = [values for id, values in by_worker.items() if wanted is None or id in wanted]
    return aggregated(sets, request.query.get("get"), request.query.get("agg"))


ROUTES = (
    ApiRoute(
        "GET",
        "/taskmanagers/metrics",
        get_all_workers_metrics,
        "Metrics over workers.",
        list[AggregatedMetric],
        query=(GET, AGG, QueryParameter("taskmanagers", description="ids, separated by commas")),
    ),
    ApiRoute(
        "GET",
        "/taskmanagers/{taskmanagerid}/metrics",
        get_worker_metrics,
        "Metrics of a worker, summed over its subtasks.",
        list[MetricValue],
        query=(GET,),
    ),
)
