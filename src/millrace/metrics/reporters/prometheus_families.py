"""Measurements as Prometheus families of samples, with the names of Flink's reporter.

``numRecordsIn`` of a subtask is ``flink_taskmanager_job_task_numRecordsIn``: dashboards and alerts
that were made for Flink find it. As there, counters and rates are gauges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from millrace.metrics.measurement import HistogramValue, Measurement, MetricScope
from millrace.metrics.reporter_settings import ReporterSettings
from millrace.metrics.reporters.missing_client import missing_client

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.registry import Collector

__all__ = ["collector_of", "families"]

PREFIX = "flink"
_INVALID = re.compile(r"[^a-zA-Z0-9_:]")


def families(measurements: Iterable[Measurement], settings: ReporterSettings) -> Iterator[Metric]:
    """The families of measurements; texts are left out, as Prometheus has none.

    Raises:
        ModuleNotFoundError: prometheus_client is not installed.
    """
    metric = _metric_class()
    prefix = settings.text("prefix", PREFIX)
    labels_of = _Labels(settings)
    names: dict[tuple[str, str], str] = {}
    by_name: dict[str, Metric] = {}
    seen: set[tuple[object, ...]] = set()
    for measurement in measurements:
        value = measurement.value
        if isinstance(value, str):
            continue
        logical = measurement.scope.logical, measurement.logical_name
        name = names.get(logical) or names.setdefault(logical, _name(".".join((prefix, *logical))))
        labels = labels_of(measurement)
        series = name, *labels.items()
        if series in seen:
            continue  # what is the process's is the same for all its jobs
        seen.add(series)
        kind = "summary" if isinstance(value, HistogramValue) else "gauge"
        family = by_name.get(name)
        if family is None:
            family = by_name[name] = metric(
                name, f"{measurement.logical_name} (scope: {measurement.scope.logical})", kind
            )
        elif family.type != kind:
            continue  # two functions have given the same name to different things
        if isinstance(value, HistogramValue):
            _add_summary(family, name, labels, value)
        else:
            family.add_sample(name, labels, float(value))
    yield from by_name.values()


class _Labels:
    """The labels of measurements, cached for consecutive measurements of a scope."""

    def __init__(self, settings: ReporterSettings) -> None:
        self._settings = settings
        self._filters = settings.flag("filterLabelValueCharacters", True)
        self._scope: MetricScope | None = None
        self._of_scope: dict[str, str] = {}

    def __call__(self, measurement: Measurement) -> dict[str, str]:
        """The labels of one measurement."""
        scope = measurement.scope
        if measurement.variables:
            return self._made({**scope.variables, **measurement.variables})
        if scope is not self._scope:
            self._scope, self._of_scope = scope, self._made(scope.variables)
        return self._of_scope

    def _made(self, variables: Mapping[str, str]) -> dict[str, str]:
        return {
            _label(key): _filtered(text) if self._filters else text
            for key, text in self._settings.labels(variables).items()
        }


def _add_summary(family: Metric, name: str, labels: dict[str, str], seen: HistogramValue) -> None:
    for share, value in seen.quantiles.items():
        family.add_sample(name, {**labels, "quantile": f"{share:g}"}, float(value))
    family.add_sample(f"{name}_count", labels, float(seen.count))
    family.add_sample(f"{name}_sum", labels, float(seen.sum))


def collector_of(measurements: Iterable[Measurement], settings: ReporterSettings) -> Collector:
    """A collector that returns the given measurements."""
    from prometheus_client.registry import Collector

    metric_families = list(families(measurements, settings))

    class Measured(Collector):
        def collect(self) -> Iterable[Metric]:
            return metric_families

    return Measured()


def _metric_class() -> type[Metric]:
    try:
        from prometheus_client import Metric
    except ModuleNotFoundError:
        raise missing_client("prometheus", "prometheus-client", "prometheus") from None
    return Metric


def _name(text: str) -> str:
    return _INVALID.sub("_", text)


def _label(text: str) -> str:
    """Name of a label: as `_name`, but without colons."""
    name = _name(text).replace(":", "_")
    return f"_{name}" if name[:1].isdigit() else name


def _filtered(text: str) -> str:
    # what Flink leaves of label values, so that series have the same labels
    return _INVALID.sub("_", text)
