from __future__ import annotations

import gzip

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from millrace.common.errors import ConfigurationError
from millrace.metrics.reporters.open_telemetry import OpenTelemetryReporter


def test_what_a_collector_gets(settings, http_listener, measurements) -> None:
    endpoint = f"http://127.0.0.1:{http_listener.port}"
    reporter = OpenTelemetryReporter(
        settings(exporter__endpoint=endpoint, service__name="shop", service__version="3")
    )
    reporter.open(lambda: ())
    reporter.report(measurements)
    reporter.close()
    request = http_listener.requests.get(timeout=20)
    assert request.path == "/v1/metrics"
    packed = request.headers.get("content-encoding") == "gzip"
    export = ExportMetricsServiceRequest()
    export.ParseFromString(gzip.decompress(request.body) if packed else request.body)
    (resource,) = export.resource_metrics
    attributes = {a.key: a.value.string_value for a in resource.resource.attributes}
    assert (attributes["service.name"], attributes["service.version"]) == ("shop", "3")
    found = {metric.name: metric for metric in resource.scope_metrics[0].metrics}
    restarts = found["flink.jobmanager.job.numRestarts"].gauge.data_points[0]
    assert restarts.as_int == 2
    assert {a.key: a.value.string_value for a in restarts.attributes}["job_name"] == "count it"
    records = found["flink.taskmanager.job.task.operator.numRecordsIn"].sum
    assert (records.data_points[0].as_int, records.is_monotonic) == (7, False)
    lag = found["flink.taskmanager.job.task.operator.topic.lag"].gauge.data_points[0]
    assert lag.as_double == -1.5
    assert found["flink.taskmanager.job.task.operator.size.p99"].gauge.data_points[0].as_double == 4


def test_other_protocols(settings) -> None:
    with pytest.raises(ConfigurationError, match="'grpc' is not http"):
        OpenTelemetryReporter(settings(exporter__protocol="grpc")).open(lambda: ())
