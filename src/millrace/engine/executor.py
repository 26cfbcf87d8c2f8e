"""The executor protocol: what runs epochs for the engine, on Spark or in this process for tests."""

from __future__ import annotations

from typing import Protocol

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import JobExecutionError
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.runtime.program import Program


class ExecutorError(JobExecutionError):
    """An epoch was lost to the infrastructure (a task, an executor); it can be run again."""


class ApplicationLostError(JobExecutionError):
    """What the job runs in has ended, by no fault of the job: another process can go on."""


class Executor(Protocol):
    """Runs epochs of one job, one after the other."""

    def deploy(self, program: Program) -> None:
        """Make the program known: before the first epoch, and in the place of another program
        when the job is rescaled."""

    def prepare(self, program: Program) -> CompletableFuture[None]:
        """Start what another program needs beside the one that runs, while epochs go on; it fails
        with an ExecutorError."""

    def run_epoch(self, plan: EpochPlan) -> list[Ack]:
        """Run one epoch to its end. Raises ExecutorError when the infrastructure failed."""

    def cancel(self) -> None:
        """Make a running epoch end soon (with an ExecutorError); callable from any thread."""

    def finished(self) -> None:
        """The job's input has ended: what workers have of it on their hosts may go. Before
        `close`; what fails is not told."""

    def close(self) -> None:
        """Forget the program."""
