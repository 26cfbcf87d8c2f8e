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
    """Events per second."""

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
    """Creates metrics; asking twice for the same name gives the same metric."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """A group inside this one; with ``extra``, a group of the pair (key, value)."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """A counter of that name."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Report whatever ``obj()`` returns whenever metrics are collected."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """A meter of that name, averaged over that many seconds."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """A distribution of that name."""


class _UnregisteredMetric(Counter, Meter, Distribution):
    """A metric that no reporter sees, such as before ``open``."""

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
    """Metrics that nobody collects, where a connector is used without a job, as in its tests.

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
