"""The state of a vertex in Flink's words, from the state of its job."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.common.job import JobStatus
from millrace.server.observed_job import ObservedJob

__all__ = ["EXECUTION_STATES", "execution_state", "state_counts", "task_counts"]

EXECUTION_STATES = (
    "CREATED",
    "SCHEDULED",
    "DEPLOYING",
    "RUNNING",
    "FINISHED",
    "CANCELING",
    "CANCELED",
    "FAILED",
    "RECONCILING",
    "INITIALIZING",
)
"""Flink's ``ExecutionState``, in its order."""
_OF_JOB = {
    JobStatus.CREATED: "CREATED",
    JobStatus.RUNNING: "RUNNING",
    JobStatus.FAILING: "CANCELING",
    JobStatus.FAILED: "FAILED",
    JobStatus.CANCELLING: "CANCELING",
    JobStatus.CANCELED: "CANCELED",
    JobStatus.FINISHED: "FINISHED",
    JobStatus.RESTARTING: "SCHEDULED",
    JobStatus.SUSPENDED: "CANCELED",
    JobStatus.RECONCILING: "RECONCILING",
}


def execution_state(job: ObservedJob) -> str:
    """State of all subtasks of a vertex. It is the same for all, because they run epoch by epoch in
    step.
    """
    state = _OF_JOB[job.job.status]
    return "INITIALIZING" if state == "RUNNING" and job.details.epochs == 0 else state


def state_counts(state: str, count: int) -> dict[str, int]:
    """Number of subtasks in each state."""
    return {name: count if name == state else 0 for name in EXECUTION_STATES}


def task_counts(job: ObservedJob, parallelisms: Iterable[int]) -> dict[str, int]:
    """Subtasks per state, as the overview of jobs gives them."""
    total = sum(parallelisms)
    counts = state_counts(execution_state(job), total)
    return {"total": total, **{name.lower(): count for name, count in counts.items()}}
