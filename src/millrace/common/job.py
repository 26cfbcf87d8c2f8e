"""Identity, status and result of a job."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

__all__ = ["JobExecutionResult", "JobID", "JobStatus"]


@dataclass(frozen=True, slots=True, order=True)
class JobID:
    """Id of a job: 32 hexadecimal digits.

    Raises:
        ValueError: the text is something else.

    Example:
        >>> str(JobID.from_name("word count"))
        '09316841327fe82074dbd912a6b9302c'
    """

    hex: str

    def __post_init__(self) -> None:
        if len(self.hex) != 32 or not set(self.hex) <= set("0123456789abcdef"):
            raise ValueError(f"a job id has 32 hexadecimal digits, got {self.hex!r}")

    @staticmethod
    def generate() -> JobID:
        """A new random id."""
        return JobID(secrets.token_hex(16))

    @staticmethod
    def from_name(name: str) -> JobID:
        """The id that belongs to a job's name, always the same."""
        return JobID(hashlib.blake2b(name.encode(), digest_size=16).hexdigest())

    def __str__(self) -> str:
        return self.hex


class JobStatus(Enum):
    """State of a job (Flink docs, "Jobs and Scheduling")."""

    CREATED = 0
    """The job has not started."""
    RUNNING = 1
    FAILING = 2
    """The job has failed and is being cleaned up."""
    FAILED = 3
    """The job ended by a failure."""
    CANCELLING = 4
    CANCELED = 5
    """The job ended on request."""
    FINISHED = 6
    """The job ended because its input ended."""
    RESTARTING = 7
    SUSPENDED = 8
    """The job ended here, but can be resumed."""
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Whether the job is over and cannot be resumed."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Whether the job has ended in this process; it may still be resumed."""
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()


@dataclass(frozen=True, slots=True)
class JobExecutionResult:
    """Result of a finished job. ``net_runtime_ms`` in milliseconds."""

    job_id: JobID
    net_runtime_ms: int
    accumulator_results: dict[str, Any] = field(default_factory=dict)

    def get_job_id(self) -> JobID:
        """Id of the job."""
        return self.job_id

    def get_net_runtime(self) -> int:
        """Runtime of the job in milliseconds."""
        return self.net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Result of an accumulator; None if the name is unknown."""
        return self.accumulator_results.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Results of all accumulators by name."""
        return dict(self.accumulator_results)
