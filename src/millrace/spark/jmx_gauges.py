"""Gauges in the driver's JVM for JMX clients, through Spark's own Dropwizard metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark import SparkContext

from millrace.common.errors import ConfigurationError

__all__ = ["JmxGauges"]


class JmxGauges:
    """Values by name. Each is a bean ``DOMAIN:name=...,type=gauges`` with the attribute ``Value``.

    Args:
        domain: domain of the beans.

    Raises:
        ConfigurationError: this process has no JVM.
    """

    def __init__(self, domain: str) -> None:
        gateway: Any = SparkContext._gateway
        if gateway is None:
            raise ConfigurationError("JMX needs the JVM of a job that runs on Spark; there is none")
        dropwizard = gateway.jvm.com.codahale.metrics
        self._registry = dropwizard.MetricRegistry()
        self._new_gauge = dropwizard.DefaultSettableGauge
        self._gauges: dict[str, Any] = {}
        self._shown: dict[str, float | str] = {}
        self._reporter = dropwizard.jmx.JmxReporter.forRegistry(self._registry)
        self._reporter = self._reporter.inDomain(domain).build()
        self._reporter.start()

    def show(self, values: Mapping[str, float | str]) -> None:
        """Show the given values as gauges, and remove all other gauges."""
        for name in self._gauges.keys() - values.keys():
            self._registry.remove(name)
            del self._gauges[name], self._shown[name]
        for name, value in values.items():
            if name not in self._gauges:
                self._gauges[name] = self._new_gauge(value)
                self._registry.register(name, self._gauges[name])
            elif value != self._shown[name]:  # each is a call to the JVM
                self._gauges[name].setValue(value)
            self._shown[name] = value

    def close(self) -> None:
        """Remove all beans."""
        self._reporter.stop()
