"""The rules of alerts: restarts, watermark lag and the age of the newest checkpoint.

The thresholds are settings of the job, so a program or a submission may change those of
``config.yaml``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from millrace.common.config.configuration import Configuration
from millrace.common.config.shown_settings import shown_value
from millrace.engine.job_details import CheckpointStats
from millrace.server.alerts.alert import AlertCondition, AlertKind
from millrace.server.observed_job import ObservedJob
from millrace.server.server_options import (
    ALERT_CHECKPOINT_AGE,
    ALERT_FAILED,
    ALERT_LAG,
    ALERT_RESTARTS,
    ALERT_RESTARTS_WINDOW,
)

__all__ = ["JobRules", "failure_of"]

_ERROR = 500
"""Characters of an error that an alert shows."""


def _settings(job: ObservedJob, defaults: Configuration) -> Configuration:
    return Configuration(job.archive.settings) if job.archive is not None else defaults


def failure_of(job: ObservedJob, defaults: Configuration) -> AlertCondition:
    """The condition of a job that has failed.

    Args:
        defaults: settings of a job that has not begun.
    """
    error = job.job.error.strip().splitlines()
    reason = f": {shown_value(error[-1])[:_ERROR]}" if error else ""
    holds = _settings(job, defaults).get(ALERT_FAILED)
    return AlertCondition(AlertKind.FAILED, holds, f"has failed{reason}")


class JobRules:
    """The alert rules for one job, with the earlier figures that they compare."""

    def __init__(self) -> None:
        self._restarts: deque[int] = deque()
        """Times of restarts."""
        self._counted: tuple[int, int] | None = None
        """Restarts by new processes and within the newest process at the last look."""
        self._newest: int | None = None
        """Number of the newest checkpoint at the last look."""
        self._covered: int | None = None
        """Time up to which the newest checkpoint contains everything."""

    def conditions(self, job: ObservedJob, defaults: Configuration) -> Iterator[AlertCondition]:
        """The conditions of a job that has not ended.

        Args:
            defaults: settings of a job that has not begun.
        """
        settings = _settings(job, defaults)
        yield self._of_restarts(job, settings)
        yield _of_lag(job, settings)
        yield self._of_checkpoints(job, settings)

    def _of_restarts(self, job: ObservedJob, settings: Configuration) -> AlertCondition:
        window, most = settings.get(ALERT_RESTARTS_WINDOW), settings.get(ALERT_RESTARTS)
        within = job.details.restarts
        processes = job.restarts - within
        if self._counted is not None:
            before, before_within = self._counted
            # a new process counts from 0
            added = within - before_within if within >= before_within else within
            self._restarts.extend([job.now] * (added + max(0, processes - before)))
        self._counted = processes, within
        while self._restarts and self._restarts[0] <= job.now - window.to_millis():
            self._restarts.popleft()
        count = len(self._restarts)
        told = f"has restarted {count} times in {_span(window.to_millis())} (allowed: {most})"
        return AlertCondition(AlertKind.RESTARTS, count > most, told, count, most)

    def _of_checkpoints(self, job: ObservedJob, settings: Configuration) -> AlertCondition:
        age = job.now - self._covered_until(job)
        threshold = settings.get(ALERT_CHECKPOINT_AGE)
        if threshold is None or job.archive is None or job.is_batch:
            return AlertCondition(AlertKind.CHECKPOINT_AGE, False)
        most = threshold.to_millis()
        told = f"has completed no checkpoint for {_span(age)} (allowed: {_span(most)})"
        return AlertCondition(AlertKind.CHECKPOINT_AGE, age > most, told, age, most)

    def _covered_until(self, job: ObservedJob) -> int:
        """Time up to which the newest checkpoint contains everything. An idle job makes no
        checkpoints, and needs none."""
        recent = job.details.checkpoints.recent
        newest = next((stats for stats in recent if stats.number is not None), None)
        is_new = newest is not None and newest.number != self._newest
        if job.is_running and _contains_all(job, newest):
            self._covered = job.now
        elif newest is not None and is_new:
            self._covered = newest.triggered + round(newest.duration)
        elif self._covered is None:
            self._covered = job.now
        self._newest = newest.number if newest is not None else None
        return self._covered if self._covered is not None else job.now


def _contains_all(job: ObservedJob, newest: CheckpointStats | None) -> bool:
    if job.details.running is not None:
        return False
    return job.details.epochs == 0 if newest is None else newest.epoch > job.details.epoch


def _of_lag(job: ObservedJob, settings: Configuration) -> AlertCondition:
    threshold, watermark = settings.get(ALERT_LAG), job.details.watermark
    if threshold is None or watermark is None or not job.is_running:
        return AlertCondition(AlertKind.LAG, False)
    lag, most = max(0, job.now - watermark), threshold.to_millis()
    told = f"is {_span(lag)} behind the clock by its watermark (allowed: {_span(most)})"
    return AlertCondition(AlertKind.LAG, lag > most, told, lag, most)


def _span(millis: float) -> str:
    """A duration for people.

    Example:
        >>> _span(1_500), _span(90_000), _span(7_200_000)
        ('1.5 s', '1.5 min', '2 h')
    """
    for unit, length in (("h", 3_600_000), ("min", 60_000)):
        if millis >= length:
            return f"{millis / length:.3g} {unit}"
    return f"{millis / 1_000:.3g} s"
