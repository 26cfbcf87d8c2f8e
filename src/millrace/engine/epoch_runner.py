"""Runs epochs, and decides how the job goes on after a failed attempt."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock

from millrace.common.errors import JobCancelledError, JobExecutionError, UserFunctionError
from millrace.common.job import JobStatus
from millrace.engine.clock import Clock
from millrace.engine.command_bus import CommandBus
from millrace.engine.deployment import Deployment
from millrace.engine.end_files import EndWish
from millrace.engine.epoch_check import (
    EpochRefusedError,
    check,
    evicted,
    state_misses,
    storage_failure,
    user_failure,
)
from millrace.engine.executor import EpochHooks, Executor, ExecutorError
from millrace.engine.job_history import JobHistory
from millrace.engine.job_state import JobStateMachine
from millrace.engine.restart import RestartDecider
from millrace.filesystem.crash_points import crash_point
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.runtime.logs.shipped_log import replay

__all__ = ["EpochRunner"]

log = logging.getLogger(__name__)

INFRASTRUCTURE_RETRIES = 5
"""Number of consecutive retries of an epoch lost by Spark before the job fails, or restarts."""
FIRST_PAUSE_MS = 200
"""Milliseconds before an epoch runs again that was lost twice in a row; doubled each time."""


class EpochRunner:
    """Runs the attempts of epochs, one after the other.

    Args:
        decider: decides whether a job restarts after a failure of a function.
    """

    def __init__(
        self,
        executor: Executor,
        clock: Clock,
        states: JobStateMachine,
        bus: CommandBus,
        history: JobHistory,
        decider: RestartDecider,
    ) -> None:
        self._executor = executor
        self._clock = clock
        self._states = states
        self._bus = bus
        self._history = history
        self._decider = decider
        self.attempt_failed: Callable[[JobExecutionError], None] = lambda error: None
        """Called with a failure before the job restarts after it."""
        self.attempt = 0
        """Number of attempts of the next epoch so far."""
        self._lost_in_a_row = 0
        self._lock = Lock()
        self._running: tuple[int, int] | None = None
        """Epoch and attempt that the executor runs at present."""
        self._timed_out: str | None = None
        """Reason for which the running attempt must end."""
        self._end = EndWish(None)
        """Request that ends the reading of the running attempt."""

    def fail(self, epoch: int, attempt: int, reason: str) -> None:
        """Make an attempt fail if it is still running. May be called in any thread, and
        repeatedly."""
        # an attempt that ends meanwhile must not have its successor cancelled
        with self._lock:
            if self._running == (epoch, attempt):
                self._timed_out = reason
                self._executor.cancel((epoch, attempt))

    def end_reading(self) -> None:
        """Make the sources of the running attempt end their reading. May be called in any
        thread."""
        with self._lock:
            if self._running is not None:
                self._end.make()
                self._executor.end_reading()

    def run(
        self, plan: EpochPlan, deployment: Deployment, hooks: EpochHooks | None = None
    ) -> list[Ack] | None:
        """Answers of an epoch that may be accepted; None if the epoch must be planned and run
        again. ``hooks`` are called while an epoch is kept open.

        Raises:
            JobCancelledError: the job is being cancelled.
            JobExecutionError: the job fails.
        """
        try:
            acks = self._run_attempt(plan, hooks)
        except ExecutorError as error:
            self._ended_early(plan, deployment, error)
            return None
        crash_point("after-acks")
        for ack in acks:
            replay(ack.log)
            self._history.noticed(ack.notices)
        deployment.restoring |= evicted(acks)
        failure = user_failure(acks)
        if failure is not None:
            self._restart(
                UserFunctionError(failure.operator, failure.record, failure.user_traceback)
            )
            deployment.give_back()
            return None
        failure = storage_failure(acks)
        if failure is not None:
            self._restart(
                JobExecutionError(f"stage '{failure.operator}': {failure.user_traceback}")
            )
            return None
        return self._checked(plan, deployment, acks)

    def _run_attempt(self, plan: EpochPlan, hooks: EpochHooks | None) -> list[Ack]:
        with self._lock:
            self._running, self._timed_out = (plan.epoch, plan.attempt), None
            self._end = EndWish(plan.end_file, plan.end_object)
        if self._bus.wanted.is_set():  # since the plan was made
            self.end_reading()
        try:
            if hooks is None:
                return self._executor.run_epoch(plan)
            return self._executor.run_epoch(plan, hooks)
        except JobExecutionError as error:
            if self._states.status is JobStatus.CANCELLING:
                raise JobCancelledError("the job was cancelled") from error
            raise
        finally:
            with self._lock:
                self._running = None
                self._end.forget()

    def _checked(
        self, plan: EpochPlan, deployment: Deployment, acks: list[Ack]
    ) -> list[Ack] | None:
        misses = state_misses(deployment.program, acks)
        if misses:
            log.info("%d subtasks need their whole state; running the epoch again", len(misses))
            deployment.restoring |= misses
            self.attempt += 1
            self._history.repeated()
            return None
        try:
            check(deployment.program, acks)
        except EpochRefusedError as refusal:
            self._history.refused += 1
            self._lost(plan, ExecutorError(str(refusal)))
            return None
        self.attempt = self._lost_in_a_row = 0
        return acks

    def _ended_early(self, plan: EpochPlan, deployment: Deployment, error: ExecutorError) -> None:
        deployment.restoring |= error.lost
        reason = self._timed_out
        if reason is None:
            self._lost(plan, error)
            return
        self._restart(JobExecutionError(reason))
        deployment.give_back()

    def _lost(self, plan: EpochPlan, error: ExecutorError) -> None:
        """Handle an epoch lost to the infrastructure: run it again, up to a limit."""
        self.attempt += 1
        self._lost_in_a_row += 1
        self._history.failed(error, self._clock.now())
        log.warning("epoch %d was lost and runs again: %s", plan.epoch, error)
        if self._lost_in_a_row > INFRASTRUCTURE_RETRIES:
            failure = JobExecutionError(
                f"epoch {plan.epoch} was lost {self._lost_in_a_row} times in a row: {error}"
            )
            failure.__cause__ = error
            self._lost_in_a_row = 0
            self._restart(failure)
        if self._lost_in_a_row > 1:
            pause = FIRST_PAUSE_MS << (self._lost_in_a_row - 2)
            self._clock.wait_until(self._clock.now() + pause, self._bus.ending)

    def _restart(self, error: JobExecutionError) -> None:
        """Ask the restart strategy after a failure of a user function or of a subtask's storage,
        or after repeated failures of the infrastructure."""
        now = self._clock.now()
        delay = self._decider.delay_after_failure(now)
        if delay is None:
            raise error
        self._states.enter(JobStatus.RESTARTING)
        self._history.failed(error, now)
        self._history.restarts += 1
        self.attempt += 1
        log.warning("restarting in %d ms after: %s", delay, error)
        self.attempt_failed(error)
        self._clock.wait_until(now + delay, self._bus.ending)
        self._states.enter(JobStatus.RUNNING)
