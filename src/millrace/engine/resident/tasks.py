"""Interface between the executor of resident tasks and the system that starts these tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from millrace.runtime.program import Program
from millrace.runtime.resident.patience import SATURATED_TIMEOUT

__all__ = ["ResidentSettings", "RunningTasks", "TaskStarter", "WhileWanted", "always", "never"]

WhileWanted = Callable[[], bool]
"""Whether somebody who waits may go on waiting."""


def always() -> bool:
    """Whatever happens, somebody who waits may go on."""
    return True


def never() -> bool:
    """Nobody may wait."""
    return False


@dataclass(frozen=True)
class ResidentSettings:
    """Settings of resident tasks.

    Args:
        barrier_interval: milliseconds from one barrier to the next, while there is news.
        buffer_timeout: seconds that records wait at most for a buffer to fill; 0: each record is
            processed and sent alone. None: until it is full, or the next barrier.
        heartbeat_timeout: seconds without a heartbeat after which a process counts as lost.
        start_timeout: seconds in which all tasks must have started.
        spare_slots: slots of the application that further tasks leave free. A job that has no task
            takes the last slot all the same.
        saturated_timeout: the buffer timeout of a worker that is hardly ever idle, if it is longer.
    """

    barrier_interval: int = 1000
    buffer_timeout: float | None = 0.005
    heartbeat_timeout: float = 50.0
    start_timeout: float = 60.0
    spare_slots: int = 0
    saturated_timeout: float = SATURATED_TIMEOUT


class RunningTasks(Protocol):
    """Tasks of one generation."""

    def failure(self) -> str | None:
        """Reason why the tasks have ended. None while they run; empty if they returned as
        requested.
        """

    def kill(self, attempt: int) -> None:
        """Kill one task attempt, whose process may be frozen. It is started again."""

    def reason(self, attempt: int) -> str:
        """Reason why a task attempt has ended; empty if it is not known. Called after the loss of a
        task, because all other tasks may be about to end, too.
        """

    def leaving(self, attempts: Sequence[int]) -> Sequence[int]:
        """Task attempts, among ``attempts``, whose executors are about to be removed."""

    def cancel(self) -> None:
        """End the tasks, without waiting for them."""

    def wait(self, seconds: float) -> bool:
        """Wait until the tasks have ended. Returns False if they have not."""


class TaskStarter(Protocol):
    """Starts resident tasks."""

    @property
    def host(self) -> str:
        """Address at which tasks reach the driver."""

    @property
    def bind(self) -> str:
        """Address of this machine at which the driver listens."""

    @property
    def port(self) -> int:
        """Port at which the driver listens; 0 for any."""

    def start(
        self,
        address: str,
        token: bytes,
        generation: int,
        tasks: int,
        may_wait: WhileWanted = always,
    ) -> RunningTasks:
        """Start ``tasks`` tasks. A lost task is started again, while the others stay.

        Args:
            may_wait: whether to wait, still, for slots that are about to become free.

        Raises:
            ExecutorError: there are too few slots, or Spark does not run.
        """

    def cores(self, spare: int = 0, may_wait: WhileWanted = always) -> int | None:
        """Number of tasks that the system can run at present if ``spare`` of its slots stay free.
        None if the system has no limit.

        Args:
            may_wait: whether to wait, still, for hosts that are about to register.
        """

    def free_slots(self) -> int | None:
        """Number of further tasks that could start now. None if there is no limit."""

    def adapted(self, program: Program) -> Program:
        """A copy of the program with the settings of the processes in which the tasks run."""

    def forget(self, run_id: str) -> None:
        """Let processes forget a run that another one has replaced."""

    def require_running(self) -> None:
        """Raise if the application has ended.

        Raises:
            ApplicationLostError: the application has ended.
        """
