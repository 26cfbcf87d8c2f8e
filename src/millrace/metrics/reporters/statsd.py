"""The reporter for StatsD: gauges over UDP."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.metrics.measurement import Measurement, numbers
from millrace.metrics.metric_reporter import Measure, MetricReporter
from millrace.metrics.reporters.missing_client import missing_client

__all__ = ["StatsdReporter"]

PORT = 8125
_FILTERED = str.maketrans({":": "-", "|": "-", "@": "-", "\n": "-"})


class StatsdReporter(MetricReporter):
    """Reporter that sends gauges to a StatsD server (Flink: ``StatsDReporter``).

    Names are those of the scope formats; StatsD's own separators in them become dashes.

    Parameters: ``host`` (needed), ``port`` (8125), ``maxPacketSize`` (bytes, 512).
    """

    def open(self, measure: Measure) -> None:
        try:
            from statsd import StatsClient
        except ModuleNotFoundError:
            raise missing_client("statsd", "statsd", "statsd") from None
        settings = self.settings
        self._client = StatsClient(
            settings.require("host"),
            settings.number("port", PORT),
            maxudpsize=settings.number("maxPacketSize", 512),
        )

    def report(self, measurements: Sequence[Measurement]) -> None:
        with self._client.pipeline() as packets:
            for measurement in measurements:
                name = self.settings.formats.identifier(measurement)
                for suffix, number in numbers(measurement):
                    packets.gauge(_ascii(name + suffix), _plain(number))

    def close(self) -> None:
        self._client.close()


def _plain(number: float) -> float:
    # StatsD does not know exponents
    return int(number) if float(number).is_integer() else round(number, 6)


def _ascii(name: str) -> str:
    return name.translate(_FILTERED).encode("ascii", "replace").decode()
