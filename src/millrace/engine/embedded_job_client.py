"""A handle on a job of this process: its status, its end, and how to stop it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

from millrace.common.completable_future import CompletableFuture
from millrace.common.job import JobExecutionResult, JobID, JobStatus
from millrace.common.job_client import JobClient
from millrace.common.savepoint_format_type import SavepointFormatType
from millrace.engine.job_details import JobDetails
from millrace.engine.job_manager import JobManager
from millrace.engine.job_requests import (
    After,
    CancelRequest,
    CheckpointRequest,
    RescaleRequest,
    SavepointRequest,
    StopRequest,
)
from millrace.engine.savepoint_at_end import at_end

__all__ = ["EmbeddedJobClient"]


class EmbeddedJobClient(JobClient):
    """Returned by `StreamExecutionEnvironment.execute_async` (Flink: ``EmbeddedJobClient``)."""

    def __init__(self, manager: JobManager) -> None:
        self._manager = manager

    def __repr__(self) -> str:
        details = self.progress()
        checkpoint = "" if details.checkpoint is None else f", checkpoint {details.checkpoint}"
        failures = f", {details.restarts} restarts" if details.restarts else ""
        return (
            f"<job {details.job_name!r}, {self.get_job_id()}: {details.status.name}, "
            f"{details.records:,} records read{checkpoint}{failures}>"
        )

    def start(self) -> EmbeddedJobClient:
        """Begin to run the job in a thread of its own."""
        name = f"millrace-{self._manager.job_id}"
        Thread(target=self.run, name=name, daemon=True).start()
        return self

    def run(self) -> None:
        """Run the job in this thread; its outcome is in `result`."""
        self._manager.run()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call back, in the job's thread, when the job has ended in whatever way."""
        self._manager.result.add_done_callback(lambda _: callback())

    def get_job_id(self) -> JobID:
        """The job's id."""
        return self._manager.job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job stands."""
        return CompletableFuture.completed(self._manager.states.status)

    def get_job_directory(self) -> str:
        """Where the job keeps its checkpoints, and says where its REST endpoint is."""
        return self._manager.job_dir

    @property
    def final_savepoint(self) -> str | None:
        """The savepoint that the job has ended with; None: it ended otherwise, or has not."""
        return self._manager.final_savepoint

    def progress(self) -> JobDetails:
        """How the job is doing at this moment: state, totals, checkpoints, exceptions."""
        return self._manager.details()

    def cancel(self) -> CompletableFuture[None]:
        """End the job at once; its last checkpoint stays. Wait for the end with `result`."""
        return self._manager.bus.submit(CancelRequest())

    def interrupt(self) -> None:
        """End the job at once, without deciding about its checkpoints: it is then SUSPENDED, and
        `result` raises KeyboardInterrupt."""
        self._manager.interrupt()

    def trigger_checkpoint(self) -> CompletableFuture[int]:
        """Make a checkpoint with the next epoch, whatever the interval (Flink:
        ``ClusterClient.triggerCheckpoint``).

        Returns:
            Its number.
        """
        return self._manager.bus.submit(CheckpointRequest())

    def trigger_savepoint(
        self,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType = SavepointFormatType.CANONICAL,
    ) -> CompletableFuture[str]:
        """Make a savepoint while the job goes on: of its state now, as soon as the sinks have
        committed all that precedes it.

        Args:
            savepoint_directory: where; None: as configured
                (``execution.checkpointing.savepoint-dir``).
            format_type: for everybody, or for this job (Flink docs, "Savepoints").

        Returns:
            The savepoint's path, or the CheckpointError that it failed with.
        """
        return self._ask(savepoint_directory, After.GO_ON, format_type)

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool = False,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType = SavepointFormatType.CANONICAL,
    ) -> CompletableFuture[str]:
        """Make a savepoint and end the job with it, which is then FINISHED. The job goes on when
        the savepoint cannot be written. It fails, and there is no savepoint, when the sinks cannot
        commit what precedes it: the job that resumes does.

        Args:
            advance_to_end_of_event_time: end all input first: timers fire, windows close. For a
                job that is not to be resumed (Flink: ``--drain``).
            savepoint_directory: where; None: as configured.
            format_type: see `trigger_savepoint`.

        Returns:
            The savepoint's path, once the job has ended. Of a savepoint that could not be written,
            the CheckpointError, at once; a JobExecutionError when the savepoint is complete and the
            job failed nevertheless (Flink: ``StopWithSavepointStoppingException``).
        """
        after = After.DRAIN if advance_to_end_of_event_time else After.STOP
        return at_end(self._ask(savepoint_directory, after, format_type), self._manager.result)

    def cancel_with_savepoint(
        self,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType = SavepointFormatType.CANONICAL,
    ) -> CompletableFuture[str]:
        """Make a savepoint and cancel the job; the path is there once the job has ended."""
        asked = self._ask(savepoint_directory, After.CANCEL, format_type)
        return at_end(asked, self._manager.result)

    def _ask(
        self, directory: str | None, after: After, format_type: SavepointFormatType
    ) -> CompletableFuture[str]:
        return self._manager.bus.submit(SavepointRequest(directory, after, format_type))

    def rescale(self, parallelism: int) -> CompletableFuture[None]:
        """Go on with another parallelism of all operators that have not been given one of their
        own, between two epochs: nothing is read again and nothing restarts.

        Returns:
            When the job goes on with it; JobDefinitionError when it is not possible.
        """
        return self._manager.bus.submit(RescaleRequest(parallelism))

    def stop(self) -> None:
        """End the job after the running epoch, with a checkpoint to resume from: it is then
        SUSPENDED."""
        self._manager.bus.submit(StopRequest())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """A future of the result; it raises what made the job fail."""
        return self._manager.result

    def result(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait (seconds) for the job's end. Raises what made it fail, or TimeoutError."""
        return self._manager.result.result(timeout)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The results of accumulators so far, and the functions' metrics over all subtasks."""
        return CompletableFuture.completed(self._manager.accumulators())
