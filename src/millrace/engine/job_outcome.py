"""The outcome of a job that has ended by an error, and what becomes of its checkpoints."""

from __future__ import annotations

from millrace.common.config.checkpoint_config import ExternalizedCheckpointRetention
from millrace.common.errors import JobCancelledError, MillraceError
from millrace.common.job import JobStatus
from millrace.engine.job_state import JobStateMachine

__all__ = ["discards_checkpoints", "outcome"]


def outcome(status: JobStatus, error: BaseException) -> JobStatus:
    """What a job becomes that was in a state when it ended by an error."""
    if not isinstance(error, JobCancelledError):
        return JobStatus.FAILED
    return JobStatus.CANCELED if status is JobStatus.CANCELLING else JobStatus.SUSPENDED


def discards_checkpoints(
    retention: ExternalizedCheckpointRetention,
    states: JobStateMachine,
    cause: BaseException | None,
    owes: bool,
) -> bool:
    """Whether a job's checkpoints are deleted when it ends, by some ``cause`` or as it should.

    Those of a job that has failed stay if its sinks owe commits that they name: the run that
    resumes makes these.
    """
    if cause is None:
        return retention.discards_when_finished
    ends_as = outcome(states.status, cause)
    if ends_as is JobStatus.CANCELED:
        return retention.discards_when_cancelled
    ran = JobStatus.RUNNING in states.since
    failed = ends_as is JobStatus.FAILED and ran and isinstance(cause, MillraceError)
    return failed and not owes and retention.discards_when_failed
