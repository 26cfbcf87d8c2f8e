"""The reporter for Prometheus' Pushgateway: for jobs that end before a scrape."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from millrace.common.time.amounts import Duration
from millrace.metrics.measurement import Measurement
from millrace.metrics.metric_reporter import Measure, MetricReporter
from millrace.metrics.reporters.missing_client import missing_client
from millrace.metrics.reporters.prometheus_families import collector_of

__all__ = ["PushGatewayReporter"]


class PushGatewayReporter(MetricReporter):
    """Reporter that pushes to a gateway (Flink: ``PrometheusPushGatewayReporter``).

    Parameters: ``hostUrl`` (needed), ``jobName``, ``randomJobNameSuffix`` (true),
    ``deleteOnShutdown`` (true), ``groupingKey`` (``k1=v1;k2=v2``), ``timeout`` (5 s), and those of
    the reporter ``prometheus`` for names and labels.
    """

    def open(self, measure: Measure) -> None:
        settings = self.settings
        self._url = settings.require("hostUrl")
        self._job = settings.text("jobName", "millrace")
        if settings.flag("randomJobNameSuffix", True):
            self._job += secrets.token_hex(16)
        pairs = (item.partition("=") for item in settings.items("groupingKey"))
        self._grouping = {key.strip(): value.strip() for key, _, value in pairs}
        self._timeout = settings.seconds("timeout", Duration.of_seconds(5))
        self._deletes = settings.flag("deleteOnShutdown", True)

    def report(self, measurements: Sequence[Measurement]) -> None:
        try:
            from prometheus_client import push_to_gateway
        except ModuleNotFoundError:
            raise missing_client("pushgateway", "prometheus-client", "prometheus") from None
        registry = collector_of(measurements, self.settings)
        push_to_gateway(self._url, self._job, registry, self._grouping, self._timeout)

    def close(self) -> None:
        if self._deletes:
            from prometheus_client import delete_from_gateway

            delete_from_gateway(self._url, self._job, self._grouping, self._timeout)
