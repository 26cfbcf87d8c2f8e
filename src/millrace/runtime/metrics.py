"""Metrics that user functions register; each epoch's acknowledgement carries their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.metrics import Counter, Distribution, Meter, MetricGroup


class _Counter(Counter):
    def __init__(self) -> None:
        self.count = 0

    def inc(self, n: int = 1) -> None:
        self.count += n

    def dec(self, n: int = 1) -> None:
        self.count -= n

    def get_count(self) -> int:
        return self.count


class _Meter(Meter):
    def __init__(self) -> None:
        self.count = 0

    def mark_event(self, value: int = 1) -> None:
        self.count += value

    def get_count(self) -> int:
        return self.count


class _Distribution(Distribution):
    def __init__(self) -> None:
        self.count = self.total = 0
        self.low: int | None = None
        self.high: int | None = None

    def update(self, value: int) -> None:
        self.count += 1
        self.total += value
        self.low = value if self.low is None else min(self.low, value)
        self.high = value if self.high is None else max(self.high, value)


class MetricRegistry:
    """All the metrics of one operator in one subtask, by full name."""

    def __init__(self) -> None:
        self.metrics: dict[str, Any] = {}
        self._told: dict[str, int] = {}

    def counts(self) -> dict[str, int]:
        """What counters and meters have counted since this was last asked. The engine adds it up,
        so that it does not matter which worker counted."""
        now = {n: m.count for n, m in self.metrics.items() if isinstance(m, (_Counter, _Meter))}
        counted = {name: count - self._told.get(name, 0) for name, count in now.items()}
        self._told = now
        return counted

    def values(self) -> dict[str, Any]:
        """The present values of gauges and distributions as plain data."""
        return {
            name: _value(metric)
            for name, metric in self.metrics.items()
            if not isinstance(metric, (_Counter, _Meter))
        }


def _value(metric: Any) -> Any:
    if isinstance(metric, _Distribution):
        return {
            "count": metric.count, "sum": metric.total, "min": metric.low, "max": metric.high,
        }  # fmt: skip
    return metric()


class RegisteredGroup(MetricGroup):
    """A metric group that registers what is created in it."""

    def __init__(self, registry: MetricRegistry, prefix: str = "") -> None:
        self._registry = registry
        self._prefix = prefix

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        path = f"{self._prefix}{name}." + (f"{extra}." if extra else "")
        return RegisteredGroup(self._registry, path)

    def counter(self, name: str) -> Counter:
        metric: Counter = self._register(name, _Counter())
        return metric

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        self._register(name, obj)

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        metric: Meter = self._register(name, _Meter())
        return metric

    def distribution(self, name: str) -> Distribution:
        metric: Distribution = self._register(name, _Distribution())
        return metric

    def _register(self, name: str, metric: Any) -> Any:
        return self._registry.metrics.setdefault(self._prefix + name, metric)
