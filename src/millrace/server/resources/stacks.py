"""Python stacks of a job's subtasks."""

from __future__ import annotations

from typing import Any

import msgspec

from millrace.common.errors import JobControlError
from millrace.engine.control_client import ask
from millrace.engine.job_details import EpochAttempt
from millrace.server.api_route import ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.observed_job import ObservedJob

__all__ = ["ROUTES", "stacks_of"]

TIMEOUT = 5.0
"""Seconds in which a job must answer; after that, its last report is shown."""


class SubtaskStack(msgspec.Struct, frozen=True):
    """Stack of a subtask that has been running for a long time."""

    operator: str
    subtask: int
    worker: str
    seconds: float
    stack: str


class EpochState(msgspec.Struct, frozen=True):
    """The running epoch."""

    epoch: int
    attempt: int
    since: int
    """ms since the epoch of Unix."""
    subtasks: int
    done: int | None


class StacksAnswer(msgspec.Struct, frozen=True, rename="kebab"):
    """Answer of ``/jobs/:jobid/stacks``."""

    subtasks: list[SubtaskStack]
    """Subtasks that have been running for more than two seconds, the longest first."""
    epoch: EpochState | None
    driver: str | None
    """Stack of the driver; None if the job has not answered."""
    waits_for: str


def stacks_of(job: ObservedJob) -> StacksAnswer:
    """Stacks of a job, from its answer or its last report."""
    if job.job.is_over or job.directory is None:
        return StacksAnswer([], None, None, "")
    try:
        return _answered(ask(job.directory, "stacks", {}, timeout=TIMEOUT))
    except JobControlError as error:
        return _last_told(job, str(error))


def get_stacks(server: JobServer, request: ApiRequest) -> StacksAnswer:
    """Answer ``GET /jobs/:jobid/stacks``."""
    return stacks_of(server.observed(request))


def _answered(answer: dict[str, Any]) -> StacksAnswer:
    running = answer["running"]
    epoch = None
    if running is not None:
        epoch = EpochState(**{name: running[name] for name in EpochState.__struct_fields__})
    subtasks = [SubtaskStack(**subtask) for subtask in answer["stacks"]]
    return StacksAnswer(subtasks, epoch, answer["driver"], answer["waits_for"])


def _last_told(job: ObservedJob, reason: str) -> StacksAnswer:
    running = job.details.running
    subtasks = [] if running is None else [SubtaskStack(*busy) for busy in running.busy]
    return StacksAnswer(subtasks, None if running is None else _epoch(running), None, reason)


def _epoch(running: EpochAttempt) -> EpochState:
    return EpochState(
        running.number, running.attempt, running.since, running.subtasks, running.done
    )


ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/stacks",
        get_stacks,
        "The stacks of the driver, and of subtasks that have been running for long.",
        StacksAnswer,
    ),
)
