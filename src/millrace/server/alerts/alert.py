"""An alert: something about a job that people should look at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from html import escape

import msgspec

from millrace.server.observed_job import ObservedJob

__all__ = ["FIRING", "RESOLVED", "Alert", "AlertKind", "AlertCondition"]

FIRING, RESOLVED = "firing", "resolved"


class AlertKind(StrEnum):
    """Kind of an alert."""

    FAILED = "job-failed"
    RESTARTS = "restarts"
    LAG = "watermark-lag"
    CHECKPOINT_AGE = "checkpoint-age"


@dataclass(frozen=True, slots=True)
class AlertCondition:
    """A rule of one kind, applied to a job at one moment."""

    kind: AlertKind
    holds: bool
    """Whether people should be alerted."""
    message: str = ""
    """The problem as a sentence without a subject: ``has restarted 4 times in 10 min``."""
    value: float | None = None
    """The measured value; times are in ms."""
    threshold: float | None = None


class AlertedJob(msgspec.Struct, frozen=True):
    """The job of an alert."""

    id: str
    name: str
    status: str
    url: str
    """Page of the job in the web UI."""


class Alert(msgspec.Struct, frozen=True):
    """The body of a webhook's request."""

    text: str
    """Message for people. Slack and Mattermost show this field."""
    alert: str
    """Kind of the alert."""
    state: str
    """``firing``, or ``resolved`` when the reason has gone."""
    time: int
    """ms since the epoch of Unix."""
    job: AlertedJob
    value: float | None = None
    """The measured value; times are in ms."""
    threshold: float | None = None

    @staticmethod
    def of(job: ObservedJob, condition: AlertCondition, address: str) -> Alert:
        """Make the alert about a condition that has become true, or that is no longer true.

        Args:
            address: URL of the server.
        """
        name = repr(job.name)
        told = f"Job {name} {condition.message}"
        if not condition.holds:
            told = f"{condition.kind} of job {name} is over"
        url = f"{address.rstrip('/')}/#/jobs/{job.id}"
        return Alert(
            # chats take <!channel> for a call to everybody
            text=f"{escape(told, quote=False)}. {url}",
            alert=str(condition.kind),
            state=FIRING if condition.holds else RESOLVED,
            time=job.now,
            job=AlertedJob(job.id, job.name, job.job.status.name, url),
            value=condition.value,
            threshold=condition.threshold,
        )
