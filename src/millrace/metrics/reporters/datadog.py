"""The reporter for Datadog: its HTTP API."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from millrace.common.time.amounts import Duration
from millrace.metrics.measurement import Measurement, numbers
from millrace.metrics.metric_reporter import Measure, MetricReporter
from millrace.metrics.reporters.missing_client import missing_client

__all__ = ["DatadogReporter"]

HOSTS = {"US": "https://api.datadoghq.com", "EU": "https://api.datadoghq.eu"}


class DatadogReporter(MetricReporter):
    """Reporter to Datadog (Flink: ``DatadogHttpReporter``).

    Variables of scopes become tags ``job_name:count``.

    Parameters: ``apikey`` (needed), ``dataCenter`` (US or EU), ``host`` (another address of the
    API), ``tags`` (``a:b,c:d``), ``proxyHost`` and ``proxyPort``, ``maxMetricsPerRequest`` (2000),
    ``useLogicalIdentifier`` (false: names are those of the scope formats), ``timeout`` (10 s).
    """

    def open(self, measure: Measure) -> None:
        try:
            from datadog import api as client
        except ModuleNotFoundError:
            raise missing_client("datadog", "datadog", "datadog") from None
        api: Any = client
        settings = self.settings
        centre = settings.text("dataCenter", "US").upper()
        if centre not in HOSTS:
            raise settings.error("dataCenter", f"{centre!r} is neither US nor EU")
        self._tags = [tag.strip() for tag in settings.text("tags").split(",") if tag.strip()]
        self._logical = settings.flag("useLogicalIdentifier", False)
        self._most = settings.number("maxMetricsPerRequest", 2_000)
        # the client has one configuration for the whole process
        self._api = api
        api._api_key = settings.require("apikey")
        api._api_host = settings.text("host", HOSTS[centre])
        api._timeout = settings.seconds("timeout", Duration.of_seconds(10))
        api._mute = False
        api._max_retries = 1
        if proxy := settings.text("proxyHost"):
            url = f"http://{proxy}:{settings.number('proxyPort', 8080)}"
            api._proxies = {"http": url, "https": url}

    def report(self, measurements: Sequence[Measurement]) -> None:
        now = time.time()
        series = [one for measurement in measurements for one in self._series(measurement, now)]
        for begin in range(0, len(series), self._most):
            self._api.Metric.send(metrics=series[begin : begin + self._most])

    def _series(self, measurement: Measurement, now: float) -> list[dict[str, Any]]:
        scope = measurement.scope
        name = (
            f"{scope.logical}.{measurement.logical_name}"
            if self._logical
            else self.settings.formats.identifier(measurement)
        )
        labels = self.settings.labels({**scope.variables, **measurement.variables})
        host = labels.pop("host", None)
        tags = [*self._tags, *(f"{key}:{value}" for key, value in labels.items())]
        return [
            {
                "metric": name + suffix,
                "points": [(now, number)],
                "type": "gauge",
                "tags": tags,
                "host": host,
            }
            for suffix, number in numbers(measurement)
        ]
