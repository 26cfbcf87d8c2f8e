"""The interface of reporters, which send measurements to monitoring systems."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from millrace.metrics.measurement import Measurement
from millrace.metrics.reporter_settings import ReporterSettings

__all__ = ["Measure", "MetricReporter"]

Measure = Callable[[], Sequence[Measurement]]
"""Function that returns the current measurements that the reporter's filter passes."""


class MetricReporter(ABC):
    """Reports the metrics of a job; all methods are called in a thread of its own.

    Whatever they raise is logged and does not disturb the job.

    Args:
        settings: settings of the reporter.
    """

    periodic = True
    """Whether the reporter is called at an interval; otherwise it is scraped."""

    def __init__(self, settings: ReporterSettings) -> None:
        self.settings = settings

    def open(self, measure: Measure) -> None:
        """Open the reporter. Reporters that are scraped call ``measure`` to get current
        measurements."""

    @abstractmethod
    def report(self, measurements: Sequence[Measurement]) -> None:
        """Report measurements."""

    def close(self) -> None:
        """Close the reporter, after the last report."""
