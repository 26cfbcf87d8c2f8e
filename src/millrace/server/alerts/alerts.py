"""The alerts of a server: looks at its jobs once a second, and tells the webhooks of changes."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Event, Lock, Thread

from millrace.common.config.configuration import Configuration
from millrace.common.job import JobStatus
from millrace.server.alerts.alert import Alert, AlertCondition, AlertKind
from millrace.server.alerts.rules import JobRules, failure_of
from millrace.server.alerts.webhook import Webhook
from millrace.server.observed_job import ObservedJob
from millrace.server.registry import RegisteredJob

__all__ = ["Alerts"]

log = logging.getLogger(__name__)

PERIOD = 1.0
"""Seconds between two looks at the jobs."""
CALM = 60_000
"""Milliseconds for which a condition must not hold until its alert is resolved. Lags and ages of
checkpoints rise and fall all the time."""


@dataclass(slots=True)
class _Firing:
    """An alert that has been sent and that is not resolved yet."""

    condition: AlertCondition
    calm_since: int | None = None
    """Time since which the condition has not held; None if it holds."""


class Alerts:
    """Watches the jobs of a server while the server leads.

    Args:
        webhooks: receivers of alerts.
        jobs: function that returns the jobs that have not ended.
        observe: function that returns the current state of a job.
        defaults: settings of jobs that have not begun.
    """

    def __init__(
        self,
        webhooks: Sequence[Webhook],
        jobs: Callable[[], list[ObservedJob]],
        observe: Callable[[RegisteredJob], ObservedJob],
        defaults: Configuration,
    ) -> None:
        self.webhooks = tuple(webhooks)
        self.address = ""
        """URL of the server, to which alerts link."""
        self._jobs = jobs
        self._observe = observe
        self._defaults = defaults
        self._rules: dict[str, JobRules] = {}
        self._firing: dict[str, dict[AlertKind, _Firing]] = {}
        """Per job, the alerts that are not resolved."""
        self._ended: deque[RegisteredJob] = deque()
        """Jobs that have ended since the last look."""
        self._unreadable: set[str] = set()
        """Jobs to which the rules could not be applied at the last look."""
        self._leads = False
        self._lock = Lock()
        self._closed = Event()
        self._woken = Event()
        self._thread = Thread(target=self._follow, name="millrace-alerts", daemon=True)

    def start(self) -> None:
        """Begin to watch jobs; does nothing if there are no webhooks."""
        if self.webhooks:
            self._thread.start()
        for webhook in self.webhooks:
            webhook.start()

    def close(self) -> None:
        """Stop."""
        self._closed.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join()
        for webhook in self.webhooks:
            webhook.close()

    def lead(self) -> None:
        """Begin to alert."""
        with self._lock:
            self._leads = True

    def stand_by(self) -> None:
        """Stop alerting, because another server leads, and forget all states of jobs."""
        with self._lock:
            self._leads = False
            self._rules, self._firing = {}, {}

    def look(self) -> None:
        """Send the alerts about jobs that have ended. Then apply the rules to the jobs that run,
        and send changed alerts.
        """
        jobs = self._jobs() if self._leads else []
        ended = self._tell_ends()  # also those that have ended since the jobs were read
        with self._lock:
            if self._leads:
                self._apply_rules([job for job in jobs if job.id not in ended])

    def _apply_rules(self, jobs: list[ObservedJob]) -> None:
        rules = {job.id: self._rules.get(job.id) or JobRules() for job in jobs}
        self._rules = rules
        self._firing = {id: self._firing[id] for id in self._firing if id in rules}
        self._unreadable &= rules.keys()
        for job in jobs:
            self._look_at(job, rules[job.id])

    def _look_at(self, job: ObservedJob, rules: JobRules) -> None:
        """Apply the rules to a job. One whose report or settings are damaged must not silence the
        others."""
        try:
            for condition in rules.conditions(job, self._defaults):
                self._note(job, condition)
        except Exception:
            if job.id not in self._unreadable:
                log.exception("the rules of alerts cannot be applied to job %s", job.id)
            self._unreadable.add(job.id)
        else:
            self._unreadable.discard(job.id)

    def job_ended(self, job: RegisteredJob) -> None:
        """Send the alert about the end of a job soon. This method returns immediately and takes no
        lock, because its callers hold the supervisor's lock, for which threads that observe jobs
        wait.
        """
        if self.webhooks:
            self._ended.append(job)
            self._woken.set()

    def _tell_ends(self) -> set[str]:
        """Send the alerts about the jobs that have ended; their ids."""
        told = set()
        while self._ended:
            job = self._ended.popleft()
            told.add(job.id)
            try:
                self._tell_end(job)
            except Exception:
                log.exception("no alert about the end of job %s can be sent", job.id)
        return told

    def _tell_end(self, job: RegisteredJob) -> None:
        """Alert if a job has failed, and tell that its other alerts are over."""
        with self._lock:
            firing = self._firing.pop(job.id, {})
        observed = self._observe(job)
        with self._lock:
            for alert in firing.values():
                self._send(observed, replace(alert.condition, holds=False))
            if job.status is JobStatus.FAILED:
                failure = failure_of(observed, self._defaults)
                if failure.holds:
                    self._send(observed, failure)

    def _note(self, job: ObservedJob, condition: AlertCondition) -> None:
        """Send an alert if a condition has begun to hold, or has not held for a while."""
        firing = self._firing.setdefault(job.id, {})
        alert = firing.get(condition.kind)
        if condition.holds:
            if alert is None:
                self._send(job, condition)
            firing[condition.kind] = _Firing(condition)
        elif alert is not None:
            if alert.calm_since is None:
                alert.calm_since = job.now
            if job.now - alert.calm_since >= CALM:
                del firing[condition.kind]
                self._send(job, condition)

    def _send(self, job: ObservedJob, condition: AlertCondition) -> None:
        alert = Alert.of(job, condition, self.address)
        log.warning("alert (%s): %s", alert.state, alert.text)
        for webhook in self.webhooks:
            webhook.put(alert)

    def _follow(self) -> None:
        while not self._closed.is_set():
            self._woken.wait(PERIOD)
            self._woken.clear()
            try:
                self.look()
            except Exception:  # the registry may be back in a moment
                log.exception("the jobs cannot be checked for alerts")
