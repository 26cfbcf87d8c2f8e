"""Stateful Functions of a job: figures per function type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from millrace.metrics.measurement import HistogramValue
from millrace.server.api_route import ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob

__all__ = ["ROUTES", "FunctionFigures", "function_figures", "has_functions"]

_NAMESPACE, _NAME = "<function_namespace>", "<function_name>"
_LATENCIES = ("function.remoteInvocationLatency", "function.invocationLatency")


class LatencyFigures(msgspec.Struct, frozen=True):
    """Milliseconds of the last invocations, in the slowest subtask; None if there were none."""

    p50: float | None = None
    p99: float | None = None
    max: float | None = None


class FunctionFigures(msgspec.Struct, frozen=True, rename="kebab"):
    """Figures of a function type over all subtasks, since the start of the job's process."""

    namespace: str
    name: str
    endpoint: str
    """URL, or ``embedded`` if the function runs in the workers."""
    messages: int
    """Messages that the function has handled."""
    messages_per_second: float
    latency_ms: LatencyFigures
    backlog: int
    """Messages that wait for the function, without those in flight."""
    blocked_addresses: int
    """Addresses with more waiting messages than one invocation takes."""
    in_flight: int
    """Invocations that have not ended."""
    failures: int
    """Failed attempts to call the endpoint."""
    failures_per_second: float
    sent_local: int
    """Messages to functions of the same subtask."""
    sent_remote: int
    """Messages to functions of other subtasks."""
    sent_egress: int
    """Records for egresses."""
    addresses: int
    """Addresses with state, estimated if there are many."""
    state_bytes: int
    """Bytes of all values, estimated if there are many."""


class FunctionsAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/jobs/:jobid/functions``."""

    functions: list[FunctionFigures]


def has_functions(job: ObservedJob) -> bool:
    """Whether the job has Stateful Functions that have been invoked."""
    described = job.details.described.values()
    return any(_NAME in metric.variables for metrics in described for metric in metrics.values())


def function_figures(job: ObservedJob) -> list[FunctionFigures]:
    """Figures of all functions that have been invoked, by name."""
    values_of: dict[tuple[str, str], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for measurement in job.measurements():
        if _NAME in measurement.variables:
            function = measurement.variables[_NAMESPACE], measurement.variables[_NAME]
            values_of[function][measurement.logical_name].append(measurement.value)
    return [
        _figures(*function, values_of[function], job.is_running) for function in sorted(values_of)
    ]


def _figures(
    namespace: str, name: str, values: Mapping[str, Sequence[Any]], runs: bool
) -> FunctionFigures:
    def total(metric: str) -> Any:
        return sum(values.get(f"function.{metric}", ()))

    def now(metric: str) -> Any:
        return total(metric) if runs else 0

    endpoints = values.get("function.endpoint", ())
    return FunctionFigures(
        namespace=namespace,
        name=name,
        endpoint=", ".join(sorted(set(endpoints))),
        messages=total("in"),
        messages_per_second=now("inRate"),
        latency_ms=_latency(
            [histogram for known in _LATENCIES for histogram in values.get(known, ())]
        ),
        backlog=now("numBacklog"),
        blocked_addresses=now("numBlockedAddress"),
        in_flight=now("inflightAsyncOps"),
        failures=total("remoteInvocationFailures"),
        failures_per_second=now("remoteInvocationFailuresRate"),
        sent_local=total("outLocal"),
        sent_remote=total("outRemote"),
        sent_egress=total("outEgress"),
        addresses=total("numAddresses"),
        state_bytes=total("stateSize"),
    )


def _latency(histograms: Sequence[HistogramValue]) -> LatencyFigures:
    measured = [histogram for histogram in histograms if histogram.count]
    if not measured:
        return LatencyFigures()
    p50, p99 = (
        max(histogram.quantiles.get(share, 0.0) for histogram in measured) for share in (0.5, 0.99)
    )
    return LatencyFigures(p50, p99, max(histogram.max or 0.0 for histogram in measured))


def get_functions(server: JobServer, request: ApiRequest) -> FunctionsAnswer:
    """Answer ``GET /jobs/:jobid/functions``."""
    return FunctionsAnswer(function_figures(server.observed(request)))


ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/functions",
        get_functions,
        "The Stateful Functions of a job, with figures of each type.",
        FunctionsAnswer,
    ),
)
