"""The job server's memory: jobs, their attempts and their triggers.

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
    """A server that does not lead, or no longer leads, tried to change the registry."""


class Goal(Enum):
    """The intent for a job: run, or end."""

    RUN = "RUN"
    """The job is to run; its restart strategy applies if its process dies."""
    END = "END"
    """The job is to end, because it was cancelled or stopped."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A job file with everything that is needed to run it."""

    program: str
    """Path of the job file on the server's machine."""
    name: str | None = None
    """Name of the job; None if the program chooses it."""
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """Additional arguments of ``millrace run``, before the job file."""


@dataclass(frozen=True, slots=True)
class RegisteredJob:
    """A job that a client gave to the server; times in ms since the Unix epoch."""

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
        """Whether the job will have no further process."""
        return self.status.is_terminal_state()


@dataclass(frozen=True, slots=True)
class ProcessAttempt:
    """One process of a job."""

    job: str
    number: int
    """Number of the attempt, counted per job from 0."""
    pid: int
    started: int
    ended: int | None = None
    outcome: str = ""
    """Outcome in a few words; empty while the process runs."""
    host: str = ""
    """Name of the machine on which the process was started; empty in records of earlier
    versions."""
    space: str = ""
    """Space in which the process id is unique (see `process_space`); empty if unknown."""
    token: int = 0
    """Fencing token of the server that started the process."""


@dataclass(frozen=True, slots=True)
class TriggeredOperation:
    """An asynchronous request to a job (Flink: asynchronous operation)."""

    id: str
    """32 hexadecimal digits."""
    job: str
    kind: str
    created: int
    run_id: str = ""
    """Run of the job to which the request was sent."""
    message: str = ""
    """Id of the request in the job's mailbox."""
    result: str | None = None
    """Result as JSON; None if the operation has not succeeded (yet)."""
    error: str | None = None
    """Reason of the failure; None if the operation has not failed (yet)."""

    @property
    def is_done(self) -> bool:
        """Whether the request is answered."""
        return self.result is not None or self.error is not None


class Registry(Protocol):
    """Storage of jobs, attempts and triggers; each call is durable when it returns.

    For several threads, and read by several servers. It is written under the fencing token of the
    server that leads, told by `enter`: once a server has entered with a greater one, whatever a
    server with a lesser one wants to write is refused with LeadershipLostError.
    """

    changes: int
    """Number of durable changes made through this object."""

    def claim(self) -> bool:
        """Claim the registry for this server alone, and enter it; False if another process has
        claimed it."""

    def last_token(self) -> int:
        """The greatest fencing token of any server; 0 if there was none."""

    def enter(self, token: int) -> None:
        """Begin to write under a fencing token.

        Raises:
            LeadershipLostError: a server has entered with a greater one.
        """

    def leave(self) -> None:
        """Stop writing."""

    def close(self) -> None:
        """Release the registry."""

    def jobs(self) -> list[RegisteredJob]:
        """All jobs, the oldest first."""

    def unfinished_jobs(self) -> list[RegisteredJob]:
        """Jobs that have not ended, the oldest first."""

    def job(self, id: str) -> RegisteredJob | None:
        """The job with an id; None if there is none."""

    def put_job(self, job: RegisteredJob) -> None:
        """Store a new job or a job's new state."""

    def forget_jobs(self, keep: int, before: int | None = None) -> list[str]:
        """Delete all ended jobs but the last ``keep``, with their attempts and triggers; return the
        ids. Jobs with an open trigger stay.

        Args:
            keep: number of ended jobs that are kept.
            before: jobs that ended before this time (ms since the Unix epoch) are deleted, too.
        """

    def attempts(self, job: str) -> list[ProcessAttempt]:
        """The processes of a job, in order of their start."""

    def restarts(self, job: str | None = None) -> dict[str, int]:
        """Number of restarts after the death of a process, per job; jobs without one are left out.

        Args:
            job: id of the only job to count for; None for all jobs.
        """

    def put_attempt(self, attempt: ProcessAttempt) -> None:
        """Store a new attempt or an attempt's new state."""

    def trigger(self, id: str) -> TriggeredOperation | None:
        """The trigger with an id; None if there is none."""

    def open_triggers(self) -> list[TriggeredOperation]:
        """Triggers without an answer."""

    def succeeded_triggers(self, job: str | None = None) -> list[TriggeredOperation]:
        """Triggers of one job, or of all jobs, that have a result; the oldest first."""

    def put_trigger(self, trigger: TriggeredOperation) -> None:
        """Store a new trigger or its answer."""

    def forget_triggers(self, job: str, keep: int) -> None:
        """Delete the answered triggers of a job, except the newest ``keep``.

        Args:
            job: its id; empty: those that belong to no job.
            keep: number of answered triggers that are kept.
        """
