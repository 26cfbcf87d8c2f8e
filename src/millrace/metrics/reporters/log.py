"""The reporter for logs: one line per metric."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from millrace.metrics.measurement import HistogramValue, Measurement, numbers
from millrace.metrics.metric_reporter import MetricReporter

__all__ = ["LogReporter"]

log = logging.getLogger(__name__)


class LogReporter(MetricReporter):
    """Reporter that writes all metrics to the log at level INFO, as one record (Flink:
    ``Slf4jReporter``).
    """

    def report(self, measurements: Sequence[Measurement]) -> None:
        lines = sorted(map(self._line, measurements))
        log.info("metrics report:\n%s", "\n".join(lines))

    def _line(self, measurement: Measurement) -> str:
        name, value = self.settings.formats.identifier(measurement), measurement.value
        if isinstance(value, HistogramValue):
            value = ", ".join(f"{suffix[1:]}={n:g}" for suffix, n in numbers(measurement))
        return f"{name}: {value}"
