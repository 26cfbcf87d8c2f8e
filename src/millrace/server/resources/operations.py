"""Operations on jobs: cancel, stop, checkpoint, savepoint, rescale."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any, Literal

import msgspec

from millrace.common.job import JobStatus
from millrace.filesystem.location import is_local
from millrace.server.api_route import (
    AccessRole,
    ApiError,
    ApiReply,
    ApiRequest,
    ApiRoute,
    EmptyAnswer,
    QueryParameter,
)
from millrace.server.job_server import JobServer, checked_id
from millrace.server.operation_triggers import STOP, JobCommand, TriggerTakenError
from millrace.server.registry import RegisteredJob, TriggeredOperation

__all__ = ["RESCALING", "ROUTES", "operation_state", "running_job"]

Format = Literal["CANONICAL", "NATIVE"]
TriggerId = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
CHECKPOINT, SAVEPOINT, MESSAGE = "checkpoint", "savepoint", "message"
RESCALING, DISPOSAL = "rescaling", "disposal"


class CheckpointTrigger(msgspec.Struct, frozen=True, rename="camel"):
    """The body of ``POST /jobs/:jobid/checkpoints``."""

    checkpoint_type: Literal["CONFIGURED", "INCREMENTAL", "FULL"] = "CONFIGURED"
    trigger_id: TriggerId | None = None


class SavepointTrigger(msgspec.Struct, frozen=True, rename="kebab"):
    """The body of ``POST /jobs/:jobid/savepoints``."""

    target_directory: str | None = None
    """Directory of the savepoint; None for the job's configured one."""
    cancel_job: bool = False
    """Whether the job ends with the savepoint."""
    format_type: Format = msgspec.field(name="formatType", default="CANONICAL")
    trigger_id: TriggerId | None = msgspec.field(name="triggerId", default=None)


class StopTrigger(msgspec.Struct, frozen=True):
    """The body of ``POST /jobs/:jobid/stop``."""

    target_directory: str | None = msgspec.field(name="targetDirectory", default=None)
    drain: bool = False
    """Whether event time ends first: all timers fire, all windows close."""
    format_type: Format = msgspec.field(name="formatType", default="CANONICAL")
    trigger_id: TriggerId | None = msgspec.field(name="triggerId", default=None)


class MessageTrigger(msgspec.Struct, frozen=True):
    """The body of ``POST /jobs/:jobid/messages``."""

    operator: str
    """Uid of an operator that takes messages."""
    message: str


class DisposalRequest(msgspec.Struct, frozen=True, rename="kebab"):
    """The body of ``POST /savepoint-disposal``."""

    savepoint_path: str


class TriggerAnswer(msgspec.Struct, frozen=True, rename="kebab"):
    """The id of a trigger, with which a client asks for its state."""

    request_id: str
    triggerid: str
    """Same id under the name that clients of earlier Flink releases expect."""


class OperationStatus(msgspec.Struct, frozen=True):
    """Status of a trigger."""

    id: Literal["IN_PROGRESS", "COMPLETED"]


class FailureCause(msgspec.Struct, frozen=True, rename="kebab"):
    """Reason of a failed operation."""

    class_: str = msgspec.field(name="class")
    stack_trace: str


class OperationOutcome(msgspec.Struct, frozen=True, rename="kebab", omit_defaults=True):
    """Result of a trigger."""

    location: str | None = None
    """Path of the savepoint."""
    failure_cause: FailureCause | None = None
    left: list[str] | None = None
    """Files in the savepoint's directory that do not belong to it, and therefore remain."""


class OperationAnswer(msgspec.Struct, frozen=True):
    """The state of a trigger."""

    status: OperationStatus
    operation: OperationOutcome | None = None


class CheckpointInfo(msgspec.Struct, frozen=True, rename="camel"):
    """Result of a triggered checkpoint."""

    checkpoint_id: int | None = None
    failure_cause: FailureCause | None = None


class CheckpointAnswer(msgspec.Struct, frozen=True):
    """The state of a triggered checkpoint."""

    status: OperationStatus
    operation: CheckpointInfo | None = None


def operation_state(trigger: TriggeredOperation) -> OperationAnswer:
    """The state of a trigger in Flink's JSON."""
    if not trigger.is_done:
        return OperationAnswer(OperationStatus("IN_PROGRESS"))
    done = OperationStatus("COMPLETED")
    if trigger.error is not None:
        return OperationAnswer(done, OperationOutcome(failure_cause=_cause(trigger.error)))
    result: dict[str, Any] = json.loads(trigger.result or "{}")
    return OperationAnswer(
        done, OperationOutcome(result.get("savepoint"), None, result.get("left"))
    )


def _cause(error: str) -> FailureCause:
    return FailureCause("millrace.common.errors.JobControlError", error)


