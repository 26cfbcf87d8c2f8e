"""The reporter for OpenTelemetry: OTLP over HTTP."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from millrace.common.time.amounts import Duration
from millrace.metrics.measurement import Measurement, MetricKind, numbers
from millrace.metrics.metric_reporter import Measure, MetricReporter
from millrace.metrics.reporters.missing_client import missing_client

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import Metric

__all__ = ["OpenTelemetryReporter"]

ENDPOINT = "http://127.0.0.1:4318"
PATH = "/v1/metrics"


class OpenTelemetryReporter(MetricReporter):
    """Reporter to a collector (Flink: ``OpenTelemetryMetricReporter``).

    Names are logical, ``flink.taskmanager.job.task.numRecordsIn``, variables are attributes.
    Counters are cumulative sums, all else gauges.

    Parameters: ``exporter.endpoint`` (`ENDPOINT`; `PATH` unless it has one), ``exporter.timeout``
    (10 s), ``service.name`` (millrace), ``service.version``, ``prefix`` (flink). What is secret,
    such as headers, belongs in the environment: ``OTEL_EXPORTER_OTLP_HEADERS``.
    """

    def open(self, measure: Measure) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.sdk.resources import Resource
        except ModuleNotFoundError:
            package = "opentelemetry-exporter-otlp-proto-http"
            raise missing_client("otel", package, "otlp") from None
        settings = self.settings
        protocol = settings.text("exporter.protocol", "http").lower()
        if protocol not in ("http", "http/protobuf"):
            raise settings.error("exporter.protocol", f"{protocol!r} is not http, which is spoken")
        timeout = settings.seconds("exporter.timeout", Duration.of_seconds(10))
        endpoint = with_path(settings.text("exporter.endpoint", ENDPOINT))
        self._exporter = OTLPMetricExporter(endpoint, timeout=timeout)
        attributes = {"service.name": settings.text("service.name", "millrace")}
        if version := settings.text("service.version"):
            attributes["service.version"] = version
        self._resource = Resource.create(attributes)
        self._began = time.time_ns()

    def report(self, measurements: Sequence[Measurement]) -> None:
        from opentelemetry.sdk.metrics.export import (
            MetricExportResult,
            MetricsData,
            ResourceMetrics,
            ScopeMetrics,
        )
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        metrics = self._metrics(measurements, time.time_ns())
        scope = ScopeMetrics(InstrumentationScope("millrace"), metrics, "")
        data = MetricsData([ResourceMetrics(self._resource, [scope], "")])
        if self._exporter.export(data) is not MetricExportResult.SUCCESS:
            raise OSError("the collector did not take the metrics; the log has its answer")

    def close(self) -> None:
        self._exporter.shutdown()

    def _metrics(self, measurements: Sequence[Measurement], now: int) -> list[Metric]:
        from opentelemetry.sdk.metrics.export import (
            AggregationTemporality,
            Gauge,
            Metric,
            NumberDataPoint,
            Sum,
        )

        prefix = self.settings.text("prefix", "flink")
        points: dict[tuple[str, bool], list[Any]] = {}
        for measurement in measurements:
            scope = measurement.scope
            labels = self.settings.labels({**scope.variables, **measurement.variables})
            for suffix, number in numbers(measurement):
                name = f"{prefix}.{scope.logical}.{measurement.logical_name}{suffix}"
                adds_up = measurement.kind is MetricKind.COUNTER
                point = NumberDataPoint(labels, self._began if adds_up else 0, now, number)
                points.setdefault((name, adds_up), []).append(point)
        cumulative = AggregationTemporality.CUMULATIVE
        return [
            # a counter may go down, as Flink's can
            Metric(name, "", "", Sum(series, cumulative, False) if adds_up else Gauge(series))
            for (name, adds_up), series in points.items()
        ]


def with_path(endpoint: str) -> str:
    """The URL for metrics, with the path added, because users mostly give a collector's address
    without it.

    Example:
        >>> with_path("http://collector:4318/")
        'http://collector:4318/v1/metrics'
        >>> with_path("https://example.org/otlp/metrics")
        'https://example.org/otlp/metrics'
    """
    return endpoint.rstrip("/") + PATH if urlsplit(endpoint).path in ("", "/") else endpoint
