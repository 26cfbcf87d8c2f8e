"""An executor around that of resident tasks, which measures how long barriers take."""

from __future__ import annotations

import time
from dataclasses import replace

from millrace.common import Configuration
from millrace.common.completable_future import CompletableFuture
from millrace.datastream.execution_target import SPARE_SLOTS, resident_settings
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.executor import EpochHooks, Executor
from millrace.engine.executor_choice import ExecutorKind
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.runtime.program import Program
from millrace.spark.job_application import job_application


class _NotedHooks:
    """Hooks of an epoch that note when its barrier is sent."""

    def __init__(self, hooks: EpochHooks | None) -> None:
        self._hooks = hooks
        self.closed_at: float | None = None

    @property
    def look_at(self) -> int | None:
        return None if self._hooks is None else self._hooks.look_at

    def look(self, now: int) -> bool:
        return self._hooks is not None and self._hooks.look(now)

    def closing(self, at: int, may_run_ahead: bool, /) -> bool:
        self.closed_at = time.perf_counter()
        return self._hooks is not None and self._hooks.closing(at, may_run_ahead)


class TimedBarriers:
    """Measures the time from a barrier's start to the last acknowledgement.

    Args:
        at_once: whether every epoch ends as soon as it has begun, although it has no records.
    """

    def __init__(self, inner: Executor, at_once: bool = False) -> None:
        self._inner = inner
        self._at_once = at_once
        self.keeps_epochs_open = inner.keeps_epochs_open
        self.barrier_ms: list[float] = []
        """From the message that starts the barrier to the last acknowledgement."""
        self.round_ms: list[float] = []
        """The same and the message that begins the epoch, unless that was sent ahead."""

    def begin_epoch(self, plan: EpochPlan) -> None:
        self._inner.begin_epoch(plan)

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        noted = _NotedHooks(hooks)
        began = time.perf_counter()
        acks = self._inner.run_epoch(replace(plan, ends_at=0) if self._at_once else plan, noted)
        now = time.perf_counter()
        self.round_ms.append(round((now - began) * 1000, 3))
        if noted.closed_at is not None:
            self.barrier_ms.append(round((now - noted.closed_at) * 1000, 3))
        return acks

    def deploy(self, program: Program) -> None:
        self._inner.deploy(program)

    def prepare(self, program: Program) -> CompletableFuture[None]:
        return self._inner.prepare(program)

    def end_reading(self) -> None:
        self._inner.end_reading()

    def cancel(self, only: tuple[int, int] | None = None) -> None:
        self._inner.cancel(only)

    def finished(self) -> None:
        self._inner.finished()

    def close(self) -> None:
        self._inner.close()


def time_barriers(at_once: bool = False) -> list[TimedBarriers]:
    """Have the barriers of this process's jobs measured. Returns the executors, one per job."""
    executors: list[TimedBarriers] = []

    def create(configuration: Configuration, name: str, parallelism: int) -> Executor:
        application = job_application(configuration, name, parallelism, SPARE_SLOTS)
        inner = application.executor(ExecutorKind.RESIDENT, resident_settings(configuration))
        executors.append(TimedBarriers(inner, at_once))
        return executors[-1]

    JobLauncher.install(JobLauncher(executor=create))
    return executors