def _triggered(id: str) -> TriggerAnswer:
    return TriggerAnswer(id, id)


def _asked(
    server: JobServer, job: RegisteredJob, kind: str, command: JobCommand, id: str | None
) -> TriggerAnswer:
    """Send a command to a job, under the trigger id that the client has chosen."""
    try:
        return _triggered(server.triggers.trigger(job.id, kind, command, id).id)
    except TriggerTakenError as error:
        raise ApiError(409, str(error)) from None


def running_job(server: JobServer, request: ApiRequest) -> RegisteredJob:
    """The job that a request names; raises if it does not run.

    Raises:
        ApiError: 400 and 404, as `JobServer.registered`; 409, it has ended.
    """
    job = server.registered(request)
    if job.is_over:
        raise ApiError(409, f"job {job.id} has ended: it is {job.status.name}")
    return job


def _directory(text: str | None) -> str | None:
    """An absolute directory, so that it means the same in the job's process.

    Raises:
        ApiError: 400, it is relative, or no path.
    """
    if text is None:
        return None
    if not text or "\0" in text or (is_local(text) and not _is_absolute(text)):
        raise ApiError(400, f"a directory must be an absolute path or a URI, not {text[:200]!r}")
    return text


def _is_absolute(text: str) -> bool:
    return os.path.isabs(text) or text.startswith("file:/")


def post_checkpoint(server: JobServer, request: ApiRequest) -> TriggerAnswer:
    """Answer ``POST /jobs/:jobid/checkpoints``."""
    job, body = running_job(server, request), request.body
    if body.checkpoint_type == "FULL":
        raise ApiError(
            400, "checkpoints are incremental; for a complete snapshot, take a savepoint with "
                 "formatType NATIVE: POST /jobs/:jobid/savepoints",
        )  # fmt: skip
    return _asked(server, job, CHECKPOINT, JobCommand("checkpoint", {}), body.trigger_id)


def post_savepoint(server: JobServer, request: ApiRequest) -> TriggerAnswer:
    """Answer ``POST /jobs/:jobid/savepoints``."""
    job, body = running_job(server, request), request.body
    directory = _directory(body.target_directory)
    format = body.format_type.lower()
    command = JobCommand("savepoint", {"directory": directory, "format": format})
    if body.cancel_job:
        command = _stop(directory, False, format)
    kind = STOP if body.cancel_job else SAVEPOINT
    return _asked(server, job, kind, command, body.trigger_id)


def post_stop(server: JobServer, request: ApiRequest) -> TriggerAnswer:
    """Answer ``POST /jobs/:jobid/stop``."""
    job, body = running_job(server, request), request.body
    command = _stop(_directory(body.target_directory), body.drain, body.format_type.lower())
    return _asked(server, job, STOP, command, body.trigger_id)


def _stop(directory: str | None, drain: bool, format: str) -> JobCommand:
    arguments = {"savepoint": True, "directory": directory, "drain": drain, "format": format}
    return JobCommand("stop", arguments)


def patch_job(server: JobServer, request: ApiRequest) -> ApiReply:
    """Answer ``PATCH /jobs/:jobid``: cancel the job."""
    job = server.registered(request)
    if job.is_over and job.status is not JobStatus.CANCELED:
        raise ApiError(409, f"job {job.id} has ended already: it is {job.status.name}")
    server.supervisor.cancel(job.id)
    return ApiReply(EmptyAnswer(), 202)


def patch_rescaling(server: JobServer, request: ApiRequest) -> TriggerAnswer:
    """Answer ``PATCH /jobs/:jobid/rescaling``."""
    job = running_job(server, request)
    command = JobCommand("rescale", {"parallelism": request.query["parallelism"]})
    return _triggered(server.triggers.trigger(job.id, RESCALING, command).id)


def post_message(server: JobServer, request: ApiRequest) -> TriggerAnswer:
    """Answer ``POST /jobs/:jobid/messages``."""
    if not server.settings.allow_uploads:
        raise ApiError(
            403,
            "a message can make the job call functions at other endpoints, so it needs the right "
            "to upload programs: start the server with --allow-uploads, or send the message on the "
            "server's machine (millrace statefun update)",
        )
    job, body = running_job(server, request), request.body
    command = JobCommand("message", {"operator": body.operator, "message": body.message})
    return _triggered(server.triggers.trigger(job.id, MESSAGE, command).id)


def post_disposal(server: JobServer, request: ApiRequest) -> TriggerAnswer:
    """Answer ``POST /savepoint-disposal``."""
    path = _directory(request.body.savepoint_path) or ""

    def dispose() -> dict[str, Any]:
        from millrace.state.checkpoint.savepoints import dispose_savepoint

        return {"left": dispose_savepoint(path)}

    return _triggered(server.triggers.carry_out(DISPOSAL, dispose))


