"""The reporter for Graphite: its plaintext protocol, through the bridge of prometheus_client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from millrace.common.time.amounts import Duration
from millrace.metrics.measurement import Measurement
from millrace.metrics.metric_reporter import MetricReporter
from millrace.metrics.reporters.missing_client import missing_client
from millrace.metrics.reporters.prometheus_families import collector_of

__all__ = ["GraphiteReporter"]

PORT = 2003


class GraphiteReporter(MetricReporter):
    """Reporter to Graphite's carbon over TCP (Flink: ``GraphiteReporter``).

    Paths are those of the reporter ``prometheus`` with labels as further parts,
    ``flink_jobmanager_job_uptime.host.h.job_name.count``, or with ``tags`` as Graphite's tags.

    Parameters: ``host`` (needed), ``port`` (2003), ``tags`` (false), ``timeout`` (5 s), ``path``
    (put before every path).
    """

    def report(self, measurements: Sequence[Measurement]) -> None:
        try:
            from prometheus_client.bridge.graphite import GraphiteBridge
        except ModuleNotFoundError:
            raise missing_client("graphite", "prometheus-client", "prometheus") from None
        settings = self.settings
        address = settings.require("host"), settings.number("port", PORT)
        bridge = GraphiteBridge(
            address,
            collector_of(measurements, settings),
            cast(Any, settings.seconds("timeout", Duration.of_seconds(5))),
            tags=settings.flag("tags", False),
        )
        bridge.push(settings.text("path"))
