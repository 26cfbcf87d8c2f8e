"""A handle on a running job: its status, its end, and how to stop it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from threading import Thread
from typing import Any

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import JobCancelledError
from millrace.common.job import JobExecutionResult, JobID, JobStatus
from millrace.common.job_client import JobClient as JobClientInterface
from millrace.engine.job_manager import JobManager
from millrace.engine.job_requests import After, RescaleRequest, SavepointRequest
from millrace.engine.progress import Progress
from millrace.runtime.metrics import Summary


class JobClient(JobClientInterface):
    """Returned by `StreamExecutionEnvironment.execute_async`. Flink: class ``JobClient``."""

    def __init__(self, job_id: JobID, manager: JobManager) -> None:
        self._job_id = job_id
        self._manager = manager
        self._status = JobStatus.CREATED
        self._done: CompletableFuture[JobExecutionResult] = CompletableFuture()
        self._callbacks: list[Callable[[], None]] = []

    def start(self) -> JobClient:
        """Begin to run the job in a thread of its own."""
        Thread(target=self.run, name=f"millrace-{self._job_id}", daemon=True).start()
        return self

    def run(self) -> None:
        """Run the job in this thread; its outcome is in `result`."""
        self._status = JobStatus.RUNNING
        started = time.monotonic()
        try:
            progress = self._manager.run()
        except JobCancelledError as cancelled:
            self._finish(JobStatus.CANCELED, cancelled)
        except BaseException as error:
            self._finish(JobStatus.FAILED, error)
        else:
            runtime = int((time.monotonic() - started) * 1000)
            self._status = JobStatus.FINISHED
            result = JobExecutionResult(self._job_id, runtime, accumulators(progress))
            self._done.set_result(result)
            self._call_back()

    def _finish(self, status: JobStatus, error: BaseException) -> None:
        self._status = status
        self._done.set_exception(error)
        self._call_back()

    def _call_back(self) -> None:
        for callback in self._callbacks:
            callback()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call back, in the job's thread, when the job has ended in whatever way."""
        self._callbacks.append(callback)

    def get_job_id(self) -> JobID:
        """The job's id."""
        return self._job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job stands."""
        return CompletableFuture.completed(self._status)

    def get_job_directory(self) -> str:
        """Where the job keeps its checkpoints, and says where its REST endpoint is."""
        return self._manager.job_dir

    def progress(self) -> Progress:
        """Totals so far: records, watermark, epoch, checkpoint."""
        return self._manager.progress

    def cancel(self) -> CompletableFuture[None]:
        """End the job at once; its last checkpoint stays. Wait for the end with `result`."""
        self._manager.cancel()
        return CompletableFuture.completed(None)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Make a savepoint while the job goes on.

        Args:
            savepoint_directory: where; None: as configured
                (``execution.checkpointing.savepoint-dir``).

        Returns:
            The savepoint's path, or the CheckpointError that it failed with.
        """
        return self._savepoint(savepoint_directory, After.GO_ON)

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool = False,
        savepoint_directory: str | None = None,
    ) -> CompletableFuture[str]:
        """Make a savepoint and end the job with it, which is then FINISHED. The job goes on when
        the savepoint fails.

        Args:
            advance_to_end_of_event_time: end all input first: timers fire, windows close. For a
                job that is not to be resumed (Flink: ``--drain``).
            savepoint_directory: where; None: as configured.
        """
        after = After.DRAIN if advance_to_end_of_event_time else After.STOP
        return self._savepoint(savepoint_directory, after)

    def cancel_with_savepoint(
        self, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Make a savepoint and cancel the job."""
        return self._savepoint(savepoint_directory, After.CANCEL)

    def _savepoint(self, directory: str | None, after: After) -> CompletableFuture[str]:
        request = SavepointRequest(directory, after)
        self._manager.request(request)
        return request.done

    def rescale(self, parallelism: int) -> CompletableFuture[None]:
        """Go on with another parallelism of all operators that have not been given one of their
        own, between two epochs: nothing is read again and nothing restarts.

        Returns:
            When the job goes on with it; JobDefinitionError when it is not possible.
        """
        request = RescaleRequest(parallelism)
        self._manager.request(request)
        return request.done

    def stop(self) -> None:
        """End the job after the running epoch, with a checkpoint to resume from."""
        self._manager.stop()

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """A future of the result; it raises what made the job fail."""
        return self._done

    def result(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait (seconds) for the job's end. Raises what made it fail, or TimeoutError."""
        return self._done.result(timeout)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The results of accumulators so far, and the functions' metrics over all subtasks."""
        return CompletableFuture.completed(accumulators(self._manager.progress))


def accumulators(progress: Progress) -> dict[str, Any]:
    """The accumulators' results, and all numeric metrics summed over subtasks."""
    totals: dict[str, Any] = {}
    # lists, for the job's own thread may go on meanwhile
    for by_subtask in list(progress.metrics.values()):
        for values in list(by_subtask.values()):
            for name, value in list(values.items()):
                if isinstance(value, Summary):
                    known = totals.get(name)
                    totals[name] = value.plus(known) if isinstance(known, Summary) else value
                elif isinstance(value, (int, float)):
                    totals[name] = totals.get(name, 0) + value
    plain = {n: asdict(v) if isinstance(v, Summary) else v for n, v in totals.items()}
    results = {name: a.get_local_value() for name, a in list(progress.accumulators.items())}
    return {**plain, **results}
