"""What a running job can be asked from outside, and how it is done."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

from millrace.common.errors import JobControlError
from millrace.common.job import JobExecutionResult, JobStatus
from millrace.engine.control_mailbox import Request
from millrace.engine.progress import Progress

__all__ = ["COMMANDS", "ControlledJob", "Result", "operation"]

Result = Future[dict[str, Any]]


class ControlledJob(Protocol):
    """What a job must be able to do; `millrace.engine.job_client.JobClient` can."""

    def get_job_status(self) -> Future[JobStatus]: ...
    def when_done(self, callback: Callable[[], None]) -> None: ...
    def get_job_execution_result(self) -> Future[JobExecutionResult]: ...
    def progress(self) -> Progress: ...
    def cancel(self) -> Future[None]: ...
    def stop(self) -> None: ...
    def trigger_savepoint(self, savepoint_directory: str | None = None) -> Future[str]: ...
    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool = False,
        savepoint_directory: str | None = None,
    ) -> Future[str]: ...
    def rescale(self, parallelism: int) -> Future[None]: ...


def _savepoint(job: ControlledJob, directory: str | None) -> Result:
    return _named("savepoint", job.trigger_savepoint(directory))


def _stop(job: ControlledJob, savepoint: bool, directory: str | None, drain: bool) -> Result:
    if savepoint:
        return _named("savepoint", job.stop_with_savepoint(drain, directory))
    if drain:
        raise JobControlError("a job can only be drained together with a savepoint")
    job.stop()
    return _ended(job)


def _cancel(job: ControlledJob) -> Result:
    job.cancel()
    return _ended(job)


def _rescale(job: ControlledJob, parallelism: int) -> Result:
    return _mapped(job.rescale(parallelism), lambda _: {"parallelism": parallelism})


def _status(job: ControlledJob) -> Result:
    progress = job.progress()
    status: Result = Future()
    status.set_result(
        {
            "status": job.get_job_status().result().name,
            "epoch": progress.epoch,
            "checkpoint": progress.checkpoint,
            "records": progress.records,
            "records_per_second": progress.records_per_second,
            "watermark": progress.watermark,
            "restarts": progress.restarts,
        }
    )
    return status


_TEXT = (str, type(None))
COMMANDS: dict[str, tuple[Callable[..., Result], dict[str, tuple[type, ...]]]] = {
    "savepoint": (_savepoint, {"directory": _TEXT}),
    "stop": (_stop, {"savepoint": (bool,), "directory": _TEXT, "drain": (bool,)}),
    "cancel": (_cancel, {}),
    "rescale": (_rescale, {"parallelism": (int,)}),
    "status": (_status, {}),
}
"""What a job can be asked, and the arguments of each request, all of which must be given."""


def operation(request: Request) -> Callable[[ControlledJob], Result]:
    """Raises JobControlError for a command that does not exist, or wrong arguments of one."""
    if request.command not in COMMANDS:
        raise JobControlError(
            f"the job does not know the request {request.command!r}, only {', '.join(COMMANDS)}; "
            "does it run another version of Millrace?"
        )
    operation, arguments = COMMANDS[request.command]
    given = request.arguments
    if set(given) != set(arguments) or any(
        type(given[name]) not in types for name, types in arguments.items()
    ):
        wanted = ", ".join(f"{name} ({t[0].__name__})" for name, t in arguments.items()) or "none"
        raise JobControlError(f"the arguments of {request.command} must be: {wanted}")
    return lambda job: operation(job, **given)


def _named(name: str, future: Future[str]) -> Result:
    return _mapped(future, lambda value: {name: value})


def _ended(job: ControlledJob) -> Result:
    """A result when the job has ended, in whatever way."""
    end: Result = Future()

    def tell(_: Future[Any]) -> None:
        end.set_result({"status": job.get_job_status().result().name})

    job.get_job_execution_result().add_done_callback(tell)
    return end


def _mapped(future: Future[Any], function: Callable[[Any], dict[str, Any]]) -> Result:
    mapped: Result = Future()

    def follow(done: Future[Any]) -> None:
        try:
            mapped.set_result(function(done.result()))
        except BaseException as error:  # CancelledError, too
            mapped.set_exception(error)

    future.add_done_callback(follow)
    return mapped
