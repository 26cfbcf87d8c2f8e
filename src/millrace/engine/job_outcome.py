"""The outcome of a job that has ended by an error, and what becomes of its checkpoints."""

from __future__ import annotations

import logging

from millrace.common.config.checkpoint_config import ExternalizedCheckpointRetention
from millrace.common.errors import JobCancelledError, MillraceError
from millrace.common.job import JobStatus
from millrace.engine.executor import ApplicationLostError
from millrace.engine.job_state import JobStateMachine

__all__ = ["discards_checkpoints", "outcome"]

_RUNS = (JobStatus.RUNNING, JobStatus.RESTARTING, JobStatus.CANCELLING)

log = logging.getLogger(__name__)


def outcome(status: JobStatus, error: BaseException) -> JobStatus:
    """Final state of a job that was in a state when it ended by an error."""
    if isinstance(error, KeyboardInterrupt) and status in _RUNS:
        return JobStatus.SUSPENDED  # whoever interrupts the program has not decided about the job
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

    Those of a job that was cancelled or has failed stay if its sinks owe commits that they name:
    the run that resumes makes these.
    """
    if cause is None:
        return retention.discards_when_finished
    ends_as = outcome(states.status, cause)
    if ends_as is JobStatus.CANCELED:
        discards = retention.discards_when_cancelled
    else:
        ran = JobStatus.RUNNING in states.since
        failed = ends_as is JobStatus.FAILED and ran and isinstance(cause, MillraceError)
        # as if it had been killed: another process goes on from there
        failed = failed and not isinstance(cause, ApplicationLostError)
        discards = failed and retention.discards_when_failed
    if discards and owes:
        log.warning(
            "the checkpoints are not deleted: the newest names what sinks have not committed yet; "
            "resume the job to commit it"
        )
    return discards and not owes
