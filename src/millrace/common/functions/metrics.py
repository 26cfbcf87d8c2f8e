"""The interface through which functions report metrics (Flink docs, "Metrics")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

__all__ = [
    "Counter",
    "Distribution",
    "Meter",
    "Metric",
    "MetricGroup",
    "UnregisteredMetricGroup",
]


class Metric:
    """Base of all metrics."""


class Counter(Metric):
    """A number that goes up and down."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Add ``n``."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Subtract ``n``."""

    @abstractmethod
    def get_count(self) -> int:
        """The current count of this subtask."""


class Meter(Metric):
    """Rate of events per second."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Count ``value`` events."""

    @abstractmethod
    def get_count(self) -> int:
        """All events counted so far by this subtask."""


class Distribution(Metric):
    """Sum, count, minimum and maximum of reported values."""

    @abstractmethod
    def update(self, value: int) -> None:
        """Report one value."""


class MetricGroup(ABC):
    """Factory of metrics; the same name gives the same metric."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """A group inside this one; with ``extra``, a group of the pair (key, value)."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """The counter with the given name."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Register a gauge. Its value is the result of ``obj()`` whenever metrics are collected."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """The meter with the given name, averaged over a number of seconds."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """The distribution with the given name."""


class _UnregisteredMetric(Counter, Meter, Distribution):
    """A metric that no reporter sees, for example because it was made before ``open``."""

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        self._count += n

    def dec(self, n: int = 1) -> None:
        self._count -= n

    def mark_event(self, value: int = 1) -> None:
        self._count += value

    def update(self, value: int) -> None:
        self._count += 1

    def get_count(self) -> int:
        return self._count


class UnregisteredMetricGroup(MetricGroup):
    """Group of metrics that are not collected, for connectors without a job, as in tests.

    Flink: ``UnregisteredMetricsGroup``.
    """

    def __init__(self) -> None:
        self._metrics: dict[str, _UnregisteredMetric] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        return UnregisteredMetricGroup()

    def counter(self, name: str) -> Counter:
        return self._metric(name)

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        pass

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        return self._metric(name)

    def distribution(self, name: str) -> Distribution:
        return self._metric(name)

    def _metric(self, name: str) -> _UnregisteredMetric:
        return self._metrics.setdefault(name, _UnregisteredMetric())
