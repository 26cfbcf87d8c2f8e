"""Handle on a job of this process: its status, its end, and ways to stop it."""

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
    AfterSavepoint,
    CancelRequest,
    CheckpointRequest,
    MessageRequest,
    RescaleRequest,
    SavepointRequest,
    StopRequest,
)
from millrace.engine.savepoint_at_end import at_end

__all__ = ["EmbeddedJobClient"]


class EmbeddedJobClient(JobClient):
    """Handle on a job, returned by `StreamExecutionEnvironment.execute_async` (Flink:
    ``EmbeddedJobClient``).

    Args:
        collects: whether the job's only results are those that this process reads.
    """

    def __init__(self, manager: JobManager, collects: bool = False) -> None:
        self._manager = manager
        self.collects = collects

    def __repr__(self) -> str:
        details = self.progress()
        checkpoint = "" if details.checkpoint is None else f", checkpoint {details.checkpoint}"
        failures = f", {details.restarts} restarts" if details.restarts else ""
        return (
            f"<job {details.job_name!r}, {self.get_job_id()}: {details.status.name}, "
            f"{details.records:,} records read{checkpoint}{failures}>"
        )

    def start(self) -> EmbeddedJobClient:
        """Run the job in a new thread."""
        name = f"millrace-{self._manager.job_id}"
        Thread(target=self.run, name=name, daemon=True).start()
        return self

    def run(self) -> None:
        """Run the job in this thread; `result` has its outcome."""
        self._manager.run()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` in the job's thread at the end of the job, successful or not."""
        self._manager.result.add_done_callback(lambda _: callback())

    def when_failed(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` in the job's thread if the job fails, before `result` raises its
        error. Must be called before the job starts."""
        self._manager.on_failure += (callback,)

    def get_job_id(self) -> JobID:
        """The job's id."""
        return self._manager.job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Status of the job."""
        return CompletableFuture.completed(self._manager.states.status)

    def get_job_directory(self) -> str:
        """Directory with the job's checkpoints and the address of its REST endpoint."""
        return self._manager.job_dir

    @property
    def run_id(self) -> str:
        """Id of this run of the job, which its checkpoints name."""
        return self._manager.run_id

    @property
    def final_savepoint(self) -> str | None:
        """Path of the savepoint with which the job has ended; None if it has not ended, or ended
        without one."""
        return self._manager.final_savepoint

    def progress(self) -> JobDetails:
        """Current details of the job: state, totals, checkpoints, exceptions."""
        return self._manager.details()

    def cancel(self) -> CompletableFuture[None]:
        """End the job immediately; its last checkpoint stays. `result` waits for the end."""
        return self._manager.bus.submit(CancelRequest())

    def interrupt(self) -> None:
        """End the job immediately, without a decision about its checkpoints. It is then
        SUSPENDED, and `result` raises KeyboardInterrupt."""
        self._manager.interrupt()

    def trigger_checkpoint(self) -> CompletableFuture[int]:
        """Make a checkpoint with the next epoch, independent of the interval (Flink:
        ``ClusterClient.triggerCheckpoint``).

        Returns:
            The checkpoint's number.
        """
        return self._manager.bus.submit(CheckpointRequest())

    def trigger_savepoint(
        self,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType = SavepointFormatType.CANONICAL,
    ) -> CompletableFuture[str]:
        """Make a savepoint of the current state while the job goes on. It is written as soon as the
        sinks have committed everything before it.

        Args:
            savepoint_directory: directory of the savepoint; None for the configured one
                (``execution.checkpointing.savepoint-dir``).
            format_type: canonical, for all readers, or native, for this job (Flink docs,
                "Savepoints").

        Returns:
            The savepoint's path, or the CheckpointError with which it failed.
        """
        return self._ask(savepoint_directory, AfterSavepoint.GO_ON, format_type)

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool = False,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType = SavepointFormatType.CANONICAL,
    ) -> CompletableFuture[str]:
        """Make a savepoint and end the job with it, which is then FINISHED. If the savepoint cannot
        be written, the job goes on. If the sinks cannot commit everything before it, the job fails
        without a savepoint, and a resumed job commits it.

        Args:
            advance_to_end_of_event_time: whether to end all input first, so that timers fire and
                windows close. Only for a job that will not be resumed (Flink: ``--drain``).
            savepoint_directory: directory of the savepoint; None for the configured one.
            format_type: see `trigger_savepoint`.

        Returns:
            The savepoint's path, once the job has ended. A CheckpointError, at once, if the
            savepoint could not be written. A JobExecutionError if the savepoint is complete but the
            job failed (Flink: ``StopWithSavepointStoppingException``).
        """
        after = AfterSavepoint.DRAIN if advance_to_end_of_event_time else AfterSavepoint.STOP
        return at_end(self._ask(savepoint_directory, after, format_type), self._manager.result)

    def cancel_with_savepoint(
        self,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType = SavepointFormatType.CANONICAL,
    ) -> CompletableFuture[str]:
        """Make a savepoint and cancel the job; the path is available once the job has ended."""
        asked = self._ask(savepoint_directory, AfterSavepoint.CANCEL, format_type)
        return at_end(asked, self._manager.result)

    def _ask(
        self, directory: str | None, after: AfterSavepoint, format_type: SavepointFormatType
    ) -> CompletableFuture[str]:
        return self._manager.bus.submit(SavepointRequest(directory, after, format_type))

    def rescale(self, parallelism: int) -> CompletableFuture[None]:
        """Change, between two epochs, the parallelism of all operators without a parallelism of
        their own. No input is read again, and nothing restarts.

        Returns:
            None, when the job goes on with the new parallelism; JobDefinitionError if it is not
            possible.
        """
        return self._manager.bus.submit(RescaleRequest(parallelism))

    def send_message(self, operator: str, message: bytes) -> CompletableFuture[int]:
        """Send a message to all subtasks of an operator that accepts messages. The subtasks get the
        message between two epochs. State that they derive from the message is part of the
        checkpoint at the end of the second epoch.

        Args:
            operator: uid of the operator.

        Returns:
            Number of that checkpoint; JobControlError if the operator takes no messages.
        """
        return self._manager.bus.submit(MessageRequest(operator, message))

    def stop(self) -> None:
        """End the job after the running epoch, with a checkpoint to resume from: it is then
        SUSPENDED."""
        self._manager.bus.submit(StopRequest())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Future of the result; it raises the error that made the job fail."""
        return self._manager.result

    def result(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait for the job's end, at most ``timeout`` seconds. Raises the error that made the
        job fail, or TimeoutError."""
        return self._manager.result.result(timeout)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Present results of accumulators, and the functions' metrics over all subtasks."""
        return CompletableFuture.completed(self._manager.accumulators())
