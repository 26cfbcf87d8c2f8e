"""Executor protocol: runs epochs for the engine, on Spark or in this process for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import JobExecutionError
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.runtime.program import Program


class ExecutorError(JobExecutionError):
    """An epoch was lost to a failure of the infrastructure (a task, an executor). It can run
    again.

    Args:
        lost: subtasks (stage, index) whose state was lost with a process, as far as known.
    """

    def __init__(self, message: str, lost: Iterable[tuple[int, int]] = ()) -> None:
        super().__init__(message)
        self.lost = frozenset(lost)


class ApplicationLostError(JobExecutionError):
    """The Spark application of the job has ended, through no fault of the job: another process can
    continue the job.
    """


class EpochHooks(Protocol):
    """The engine's part in an epoch that is kept open. All calls are made in the job's thread."""

    @property
    def look_at(self) -> int | None:
        """Time of the next `look`, in ms since the epoch of Unix; None if none is needed."""

    def look(self, now: int) -> bool:
        """Look for new splits and events of sources. Returns whether the epoch must end because of
        new splits or events, which reach the subtasks with the next epoch.
        """

    def closing(self, at: int, may_run_ahead: bool, /) -> bool:
        """Record that the epoch begins to end: its barrier is sent at this time, in ms since the
        epoch of Unix. Returns whether subtasks may begin the next epoch before its plan arrives;
        False if the executor does not allow this."""


class Executor(Protocol):
    """Runs the epochs of one job, one after the other."""

    def deploy(self, program: Program) -> None:
        """Make the program known before the first epoch. A rescaled job calls this again, and
        the new program replaces the old one."""

    def prepare(self, program: Program) -> CompletableFuture[None]:
        """Start the additional workers of another program while epochs go on. The future fails
        with an ExecutorError."""

    @property
    def keeps_epochs_open(self) -> bool:
        """Whether an epoch processes records as they arrive, until there is a reason to end it. If
        not, an epoch processes the input that is available at its start.
        """

    def begin_epoch(self, plan: EpochPlan) -> None:
        """Let the tasks begin an epoch that is kept open, without waiting for its end. `run_epoch`
        follows. Does nothing if the tasks have to be started, or if the executor keeps no epochs
        open."""

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        """Run one epoch to its end. ``hooks`` are called while an epoch is kept
        open. Raises ExecutorError when the infrastructure failed."""

    def end_reading(self) -> None:
        """Make a running epoch that is kept open end; callable from any thread."""

    def cancel(self, only: tuple[int, int] | None = None) -> None:
        """Make a running epoch end soon (with an ExecutorError); callable from any thread.

        Args:
            only: number of the epoch and of its attempt; another one is not cancelled. None for
                whichever runs, or begins: the job ends.
        """

    def finished(self) -> None:
        """Let workers delete the job's data on their hosts, because its input has ended. Called
        before `close`; failures are not reported."""

    def close(self) -> None:
        """Forget the program."""