def _found(server: JobServer, request: ApiRequest, job: str, *kinds: str) -> TriggeredOperation:
    id = checked_id(request.path["triggerid"], "trigger")
    trigger = server.triggers.find(id)
    if trigger is None or trigger.job != job or trigger.kind not in kinds:
        raise ApiError(404, f"There is no operation for trigger {id}")
    return trigger


def get_checkpoint(server: JobServer, request: ApiRequest) -> CheckpointAnswer:
    """Answer ``GET /jobs/:jobid/checkpoints/:triggerid``."""
    return _checkpoint_answer(_found(server, request, request.path["jobid"], CHECKPOINT))


def get_message(server: JobServer, request: ApiRequest) -> CheckpointAnswer:
    """Answer ``GET /jobs/:jobid/messages/:triggerid``."""
    return _checkpoint_answer(_found(server, request, request.path["jobid"], MESSAGE))


def _checkpoint_answer(trigger: TriggeredOperation) -> CheckpointAnswer:
    if not trigger.is_done:
        return CheckpointAnswer(OperationStatus("IN_PROGRESS"))
    if trigger.error is not None:
        info = CheckpointInfo(failure_cause=_cause(trigger.error))
    else:
        info = CheckpointInfo(json.loads(trigger.result or "{}").get("checkpoint"))
    return CheckpointAnswer(OperationStatus("COMPLETED"), info)


def get_savepoint(server: JobServer, request: ApiRequest) -> OperationAnswer:
    """Answer ``GET /jobs/:jobid/savepoints/:triggerid``."""
    return operation_state(_found(server, request, request.path["jobid"], SAVEPOINT, STOP))


def get_rescaling(server: JobServer, request: ApiRequest) -> OperationAnswer:
    """Answer ``GET /jobs/:jobid/rescaling/:triggerid``."""
    return operation_state(_found(server, request, request.path["jobid"], RESCALING))


def get_disposal(server: JobServer, request: ApiRequest) -> OperationAnswer:
    """Answer ``GET /savepoint-disposal/:triggerid``."""
    return operation_state(_found(server, request, "", DISPOSAL))


OPERATE = AccessRole.OPERATE
ROUTES = (
    ApiRoute(
        "PATCH", "/jobs/{jobid}", patch_job, "Cancel a job.", EmptyAnswer, OPERATE, status=202,
        query=(QueryParameter("mode", description="how it ends", choices=("cancel",)),),
    ),
    ApiRoute(
        "POST", "/jobs/{jobid}/checkpoints", post_checkpoint, "Make a checkpoint of a job now.",
        TriggerAnswer, OPERATE, body=CheckpointTrigger, status=202,
    ),
    ApiRoute(
        "GET", "/jobs/{jobid}/checkpoints/{triggerid}", get_checkpoint,
        "Whether a requested checkpoint is complete, and its number.", CheckpointAnswer,
    ),
    ApiRoute(
        "POST", "/jobs/{jobid}/savepoints", post_savepoint, "Take a savepoint of a job.",
        TriggerAnswer, OPERATE, body=SavepointTrigger, status=202,
    ),
    ApiRoute(
        "GET", "/jobs/{jobid}/savepoints/{triggerid}", get_savepoint,
        "Whether a savepoint has been taken, and where it is.", OperationAnswer,
    ),
    ApiRoute(
        "POST", "/jobs/{jobid}/stop", post_stop, "End a job with a savepoint.",
        TriggerAnswer, OPERATE, body=StopTrigger, status=202,
    ),
    ApiRoute(
        "PATCH", "/jobs/{jobid}/rescaling", patch_rescaling, "Change the parallelism of a job.",
        TriggerAnswer, OPERATE,
        query=(QueryParameter("parallelism", int, "the new one", required=True, minimum=1),),
    ),
    ApiRoute(
        "GET", "/jobs/{jobid}/rescaling/{triggerid}", get_rescaling,
        "Whether a requested change of the parallelism is complete.", OperationAnswer,
    ),
    ApiRoute(
        "POST", "/jobs/{jobid}/messages", post_message,
        "Send a message to an operator, such as other endpoints to Stateful Functions.",
        TriggerAnswer, OPERATE, body=MessageTrigger, status=202,
    ),
    ApiRoute(
        "GET", "/jobs/{jobid}/messages/{triggerid}", get_message,
        "Whether an operator has a message, and the checkpoint as of which it counts.",
        CheckpointAnswer,
    ),
    ApiRoute(
        "POST", "/savepoint-disposal", post_disposal, "Delete a savepoint.", TriggerAnswer,
        OPERATE, body=DisposalRequest,
    ),
    ApiRoute(
        "GET", "/savepoint-disposal/{triggerid}", get_disposal, "Whether a savepoint is deleted.",
        OperationAnswer,
    ),
)  # fmt: skip
