"""The handle on a running job (Flink: interface ``JobClient``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from millrace.common.completable_future import CompletableFuture
from millrace.common.job import JobExecutionResult, JobID, JobStatus
from millrace.common.savepoint_format_type import SavepointFormatType

__all__ = ["JobClient"]


class JobClient(ABC):
    """Handle on a running job, returned by `StreamExecutionEnvironment.execute_async`."""

    @abstractmethod
    def get_job_id(self) -> JobID:
        """The job's id."""

    @abstractmethod
    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Status of the job; the future is already complete."""

    @abstractmethod
    def cancel(self) -> CompletableFuture[None]:
        """End the job immediately; its last checkpoint stays."""

    @abstractmethod
    def trigger_savepoint(
        self,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType = SavepointFormatType.CANONICAL,
    ) -> CompletableFuture[str]:
        """Take a savepoint of the running job; the future gives its path."""

    @abstractmethod
    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool = False,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType = SavepointFormatType.CANONICAL,
    ) -> CompletableFuture[str]:
        """Take a savepoint and end the job with it; the future gives its path."""

    @abstractmethod
    def cancel_with_savepoint(
        self,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType = SavepointFormatType.CANONICAL,
    ) -> CompletableFuture[str]:
        """Take a savepoint and cancel the job; the future gives its path."""

    @abstractmethod
    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """A future of the result. The future raises the job's error if the job failed."""

    @abstractmethod
    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Current results of accumulators, and the functions' metrics over all subtasks."""
