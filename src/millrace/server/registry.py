"""What a job server remembers, behind one interface: jobs, their attempts and what they were asked.

Flink: ``JobGraphStore`` and ``JobResultStore``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from millrace.common.errors import StateError
from millrace.common.job import JobStatus

__all__ = [
    "Goal",
    "LeadershipLostError",
    "ProcessAttempt",
    "RegisteredJob",
    "Registry",
    "Submission",
    "TriggeredOperation",
]


class LeadershipLostError(StateError):
    """A server that does not lead, or not any more, wanted to change what the registry keeps."""


class Goal(Enum):
    """What becomes of a job when its process is found dead."""

    RUN = "RUN"
    """It is restarted by its strategy."""
    END = "END"
    """It was cancelled or stopped, so it ends."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A job file with all that is needed to run it."""

    program: str
    """Path of the job file on the server's machine."""
    name: str | None = None
    """None: as the program calls it."""
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """Further words for ``millrace run`` before the job file."""


@dataclass(frozen=True, slots=True)
class RegisteredJob:
    """A job that was given to the server; times in ms since the epoch of Unix."""

    id: str
    """32 hexadecimal digits."""
    submission: Submission
    status: JobStatus = JobStatus.CREATED
    goal: Goal = Goal.RUN
    created: int = 0
    ended: int | None = None
    error: str = ""

    @property
    def is_over(self) -> bool:
        """Whether no process of it will run any more."""
        return self.status.is_terminal_state()


@dataclass(frozen=True, slots=True)
class ProcessAttempt:
    """One process of a job."""

    job: str
    number: int
    """From 0, counted per job."""
    pid: int
    started: int
    ended: int | None = None
    outcome: str = ""
    """In a few words; empty: it runs."""
    host: str = ""
    """The name of the machine that it was started on; empty: an earlier version did not say."""
    space: str = ""
    """What its process id is unique in (see `process_space`); empty: unknown."""
    token: int = 0
    """The fencing token of the server that started it."""


@dataclass(frozen=True, slots=True)
class TriggeredOperation:
    """A request to a job whose answer takes its time (Flink: asynchronous operation)."""

    id: str
    """32 hexadecimal digits."""
    job: str
    kind: str
    created: int
    run_id: str = ""
    """The run of the job that was asked."""
    message: str = ""
    """Id of the request in the job's mailbox."""
    result: str | None = None
    """As JSON; None: it did not succeed, or not yet."""
    error: str | None = None
    """Why it failed; None: it did not, or not yet."""

    @property
    def is_done(self) -> bool:
        """Whether the answer has come."""
        return self.result is not None or self.error is not None


class Registry(Protocol):
    """Keeps jobs, attempts and triggers; each call is durable when it returns.

    For several threads, and read by several servers. It is written under the fencing token of the
    server that leads, told by `enter`: once a server has entered with a greater one, whatever a
    server with a lesser one wants to write is refused with LeadershipLostError.
    """

    changes: int
    """How often something was changed through this object, counted once it is durable."""

    def claim(self) -> bool:
        """Become the one server of this registry, and enter; False: another process is."""

    def last_token(self) -> int:
        """The greatest fencing token that a server has entered with; 0: none has."""

    def enter(self, token: int) -> None:
        """Write under a fencing token from now on.

        Raises:
            LeadershipLostError: a server has entered with a greater one.
        """

    def leave(self) -> None:
        """Write nothing any more."""

    def close(self) -> None:
        """Give the registry back."""

    def jobs(self) -> list[RegisteredJob]:
        """All jobs, the oldest first."""

    def unfinished_jobs(self) -> list[RegisteredJob]:
        """Those that have not ended, the oldest first."""

    def job(self, id: str) -> RegisteredJob | None:
        """A job; None: there is none of that id."""

    def put_job(self, job: RegisteredJob) -> None:
        """Keep a new job, or what has become of one."""

    def forget_jobs(self, keep: int) -> list[str]:
        """Forget all jobs that have ended but those that ended last, with their attempts and
        triggers; who has a trigger without an answer is kept. Returns the ids.

        Args:
            keep: how many are remembered.
        """

    def attempts(self, job: str) -> list[ProcessAttempt]:
        """The processes of a job, the first one first."""

    def restarts(self, job: str | None = None) -> dict[str, int]:
        """How often jobs were started again because a process of theirs had died; none: never.

        Args:
            job: of this one alone.
        """

    def put_attempt(self, attempt: ProcessAttempt) -> None:
        """Keep a new attempt, or what has become of one."""

    def trigger(self, id: str) -> TriggeredOperation | None:
        """A trigger; None: there is none of that id."""

    def open_triggers(self) -> list[TriggeredOperation]:
        """Those whose answer has not come."""

    def succeeded_triggers(self) -> list[TriggeredOperation]:
        """Those of jobs that have a result, the oldest first."""

    def put_trigger(self, trigger: TriggeredOperation) -> None:
        """Keep a new trigger, or its answer."""

    def forget_triggers(self, job: str, keep: int) -> None:
        """Forget the triggers of a job that were answered, but the newest.

        Args:
            job: its id; empty: those that belong to no job.
            keep: how many are remembered.
        """
