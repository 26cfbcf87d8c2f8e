"""Metrics that user functions register. Each epoch's acknowledgement carries their values."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from millrace.common.functions.metrics import Counter, Distribution, Meter, Metric, MetricGroup


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of the values reported to a distribution."""

    count: int = 0
    sum: int = 0
    min: int | None = None
    max: int | None = None

    def plus(self, other: Summary) -> Summary:
        """Summary of the values of two summaries."""
        low = [value for value in (self.min, other.min) if value is not None]
        high = [value for value in (self.max, other.max) if value is not None]
        return Summary(
            self.count + other.count,
            self.sum + other.sum,
            min(low, default=None),
            max(high, default=None),
        )


class MetricDescription(NamedTuple):
    """Description of a registered metric. Its values are sent without the description."""

    kind: str
    """Kind: counter, gauge, meter or histogram (a distribution), as in the filters of reporters."""
    name: str
    """Name with its groups. Of a pair (key, value) of groups it has only the key."""
    variables: Mapping[str, str] = {}
    """Pairs among the groups, as ``<key>`` and value."""
    span: int = 60
    """Seconds over which a meter computes its rate."""


class EventCounter(Counter):
    """Number of events. Operators add to `count` directly."""

    def __init__(self) -> None:
        self.count = 0

    def inc(self, n: int = 1) -> None:
        self.count += n

    def dec(self, n: int = 1) -> None:
        self.count -= n

    def get_count(self) -> int:
        return self.count


class _Meter(Meter):
    def __init__(self, span: int = 60) -> None:
        self.count = 0
        self.span = span

    def mark_event(self, value: int = 1) -> None:
        self.count += value

    def get_count(self) -> int:
        return self.count


class CounterRate(Meter):
    """Rate of a counter's increments. It adds no cost to the counting (Flink: ``MeterView``)."""

    def __init__(self, counter: Counter, span: int = 60) -> None:
        self._counter = counter
        self.span = span

    def mark_event(self, value: int = 1) -> None:
        self._counter.inc(value)

    def get_count(self) -> int:
        return self._counter.get_count()


SHARES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
"""Shares of the quantiles of histograms, as in Flink."""


def quantiles_of(ordered: Sequence[float]) -> dict[float, float]:
    """Quantiles of values in ascending order, by share; empty if there is no value."""
    last = len(ordered) - 1
    if last < 0:
        return {}
    return {share: ordered[min(int(share * len(ordered)), last)] for share in SHARES}


class RecentValues(Metric):
    """Histogram whose quantiles are those of the last values (Flink:
    ``DescriptiveStatisticsHistogram``)."""

    def __init__(self, most: int = 1024) -> None:
        self._recent: deque[float] = deque(maxlen=most)
        self._count = 0
        self._total = 0.0

    def update(self, value: float) -> None:
        """Report one value."""
        self._count += 1
        self._total += value
        self._recent.append(value)

    def __call__(self) -> dict[str, Any]:
        """Count and sum of all values, and least, greatest and quantiles of the last ones."""
        ordered = sorted(self._recent)
        return {
            "count": self._count,
            "sum": self._total,
            "min": ordered[0] if ordered else None,
            "max": ordered[-1] if ordered else None,
            "quantiles": {str(share): value for share, value in quantiles_of(ordered).items()},
        }


class _Distribution(Distribution):
    def __init__(self) -> None:
        self._before = Summary()
        self._forget()

    def _forget(self) -> None:
        self._count = self._total = 0
        self._low: int | None = None
        self._high: int | None = None

    def update(self, value: int) -> None:
        self._count += 1
        self._total += value
        self._low = value if self._low is None else min(self._low, value)
        self._high = value if self._high is None else max(self._high, value)

    def fresh(self) -> Summary:
        """Summary of the values reported since `take` was last called."""
        return Summary(self._count, self._total, self._low, self._high)

    def all(self) -> Summary:
        """Summary of the values reported since the start."""
        return self._before.plus(self.fresh())

    def take(self) -> Summary:
        """Summary of the values reported since the last call."""
        taken = self.fresh()
        self._before = self._before.plus(taken)
        self._forget()
        return taken


class MetricRegistry:
    """All metrics of one operator in one subtask, by full name."""

    def __init__(self) -> None:
        self.metrics: dict[str, Any] = {}
        self._told: dict[str, int] = {}
        self._new: dict[str, MetricDescription] = {}

    def register(self, path: str, metric: Any, name: str, variables: Mapping[str, str]) -> Any:
        """Add a metric unless one with the same full name exists, and return the registered one."""
        if path not in self.metrics:
            self.metrics[path] = metric
            span = metric.span if isinstance(metric, (_Meter, CounterRate)) else 60
            self._new[path] = MetricDescription(_kind(metric), name, dict(variables), span)
        return self.metrics[path]

    def descriptions(self) -> dict[str, MetricDescription]:
        """Descriptions of the metrics that were registered since the last call."""
        new, self._new = self._new, {}
        return new

    def counts(self) -> dict[str, int]:
        """Increments of counters and meters since the last call. The engine adds up the increments,
        so they may come from any worker.
        """
        now = {n: m.get_count() for n, m in self.metrics.items() if isinstance(m, _COUNTED)}
        counted = {name: count - self._told.get(name, 0) for name, count in now.items()}
        self._told = now
        return counted

    def values(self) -> dict[str, Any]:
        """Current values of gauges and distributions, as plain data."""
        return {
            name: asdict(metric.all()) if isinstance(metric, _Distribution) else metric()
            for name, metric in self.metrics.items()
            if not isinstance(metric, _COUNTED)
        }

    def news(self) -> dict[str, Any]:
        """Current values of gauges, and summaries of the values reported to distributions since the
        last call. The engine combines the summaries as it adds up counts.
        """
        taken = {n: m.take() for n, m in self.metrics.items() if isinstance(m, _Distribution)}
        return {**self.values(), **taken}


_COUNTED = (EventCounter, _Meter, CounterRate)
"""Metrics whose increments are reported."""


def _kind(metric: Any) -> str:
    if isinstance(metric, EventCounter):
        return "counter"
    if isinstance(metric, (_Meter, CounterRate)):
        return "meter"
    return "histogram" if isinstance(metric, (_Distribution, RecentValues)) else "gauge"


class RegisteredGroup(MetricGroup):
    """A metric group that registers the metrics created in it."""

    def __init__(
        self,
        registry: MetricRegistry,
        prefix: str = "",
        logical: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._registry = registry
        self._prefix = prefix
        self._logical = logical
        """Prefix with only the key of each pair (key, value) of groups."""
        self._variables = variables or {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        path, logical = f"{self._prefix}{name}.", f"{self._logical}{name}."
        if not extra:
            return RegisteredGroup(self._registry, path, logical, self._variables)
        variables = {**self._variables, f"<{name}>": extra}
        return RegisteredGroup(self._registry, f"{path}{extra}.", logical, variables)

    def counter(self, name: str) -> Counter:
        metric: Counter = self._register(name, EventCounter())
        return metric

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        self._register(name, obj)

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        metric: Meter = self._register(name, _Meter(time_span_in_seconds))
        return metric

    def distribution(self, name: str) -> Distribution:
        metric: Distribution = self._register(name, _Distribution())
        return metric

    def _register(self, name: str, metric: Any) -> Any:
        logical = self._logical + name
        return self._registry.register(self._prefix + name, metric, logical, self._variables)
