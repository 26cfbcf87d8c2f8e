"""Measurements: values of metrics at one moment, with their scopes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import isfinite
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["HistogramValue", "Measurement", "MetricKind", "MetricScope", "numbers"]


class MetricKind(Enum):
    """Kind of a metric, in the words of filters."""

    COUNTER = "counter"
    GAUGE = "gauge"
    METER = "meter"
    """A rate per second."""
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class HistogramValue:
    """Figures of a histogram or a distribution."""

    count: int
    sum: float
    min: float | None = None
    max: float | None = None
    quantiles: Mapping[float, float] = field(default_factory=dict)
    """Values by share: at 0.99, for example, 99 % of the values are not greater."""


@dataclass(frozen=True, slots=True)
class MetricScope:
    """Scope of a metric (Flink docs, "Metrics", "Scope").

    Example:
        >>> scope = MetricScope("jobmanager.job", {"<host>": "localhost", "<job_name>": "count"})
        >>> scope.logical
        'jobmanager.job'
    """

    logical: str
    """Logical scope for filters and Prometheus: jobmanager, jobmanager.job, taskmanager.job.task,
    ..."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Names in angle brackets, and their values."""


class Measurement(NamedTuple):
    """The value of one metric."""

    scope: MetricScope
    name: str
    """With the user's groups before it, such as ``kafka.topic.orders.lag``."""
    kind: MetricKind
    value: float | str | HistogramValue
    logical_name: str
    """Name without the values of the user's variables: ``kafka.topic.lag``."""
    variables: Mapping[str, str] = MappingProxyType({})
    """The user's: ``<topic>``, for example."""


def numbers(measurement: Measurement) -> Iterator[tuple[str, float]]:
    """The finite numbers in a measurement, for reporters that take only numbers; texts have none.

    Returns:
        What to put behind the name of the metric, and the number.
    """
    suffixed = _numbers(measurement.value)
    yield from ((suffix, number) for suffix, number in suffixed if isfinite(number))


def _numbers(value: float | str | HistogramValue) -> Iterator[tuple[str, float]]:
    if isinstance(value, HistogramValue):
        yield ".count", value.count
        if value.count:
            yield ".mean", value.sum / value.count
        limits = (("min", value.min), ("max", value.max))
        yield from ((f".{name}", limit) for name, limit in limits if limit is not None)
        yield from ((f".p{share * 100:g}", v) for share, v in value.quantiles.items())
    elif not isinstance(value, str):
        yield "", value
