"""Figures of Stateful Functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gallery
import msgspec
from gallery import NOW, RUNNING

from millrace.common.job import JobStatus
from millrace.common.typed_json import decode_json
from millrace.engine.archived_job import ArchivedJob
from millrace.runtime.metrics import MetricDescription
from millrace.server.observed_job import ObservedJob
from millrace.server.registry import RegisteredJob, Submission
from millrace.server.resources.functions import function_figures, has_functions

PLACE = {"<function_namespace>": "com.example", "<function_name>": "greeter"}
KINDS = {
    "in": "counter",
    "inRate": "meter",
    "outLocal": "counter",
    "outRemote": "counter",
    "outEgress": "counter",
    "remoteInvocationFailures": "counter",
    "remoteInvocationFailuresRate": "meter",
    "remoteInvocationLatency": "histogram",
    "inflightAsyncOps": "gauge",
    "numBacklog": "gauge",
    "numBlockedAddress": "gauge",
    "numAddresses": "gauge",
    "stateSize": "gauge",
    "endpoint": "gauge",
}


def values(p99: float, url: str) -> dict[str, Any]:
    latency = {"count": 9, "sum": 90.0, "min": 1.0, "max": 30.0}
    figures = dict.fromkeys(KINDS, 4)
    quantiles = {"0.5": 7.5, "0.99": p99}
    own = {"remoteInvocationLatency": {**latency, "quantiles": quantiles}, "endpoint": url}
    return {f"com.example.greeter.{name}": value for name, value in {**figures, **own}.items()}


def observed(metrics: Mapping[int, Any], status: JobStatus = JobStatus.RUNNING) -> ObservedJob:
    described = {
        f"com.example.greeter.{name}": MetricDescription(kind, f"function.{name}", PLACE)
        for name, kind in KINDS.items()
    }
    details = replace(
        gallery.details(status), metrics={"source": metrics}, described={"source": described}
    )
    archive = msgspec.structs.replace(gallery.archive(status), details=details)
    job = RegisteredJob(RUNNING, Submission("module.yaml"), status, created=NOW - 1)
    return ObservedJob(job, decode_json(archive.encoded(), ArchivedJob), NOW)


def test_figures_are_those_of_all_subtasks() -> None:
    url = "http://localhost:8000/greeter"
    job = observed({0: values(20.0, url), 1: values(40.0, url)})
    assert has_functions(job)
    (figures,) = function_figures(job)
    assert (figures.namespace, figures.name, figures.endpoint) == ("com.example", "greeter", url)
    assert (figures.messages, figures.backlog, figures.in_flight, figures.failures) == (8, 8, 8, 8)
    assert (figures.sent_local, figures.sent_remote, figures.sent_egress) == (8, 8, 8)
    assert (figures.addresses, figures.state_bytes, figures.blocked_addresses) == (8, 8, 8)
    latency = figures.latency_ms
    assert (latency.p50, latency.p99, latency.max) == (7.5, 40.0, 30.0)  # of the slowest


def test_a_job_that_has_ended_has_no_backlog() -> None:
    (figures,) = function_figures(observed({0: values(20.0, "embedded")}, JobStatus.FINISHED))
    assert (figures.backlog, figures.in_flight, figures.messages_per_second) == (0, 0, 0)
    assert (figures.messages, figures.endpoint) == (4, "embedded")


def test_a_job_without_functions_has_none(api) -> None:
    assert api.get(f"/jobs/{RUNNING}/functions").json() == {"functions": []}
    assert api.get(f"/jobs/{RUNNING}").json()["has-functions"] is False
