"""The metrics of the server and of all its jobs, for Prometheus."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from itertools import chain

from millrace.common.config.configuration import Configuration
from millrace.common.installation import missing_package
from millrace.metrics.measurement import Measurement, MetricKind, MetricScope
from millrace.metrics.reporter_settings import ReporterSettings
from millrace.metrics.reporters.prometheus_families import collector_of
from millrace.server.api_route import ApiError, ApiReply, ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob
from millrace.server.resources.cluster import cluster_overview

__all__ = ["ROUTES", "exposition", "job_measurements", "server_measurements"]

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def job_measurements(jobs: Iterable[ObservedJob]) -> Iterator[Measurement]:
    """The metrics of all jobs that have not ended."""
    for job in jobs:
        if job.job.is_over:
            continue
        for measurement in job.measurements():
            # the job's process counts from its own start
            is_count = measurement.name == "numRestarts"
            yield measurement._replace(value=job.restarts) if is_count else measurement


def server_measurements(server: JobServer, jobs: Iterable[ObservedJob]) -> Iterator[Measurement]:
    """The metrics of the server itself, under Flink's names where Flink has them."""
    overview = cluster_overview(jobs)
    leadership, webhooks = server.leadership, server.alerts.webhooks
    scope = MetricScope("jobmanager", {"<host>": socket.gethostname()})
    for name, value in (
        ("numRunningJobs", overview.jobs_running),
        ("numFinishedJobs", overview.jobs_finished),
        ("numCancelledJobs", overview.jobs_cancelled),
        ("numFailedJobs", overview.jobs_failed),
        ("numRegisteredTaskManagers", overview.taskmanagers),
        ("taskSlotsTotal", overview.slots_total),
        ("isLeader", int(leadership is None or leadership.token() is not None)),
        ("numAlertsSent", sum(webhook.sent for webhook in webhooks)),
        ("numAlertsLost", sum(webhook.lost for webhook in webhooks)),
    ):
        yield Measurement(scope, name, MetricKind.GAUGE, value, name)
    yield from server.process_metrics.all()


def exposition(measurements: Iterable[Measurement]) -> str:
    """Measurements in Prometheus' text format.

    Raises:
        ModuleNotFoundError: prometheus_client is not installed.
    """
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(collector_of(measurements, ReporterSettings("server", Configuration())))
    return generate_latest(registry).decode()


def get_metrics(server: JobServer, request: ApiRequest) -> ApiReply:
    """Answer ``GET /metrics``."""
    jobs = server.all_observed()
    measurements = chain(server_measurements(server, jobs), job_measurements(jobs))
    try:
        return ApiReply(exposition(measurements), media_type=MEDIA_TYPE)
    except ModuleNotFoundError as error:
        sentence = missing_package("/metrics needs", error.name, "server")
        raise ApiError(501, sentence) from None


ROUTES = (
    ApiRoute(
        "GET",
        "/metrics",
        get_metrics,
        "Metrics of the server and of all jobs that have not ended, in the text format of "
        "Prometheus.",
        str,
    ),
)
