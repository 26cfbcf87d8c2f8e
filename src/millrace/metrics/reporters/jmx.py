"""The reporter for JMX: beans in the JVM of Spark's driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millrace.metrics.measurement import HistogramValue, Measurement, numbers
from millrace.metrics.metric_reporter import Measure, MetricReporter

__all__ = ["JmxReporter"]

DOMAIN = "org.apache.flink"


class JmxReporter(MetricReporter):
    """Reporter that shows metrics as beans of the driver's JVM (Flink: ``JMXReporter``).

    It opens no port: tools on this machine attach to the JVM, and Java's own settings let it
    listen for others.

    Parameters: ``domain`` (``org.apache.flink``).
    """

    def open(self, measure: Measure) -> None:
        from millrace.spark.jmx_gauges import JmxGauges

        self._gauges = JmxGauges(self.settings.text("domain", DOMAIN))

    def report(self, measurements: Sequence[Measurement]) -> None:
        self._gauges.show(
            dict(value for measurement in measurements for value in self._values(measurement))
        )

    def close(self) -> None:
        self._gauges.close()

    def _values(self, measurement: Measurement) -> Iterator[tuple[str, float | str]]:
        name, value = self.settings.formats.identifier(measurement), measurement.value
        if isinstance(value, HistogramValue):
            yield from ((name + suffix, number) for suffix, number in numbers(measurement))
        else:
            yield name, value
