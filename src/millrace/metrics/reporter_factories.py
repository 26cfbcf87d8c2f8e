"""The known reporters, by the names of Flink's factories and by short names."""

from __future__ import annotations

from importlib import import_module

from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.metrics import metric_options
from millrace.metrics.metric_reporter import MetricReporter
from millrace.metrics.reporter_settings import ReporterSettings

__all__ = ["REPORTERS", "reporters_of"]

_ROOM = "millrace.metrics.reporters"
REPORTERS: dict[str, tuple[str, str]] = {
    "prometheus": (f"{_ROOM}.prometheus", "PrometheusReporter"),
    "pushgateway": (f"{_ROOM}.push_gateway", "PushGatewayReporter"),
    "statsd": (f"{_ROOM}.statsd", "StatsdReporter"),
    "datadog": (f"{_ROOM}.datadog", "DatadogReporter"),
    "graphite": (f"{_ROOM}.graphite", "GraphiteReporter"),
    "otel": (f"{_ROOM}.open_telemetry", "OpenTelemetryReporter"),
    "jmx": (f"{_ROOM}.jmx", "JmxReporter"),
    "log": (f"{_ROOM}.log", "LogReporter"),
}
"""Module and class of each reporter, by short name."""

_FLINK = "org.apache.flink.metrics"
FACTORIES = {
    f"{_FLINK}.prometheus.PrometheusReporterFactory": "prometheus",
    f"{_FLINK}.prometheus.PrometheusPushGatewayReporterFactory": "pushgateway",
    f"{_FLINK}.statsd.StatsDReporterFactory": "statsd",
    f"{_FLINK}.datadog.DatadogHttpReporterFactory": "datadog",
    f"{_FLINK}.graphite.GraphiteReporterFactory": "graphite",
    f"{_FLINK}.otel.OpenTelemetryMetricReporterFactory": "otel",
    f"{_FLINK}.jmx.JMXReporterFactory": "jmx",
    f"{_FLINK}.slf4j.Slf4jReporterFactory": "log",
}
"""Short name of each reporter, by the name of Flink's factory."""
_NOT_HERE = {
    f"{_FLINK}.influxdb.InfluxdbReporterFactory": (
        "InfluxDB takes what the reporters `graphite` and `otel` send"
    ),
}
_CLASS = "factory.class"


def reporters_of(configuration: Configuration) -> list[MetricReporter]:
    """The reporters that a configuration describes, not yet opened.

    Raises:
        ConfigurationError: a reporter has no factory, or an unknown one.
    """
    described = _described(configuration)
    listed = [
        name.strip()
        for item in configuration.get(metric_options.REPORTERS)
        for name in item.split(",")
        if name.strip()
    ]
    for name in listed:
        if name not in described:
            # the name of a reporter says which it is if nothing else does
            described[name] = name
    return [_made(name, described[name], configuration) for name in listed or sorted(described)]


def _described(configuration: Configuration) -> dict[str, str]:
    """Factory of each reporter, by the reporter's name."""
    prefix = metric_options.REPORTER_PREFIX
    factories: dict[str, str] = {}
    for key in configuration.key_set():
        if key.startswith(prefix) and key.endswith(f".{_CLASS}"):
            name = key[len(prefix) : -len(_CLASS) - 1]
            factories[name] = configuration.get_string(key) or ""
    return factories


def _made(name: str, factory: str, configuration: Configuration) -> MetricReporter:
    kind = FACTORIES.get(factory, factory)
    if kind not in REPORTERS:
        why = _NOT_HERE.get(factory, f"known are {', '.join(REPORTERS)}, and Flink's factories")
        raise ConfigurationError(
            f"metrics.reporter.{name}.{_CLASS}: there is no reporter {factory!r}: {why}"
        )
    module, cls = REPORTERS[kind]
    made = getattr(import_module(module), cls)(ReporterSettings(name, configuration))
    assert isinstance(made, MetricReporter)
    return made
