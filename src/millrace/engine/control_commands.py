"""Commands for operating a job from outside, as plain data: names, arguments, answers.

The mailbox and HTTP use these commands; each becomes a request on the job's `CommandBus`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import JobControlError
from millrace.common.savepoint_format_type import SavepointFormatType
from millrace.engine.job_details import EpochAttempt, JobDetails
from millrace.engine.job_requests import (
    AfterSavepoint,
    CancelRequest,
    CheckpointRequest,
    MessageRequest,
    RescaleRequest,
    SavepointRequest,
    StopRequest,
)
from millrace.engine.running_epoch import describe_epoch, is_long

if TYPE_CHECKING:
    from millrace.engine.job_manager import JobManager

__all__ = ["COMMANDS", "CommandResult", "execute", "status_fields", "waits_for"]

CommandResult = Future[dict[str, Any]]
MOST_STACKS = 6
"""Maximum number of subtasks in an answer, which must fit into the mailbox."""
STACK_LENGTH = 6_000


def _checkpoint(job: JobManager) -> CommandResult:
    return _mapped(job.bus.submit(CheckpointRequest()), lambda number: {"checkpoint": number})


def _savepoint(job: JobManager, directory: str | None, format: str) -> CommandResult:
    return _savepoint_path(
        job, SavepointRequest(_checked(directory), AfterSavepoint.GO_ON, _format_type(format))
    )


def _stop(
    job: JobManager, savepoint: bool, directory: str | None, drain: bool, format: str
) -> CommandResult:
    if savepoint:
        after = AfterSavepoint.DRAIN if drain else AfterSavepoint.STOP
        request = SavepointRequest(_checked(directory), after, _format_type(format))
        return _savepoint_path(job, request)
    if drain:
        raise JobControlError("a job can only be drained together with a savepoint")
    job.bus.submit(StopRequest())
    return _end_of(job)


def _checked(directory: str | None) -> str | None:
    """Raises JobControlError if ``directory`` cannot be the name of a directory."""
    try:
        if directory is not None and b"\0" in os.fsencode(directory):
            raise ValueError("embedded null byte")
    except ValueError as error:
        raise JobControlError(f"{directory!a} cannot be a directory: {error}") from None
    return directory


def _format_type(name: str) -> SavepointFormatType:
    try:
        return SavepointFormatType(name.upper())
    except ValueError:
        raise JobControlError(f"a savepoint is canonical or native, not {name!r}") from None


def _cancel(job: JobManager) -> CommandResult:
    job.bus.submit(CancelRequest())
    return _end_of(job)


def _rescale(job: JobManager, parallelism: int) -> CommandResult:
    request = RescaleRequest(parallelism)
    return _mapped(job.bus.submit(request), lambda _: {"parallelism": parallelism})


def _message(job: JobManager, operator: str, message: str) -> CommandResult:
    request = MessageRequest(operator, message.encode())
    return _mapped(job.bus.submit(request), lambda number: {"checkpoint": number})


def _status(job: JobManager) -> CommandResult:
    return CompletableFuture.completed(status_fields(job.details()))


def _stacks(job: JobManager) -> CommandResult:
    details = job.details()
    running = details.running
    subtasks = [] if running is None else [busy._asdict() for busy in running.busy[:MOST_STACKS]]
    for subtask in subtasks:
        subtask["stack"] = subtask["stack"][-STACK_LENGTH:]
    fields = {**status_fields(details), "stacks": subtasks, "driver": job.stack()[-STACK_LENGTH:]}
    return CompletableFuture.completed(fields)


def status_fields(details: JobDetails) -> dict[str, Any]:
    """Status of a job, as answered by the command ``status``."""
    return {
        "status": details.status.name,
        "epoch": details.epoch,
        "checkpoint": details.checkpoint,
        "records": details.records,
        "records_per_second": details.records_per_second,
        "watermark": details.watermark,
        "restarts": details.restarts,
        "running": _epoch_fields(details.running),
        "waits_for": waits_for(details),
    }


def waits_for(details: JobDetails) -> str:
    """Line about what the job waits for at present: a long epoch, or a savepoint's commits;
    empty if there is no such wait."""
    running, now = details.running, int(time.time() * 1000)
    epoch = ""
    if running is not None and is_long(running, now):
        epoch = describe_epoch(running, now)
    return "; ".join(part for part in (epoch, details.waits_for) if part)


def _epoch_fields(running: EpochAttempt | None) -> dict[str, Any] | None:
    if running is None:
        return None
    busy = [
        {name: value for name, value in subtask._asdict().items() if name != "stack"}
        for subtask in running.busy[:MOST_STACKS]
    ]
    return {
        "epoch": running.number,
        "attempt": running.attempt,
        "since": running.since,
        "subtasks": running.subtasks,
        "done": running.done,
        "busy": busy,
    }


_TEXT = (str, type(None))
COMMANDS: dict[str, tuple[Callable[..., CommandResult], dict[str, tuple[type, ...]]]] = {
    "checkpoint": (_checkpoint, {}),
    "savepoint": (_savepoint, {"directory": _TEXT, "format": (str,)}),
    "stop": (_stop, {"savepoint": (bool,), "directory": _TEXT, "drain": (bool,), "format": (str,)}),
    "cancel": (_cancel, {}),
    "rescale": (_rescale, {"parallelism": (int,)}),
    "message": (_message, {"operator": (str,), "message": (str,)}),
    "status": (_status, {}),
    "stacks": (_stacks, {}),
}
"""Commands that a job accepts, with their arguments, all of which are required."""


def execute(job: JobManager, command: str, given: Mapping[str, Any]) -> CommandResult:
    """Execute a command in a job; the result becomes available when the job has carried it out.

    Raises:
        JobControlError: the command does not exist, or has other arguments.
    """
    if command not in COMMANDS:
        raise JobControlError(
            f"the job does not know the request {command!r}, only {', '.join(COMMANDS)}; "
            "does it run another version of Millrace?"
        )
    operation, arguments = COMMANDS[command]
    if set(given) != set(arguments) or any(
        type(given[name]) not in types for name, types in arguments.items()
    ):
        wanted = ", ".join(f"{name} ({t[0].__name__})" for name, t in arguments.items()) or "none"
        raise JobControlError(f"the arguments of {command} must be: {wanted}")
    return operation(job, **given)


def _savepoint_path(job: JobManager, request: SavepointRequest) -> CommandResult:
    return _mapped(job.bus.submit(request), lambda path: {"savepoint": path})


def _end_of(job: JobManager) -> CommandResult:
    """Result that becomes available at the end of the job, successful or not."""
    end: CommandResult = Future()
    job.result.add_done_callback(lambda _: end.set_result({"status": job.details().status.name}))
    return end


def _mapped(future: Future[Any], function: Callable[[Any], dict[str, Any]]) -> CommandResult:
    mapped: CommandResult = Future()

    def follow(done: Future[Any]) -> None:
        try:
            mapped.set_result(function(done.result()))
        except BaseException as error:  # CancelledError, too
            mapped.set_exception(error)

    future.add_done_callback(follow)
    return mapped
