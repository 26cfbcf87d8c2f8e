"""The alerts of a server: looks at its jobs once a second, and tells the webhooks of changes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
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


class Alerts:
    """Looks after the jobs of a server while the server leads.

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
        self._firing: dict[str, dict[AlertKind, AlertCondition]] = {}
        """Per job, the conditions that hold."""
        self._leads = False
        self._lock = Lock()
        self._closed = Event()
        self._thread = Thread(target=self._follow, name="millrace-alerts", daemon=True)

    def start(self) -> None:
        """Begin to look at jobs; without webhooks nobody does."""
        if self.webhooks:
            self._thread.start()
        for webhook in self.webhooks:
            webhook.start()

    def close(self) -> None:
        """Stop."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        for webhook in self.webhooks:
            webhook.close()

    def lead(self) -> None:
        """Begin to alert."""
        with self._lock:
            self._leads = True

    def stand_by(self) -> None:
        """Stop alerting, because another server leads. What was known of jobs is forgotten."""
        self._leads = False
        self._rules, self._firing = {}, {}

    def look(self) -> None:
        """Apply the rules to all jobs that have not ended, and send what has changed."""
        if not self._leads:
            return
        jobs = self._jobs()
        with self._lock:
            rules = {job.id: self._rules.get(job.id) or JobRules() for job in jobs}
            self._rules = rules
            self._firing = {id: self._firing[id] for id in self._firing if id in rules}
            for job in jobs:
                for condition in rules[job.id].conditions(job, self._defaults):
                    self._note(job, condition)

    def job_ended(self, job: RegisteredJob) -> None:
        """Alert if a job has failed, and tell that its other alerts are over. Returns at once, and
        never raises: a job's end must not depend on alerts."""
        try:
            if self.webhooks:
                self._tell_end(job)
        except Exception:
            log.exception("no alert about the end of job %s can be sent", job.id)

    def _tell_end(self, job: RegisteredJob) -> None:
        observed = self._observe(job)
        with self._lock:
            for condition in list(self._firing.get(job.id, {}).values()):
                self._note(observed, replace(condition, holds=False))
            self._firing.pop(job.id, None)
            if job.status is JobStatus.FAILED:
                failure = failure_of(observed, self._defaults)
                if failure.holds:
                    self._send(observed, failure)

    def _note(self, job: ObservedJob, condition: AlertCondition) -> None:
        """Send an alert if a condition has begun or ceased to hold."""
        firing = self._firing.setdefault(job.id, {})
        if condition.holds == (condition.kind in firing):
            return
        if condition.holds:
            firing[condition.kind] = condition
        else:
            del firing[condition.kind]
        self._send(job, condition)

    def _send(self, job: ObservedJob, condition: AlertCondition) -> None:
        alert = Alert.of(job, condition, self.address)
        log.warning("alert (%s): %s", alert.state, alert.text)
        for webhook in self.webhooks:
            webhook.put(alert)

    def _follow(self) -> None:
        while not self._closed.wait(PERIOD):
            try:
                self.look()
            except Exception:  # the registry may be back in a moment
                log.exception("the jobs cannot be looked at for alerts")
