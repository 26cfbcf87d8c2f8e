"""Measurements as Prometheus writes them: families of samples, names as Flink's reporter has them.

``numRecordsIn`` of a subtask is ``flink_taskmanager_job_task_numRecordsIn``: dashboards and alerts
that were made for Flink find it. As there, counters and rates are gauges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from millrace.metrics.measurement import HistogramValue, Measurement
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
    filters = settings.flag("filterLabelValueCharacters", True)
    found: dict[str, Metric] = {}
    for measurement in measurements:
        value = measurement.value
        if isinstance(value, str):
            continue
        name = _name(f"{prefix}.{measurement.scope.logical}.{measurement.logical_name}")
        variables = {**measurement.scope.variables, **measurement.variables}
        labels = {
            _name(key): _filtered(text) if filters else text
            for key, text in settings.labels(variables).items()
        }
        kind = "summary" if isinstance(value, HistogramValue) else "gauge"
        family = found.get(name)
        if family is None:
            family = found[name] = metric(
                name, f"{measurement.logical_name} (scope: {measurement.scope.logical})", kind
            )
        elif family.type != kind:
            continue  # two functions have given the same name to different things
        if isinstance(value, HistogramValue):
            _add_summary(family, name, labels, value)
        else:
            family.add_sample(name, labels, float(value))
    yield from found.values()


def _add_summary(family: Metric, name: str, labels: dict[str, str], seen: HistogramValue) -> None:
    for share, value in seen.quantiles.items():
        family.add_sample(name, {**labels, "quantile": f"{share:g}"}, float(value))
    family.add_sample(f"{name}_count", labels, float(seen.count))
    family.add_sample(f"{name}_sum", labels, float(seen.sum))


def collector_of(measurements: Iterable[Measurement], settings: ReporterSettings) -> Collector:
    """A collector that gives just these measurements."""
    from prometheus_client.registry import Collector

    found = list(families(measurements, settings))

    class Measured(Collector):
        def collect(self) -> Iterable[Metric]:
            return found

    return Measured()


def _metric_class() -> type[Metric]:
    try:
        from prometheus_client import Metric
    except ModuleNotFoundError:
        raise missing_client("prometheus", "prometheus-client", "prometheus") from None
    return Metric


def _name(text: str) -> str:
    return _INVALID.sub("_", text)


def _filtered(text: str) -> str:
    # what Flink leaves of label values, so that series have the same labels
    return _INVALID.sub("_", text)
