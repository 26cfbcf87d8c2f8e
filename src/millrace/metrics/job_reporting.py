"""Reporting: each reporter of a job has a thread of its own, and the job never waits for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from threading import Event, Lock, Thread

from millrace.common.config.configuration import Configuration
from millrace.common.errors import MillraceError
from millrace.common.job import JobStatus
from millrace.engine.job_manager import JobManager
from millrace.engine.job_observer import JobObserver
from millrace.metrics.job_metrics import JobMetrics
from millrace.metrics.measurement import Measurement
from millrace.metrics.metric_reporter import Measure, MetricReporter
from millrace.metrics.process_metrics import ProcessMetrics
from millrace.metrics.reporter_factories import reporters_of

__all__ = ["JobReporting", "job_reporting"]

log = logging.getLogger(__name__)

PATIENCE = 3.0
"""Seconds that the end of a job waits for the last reports of all reporters together."""


class JobReporting(JobObserver):
    """Starts the reporters with the job, and ends them with it.

    Args:
        job: its manager.
        job_id: id of the job in Flink's form.
        reporters: not yet opened.
        patience: seconds to wait for them at the end.
    """

    def __init__(
        self,
        job: JobManager,
        job_id: str,
        reporters: Iterable[MetricReporter],
        patience: float = PATIENCE,
    ) -> None:
        self._job = job
        self._patience = patience
        self._status: JobStatus | None = None
        """Status with which the job has ended; its manager records the status only later."""
        self._threads = [
            _ReporterThread(reporter, self._measure_for(reporter, job_id)) for reporter in reporters
        ]

    def started(self, job_dir: str) -> None:
        for thread in self._threads:
            thread.start()

    def ended(self, status: JobStatus, error: BaseException | None) -> None:
        # only now the status is known: when observers are closed, the job has yet to end
        self._status = status
        until = time.monotonic() + self._patience
        for thread in self._threads:
            if thread.ident is None:
                continue
            thread.finish()
            thread.join(max(until - time.monotonic(), 0))
            if thread.is_alive():
                log.warning(
                    "metric reporter '%s' has not ended in %g s: the job does not wait for it",
                    thread.reporter.settings.name,
                    self._patience,
                )

    def _measure_for(self, reporter: MetricReporter, job_id: str) -> Measure:
        metrics, process, lock = JobMetrics(job_id), ProcessMetrics(), Lock()
        passes = reporter.settings.filter.passes

        def measure() -> list[Measurement]:
            with lock:  # two who scrape may come at the same time
                return measured()

        def measured() -> list[Measurement]:
            details, now = self._job.details(), int(time.time() * 1000)
            if self._status is not None and details.status is not self._status:
                since = {**details.since, self._status: now}
                details = replace(details, status=self._status, since=since)
            measurements = [*metrics.of(details, now), *process.all()]
            return [measurement for measurement in measurements if passes(measurement)]

        return measure


def job_reporting(job: JobManager, job_id: str, configuration: Configuration) -> JobReporting:
    """The reporters that a job's configuration names.

    Raises:
        ConfigurationError: a reporter is unknown, or has wrong parameters.
    """
    return JobReporting(job, job_id, reporters_of(configuration))


class _ReporterThread(Thread):
    """Thread that opens a reporter, calls it at its interval and once more at the end, and
    closes it."""

    def __init__(self, reporter: MetricReporter, measure: Measure) -> None:
        super().__init__(name=f"millrace-reporter-{reporter.settings.name}", daemon=True)
        self.reporter = reporter
        self._measure = measure
        self._end = Event()
        self._failure = ""
        self._error: Exception | None = None

    def finish(self) -> None:
        """Report once more, then end."""
        self._end.set()

    def run(self) -> None:
        if not self._opened():
            return
        interval = self.reporter.settings.interval if self.reporter.periodic else None
        while not self._end.wait(interval):
            self._report()
        if self.reporter.periodic:
            self._report()
        with suppress(Exception):
            self.reporter.close()

    def _opened(self) -> bool:
        """Open the reporter as soon as its host or port is available."""
        while not self._tried(lambda: self.reporter.open(self._measure)):
            is_final = isinstance(self._error, (ImportError, MillraceError))
            if is_final or self._end.wait(self.reporter.settings.interval):
                return False
        self._failure = ""
        return True

    def _report(self) -> None:
        if self._tried(lambda: self.reporter.report(self._measure())):
            self._failure = ""

    def _tried(self, act: Callable[[], None]) -> bool:
        """Call a function; repeated errors are logged once."""
        try:
            act()
        except Exception as error:
            self._error = error
            failure = f"{type(error).__name__}: {error}"
            if failure != self._failure:
                self._failure = failure
                name = self.reporter.settings.name
                log.warning("metric reporter '%s' failed: %s", name, failure)
            return False
        return True
