"""The records that a job server keeps in its registry (see `SqlRegistry`): jobs, their attempts and
their triggers.

Flink: ``JobGraphStore`` and ``JobResultStore``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from millrace.common.errors import StateError
from millrace.common.job import JobStatus

__all__ = [
    "JobGoal",
    "LeadershipLostError",
    "ProcessAttempt",
    "RegisteredJob",
    "Submission",
    "TriggeredOperation",
]


class LeadershipLostError(StateError):
    """A server that does not lead, or no longer leads, tried to change the registry."""


class JobGoal(Enum):
    """The server's goal for a job: to run, or to end."""

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
    goal: JobGoal = JobGoal.RUN
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
