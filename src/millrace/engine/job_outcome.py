"""Outcome of a job that an error has ended, and the fate of its checkpoints."""

from __future__ import annotations

import logging

from millrace.common.config.checkpoint_config import ExternalizedCheckpointRetention
from millrace.common.errors import JobCancelledError, MillraceError
from millrace.common.job import JobStatus
from millrace.engine.deployment import Deployment
from millrace.engine.epoch_timer import EpochTimer
from millrace.engine.executor import ApplicationLostError
from millrace.engine.job_state import JobStateMachine

__all__ = ["RunEnd", "discards_checkpoints", "outcome"]

_RUNS = (JobStatus.RUNNING, JobStatus.RESTARTING, JobStatus.CANCELLING)

log = logging.getLogger(__name__)


def outcome(status: JobStatus, error: BaseException) -> JobStatus:
    """Final state of a job, given its ``status`` when an error ended it."""
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
    """Whether a job's checkpoints are deleted at its end. ``cause`` is the error that ended it;
    None after a normal end.

    The checkpoints of a cancelled or failed job stay if its sinks owe commits that they name: the
    run that resumes makes these commits.
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
            "the checkpoints are not deleted, because the newest one has committables that "
            "sinks have not committed yet; resume the job to commit them"
        )
    return discards and not owes


class RunEnd:
    """Determines when all input has been read, and then runs a last epoch in which operators emit
    their remaining results.

    The input itself does not end: no watermark jumps ahead, and state is kept for the next run.
    """

    def __init__(self) -> None:
        self.begun = False
        """Whether all input has been read. From then on, epochs read nothing, and wait for
        requests in flight."""
        self.reached = False
        """Whether no records are left in loops either. Only commits may still be outstanding."""

    def begin(self, deployment: Deployment) -> None:
        """Called before an epoch is planned."""
        if not self.begun and deployment.reached_end:
            self.begun = True
            deployment.halt()

    def accept(self, deployment: Deployment, timer: EpochTimer) -> None:
        """Called after an epoch was accepted and the next one was scheduled."""
        if self.begun and not deployment.loops.pending:
            self.reached = timer.stands_still = True
        elif deployment.reached_end:
            timer.hurry()
