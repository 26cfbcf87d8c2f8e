"""Programs: uploaded ones under Flink's ``/jars``, and those on the server's machine."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from millrace.common.config.configuration import OPTIONS, Configuration
from millrace.common.config.known_options import is_checked_elsewhere
from millrace.common.config.options import START_FROM
from millrace.common.errors import ConfigurationError
from millrace.common.job import JobID
from millrace.common.similar_names import did_you_mean
from millrace.filesystem.location import is_local, qualified
from millrace.server.api_route import (
    AccessRole,
    ApiError,
    ApiRequest,
    ApiRoute,
    EmptyAnswer,
    QueryParameter,
)
from millrace.server.harmless_settings import beyond_program
from millrace.server.job_server import JobServer
from millrace.server.program_plan import ProgramPlan, plan_of
from millrace.server.program_store import StoredProgram, check_module
from millrace.server.registry import Submission
from millrace.server.resources.job_plan import JobPlan, PlanAnswer, stage_nodes
from millrace.statefun.module import is_module, summary_of

__all__ = ["ROUTES", "RunRequest", "submission_of"]

Parallelism = Annotated[int, msgspec.Meta(ge=1, le=1 << 15)]
Word = Annotated[str, msgspec.Meta(pattern=r"^[^\x00]*$")]
ClaimMode = Literal["CLAIM", "NO_CLAIM"]


class RunRequest(msgspec.Struct, frozen=True, rename="camel"):
    """Options for running a program; all are optional."""

    entry_class: Word | None = None
    """File in an archive that is run instead of ``__main__.py``."""
    program_args: Word | None = None
    """Arguments in one string, as on a command line."""
    program_args_list: list[Word] | None = None
    """List of arguments, which precede those of `program_args`."""
    parallelism: Parallelism | None = None
    savepoint_path: Word | None = None
    """A savepoint or checkpoint to start from."""
    allow_non_restored_state: bool | None = None
    claim_mode: ClaimMode | None = None
    restore_mode: ClaimMode | None = None
    """Claim mode under its name in earlier Flink releases."""
    job_name: Word | None = None
    """Name of the job; None if the program chooses it."""
    flink_configuration: dict[Word, Word] = {}
    """Settings that have precedence over the program's."""


class ProgramRequest(RunRequest, frozen=True, rename="camel", kw_only=True):
    """A program on the server's machine, and options for running it."""

    program: Word
    """Path of the program: absolute, or below the directory of programs."""


class RunAnswer(msgspec.Struct, frozen=True):
    """The job that was started."""

    jobid: str


class ProgramEntry(msgspec.Struct, frozen=True):
    """An entry point of a program."""

    name: str
    description: str | None


class ProgramFile(msgspec.Struct, frozen=True):
    """A program."""

    id: str
    name: str
    uploaded: int
    entry: list[ProgramEntry]


class ProgramList(msgspec.Struct, frozen=True):
    """Answer of ``/jars`` and ``/programs``."""

    address: str
    files: list[ProgramFile]


class ModuleText(msgspec.Struct, frozen=True):
    """A module of Stateful Functions."""

    content: str
    name: str = "module.yaml"
    """Name of the file, for messages."""


class ModuleComponent(msgspec.Struct, frozen=True):
    """A component of a module."""

    component: str
    id: str
    at: str


class ModuleAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/statefun/validate``."""

    components: list[ModuleComponent]


class UploadAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/jars/upload``; the last part of the file's name is the program's id."""

    filename: str
    status: Literal["success"] = "success"


def submission_of(program: Path, asked: RunRequest) -> Submission:
    """The submission of a program for the supervisor.

    Raises:
        ApiError: 400, a setting is unknown or wrong.
    """
    _check_settings(asked.flink_configuration)
    options: list[str] = []
    if asked.parallelism is not None:
        options += ["--parallelism", str(asked.parallelism)]
    if asked.savepoint_path:
        options += [f"--from-savepoint={asked.savepoint_path}"]
    if asked.allow_non_restored_state:
        options.append("--allow-non-restored-state")
    mode = asked.claim_mode or asked.restore_mode
    options += ["--claim-mode", mode] if mode is not None else []
    for key, value in asked.flink_configuration.items():
        options.append(f"--conf={key}={value}")
    return Submission(str(program), asked.job_name or None, _arguments(asked), tuple(options))


def _arguments(asked: RunRequest) -> tuple[str, ...]:
    if asked.program_args_list is not None:
        return tuple(asked.program_args_list)
    try:
        return tuple(shlex.split(asked.program_args or ""))
    except ValueError as error:
        raise ApiError(400, f"programArgs cannot be divided into words: {error}") from None


def _require_own_functions(main: Path, arguments: Sequence[str]) -> None:
    """Check that the functions of a module are files of its directory: they are imported, and a
    server runs only the programs that it has.

    Raises:
        ApiError: 400, a file is elsewhere.
    """
    directory = main.parent.resolve()
    for name in arguments if is_module(main) else ():
        if not (directory / name).resolve().is_relative_to(directory):
            raise ApiError(400, f"the functions of {main.name} must be in its directory: {name}")


def _check_settings(settings: dict[str, str]) -> None:
    for key in settings:
        if "=" in key or (key not in OPTIONS and not is_checked_elsewhere(key)):
            hint = did_you_mean(key, OPTIONS)
            raise ApiError(400, f"unknown configuration key {key[:200]!r}{hint}")
    try:
        Configuration(settings).validate()
    except ConfigurationError as error:
        raise ApiError(400, str(error)) from None


def _require_snapshot(path: str | None) -> None:
    """Refuse a snapshot that does not exist, so that the client gets the error immediately."""
    if path and is_local(path) and not os.path.exists(qualified(path)):
        raise ApiError(
            400,
            f"there is no savepoint or checkpoint {path[:500]}. Of its checkpoints a job keeps the "
            "newest only (execution.checkpointing.num-retained)",
        )


def _require_harmless(settings: dict[str, str]) -> None:
    """Refuse settings that can run code: clients without the right to upload run only the
    programs that exist."""
    beyond = beyond_program(settings)
    if beyond:
        raise ApiError(
            403,
            f"{', '.join(key[:200] for key in beyond)}: this setting can run code other than the "
            "program's own, so it needs the right to upload programs (--allow-uploads). Set it in "
            "the program, or in spark-defaults.conf on the server's machine",
        )


def _with_query(asked: RunRequest, query: dict[str, Any]) -> RunRequest:
    """The request with options of its query, as Flink takes them; the body has precedence."""
    parameters = {
        "entry_class": query.get("entry-class"),
        "program_args": query.get("program-args"),
        "program_args_list": [query["programArg"]] if "programArg" in query else None,
        "parallelism": query.get("parallelism"),
        "savepoint_path": query.get("savepointPath"),
        "allow_non_restored_state": query.get("allowNonRestoredState"),
    }
    missing = {
        name: value
        for name, value in parameters.items()
        if value is not None and getattr(asked, name) is None
    }
    return msgspec.structs.replace(asked, **missing)


def _begin(server: JobServer, program: StoredProgram, asked: RunRequest) -> RunAnswer:
    main = program.entry(asked.entry_class)
    if not server.settings.allow_uploads:
        _require_harmless(asked.flink_configuration)
    for path in (asked.savepoint_path, asked.flink_configuration.get(START_FROM.key)):
        _require_snapshot(path)
    if not main.is_file():
        raise ApiError(400, f"{program.name} has no {main.name}; name a file as entryClass")
    _require_own_functions(main, _arguments(asked))
    if asked.job_name is None:
        asked = msgspec.structs.replace(asked, job_name=program.job_name(main))
    return RunAnswer(server.supervisor.submit(submission_of(main, asked)).id)


def _listed(address: str, programs: list[StoredProgram]) -> ProgramList:
    files = [
        ProgramFile(
            program.id,
            program.name,
            program.uploaded,
            [ProgramEntry(program.main.name, program.description() or None)],
        )
        for program in programs
    ]
    return ProgramList(address, files)


def get_uploads(server: JobServer, request: ApiRequest) -> ProgramList:
    """Answer ``GET /jars``."""
    return _listed(request.address, server.programs.uploads())


def get_programs(server: JobServer, request: ApiRequest) -> ProgramList:
    """Answer ``GET /programs``."""
    return _listed(request.address, list(server.programs.programs()))


def post_upload(server: JobServer, request: ApiRequest) -> UploadAnswer:
    """Answer ``POST /jars/upload``."""
    assert request.upload is not None
    return UploadAnswer(str(server.programs.add(request.upload).path))


def post_run(server: JobServer, request: ApiRequest) -> RunAnswer:
    """Answer ``POST /jars/:jarid/run``."""
    program = server.programs.upload(request.path["jarid"])
    return _begin(server, program, _with_query(request.body, dict(request.query)))


def post_program(server: JobServer, request: ApiRequest) -> RunAnswer:
    """Answer ``POST /programs/run``."""
    return _begin(server, server.programs.program(request.body.program), request.body)


def get_plan(server: JobServer, request: ApiRequest) -> PlanAnswer:
    """Answer ``GET`` and ``POST /jars/:jarid/plan``."""
    program = server.programs.upload(request.path["jarid"])
    asked = _with_query(request.body or RunRequest(), dict(request.query))
    main, arguments = program.entry(asked.entry_class), _arguments(asked)
    _require_own_functions(main, arguments)
    plan: ProgramPlan = plan_of(
        main, arguments, asked.parallelism, server.settings.job_defaults.to_dict()
    )
    job = str(JobID.from_name(plan.name))
    return PlanAnswer(JobPlan(job, plan.name, "STREAMING", stage_nodes(plan.stages)))


def post_validate(server: JobServer, request: ApiRequest) -> ModuleAnswer:
    """Answer ``POST /statefun/validate``."""
    module = check_module(request.body.content.encode(), request.body.name)
    summaries = map(summary_of, module.components)
    return ModuleAnswer([ModuleComponent(*summary) for summary in summaries])


def delete_upload(server: JobServer, request: ApiRequest) -> EmptyAnswer:
    """Answer ``DELETE /jars/:jarid``."""
    program = server.programs.upload(request.path["jarid"])
    for job in server.registry.unfinished_jobs():
        if Path(job.submission.program).is_relative_to(program.path):
            raise ApiError(409, f"job {job.id} runs {program.name}, and may be started again")
    server.programs.delete(program.id)
    return EmptyAnswer()


OPERATE = AccessRole.OPERATE
JAR = "/jars/{jarid}"
PLAN_QUERY = (
    QueryParameter("entry-class", description="see entryClass"),
    QueryParameter("program-args", description="see programArgs"),
    QueryParameter("programArg", description="the only argument"),
    QueryParameter("parallelism", int, "of operators that set none", minimum=1),
)
RUN_QUERY = (
    *PLAN_QUERY,
    QueryParameter("savepointPath", description="see savepointPath of the body"),
    QueryParameter("allowNonRestoredState", bool, "see allowNonRestoredState of the body"),
)
ROUTES = (
    ApiRoute("GET", "/jars", get_uploads, "The uploaded programs.", ProgramList),
    ApiRoute(
        "POST", "/jars/upload", post_upload, "Upload a program: a .py file, a .zip with a "
        "__main__.py, or a module.yaml of Stateful Functions, also in a .zip.",
        UploadAnswer, OPERATE, takes_file=True,
    ),
    ApiRoute("DELETE", JAR, delete_upload, "Delete an uploaded program.", EmptyAnswer, OPERATE),
    ApiRoute(
        "POST", f"{JAR}/run", post_run, "Run an uploaded program.", RunAnswer, OPERATE,
        query=RUN_QUERY, body=RunRequest,
    ),
    ApiRoute(
        "GET", f"{JAR}/plan", get_plan, "The graph of an uploaded program. The program is "
        "executed up to its first job.", PlanAnswer, OPERATE, query=PLAN_QUERY,
    ),
    ApiRoute(
        "POST", f"{JAR}/plan", get_plan, "The graph of an uploaded program. The program is "
        "executed up to its first job.", PlanAnswer, OPERATE, query=PLAN_QUERY, body=RunRequest,
    ),
    ApiRoute(
        "GET", "/programs", get_programs, "The programs on the server's machine that may be run.",
        ProgramList,
    ),
    ApiRoute(
        "POST", "/statefun/validate", post_validate, "Check a module of Stateful Functions, and "
        "list its components. An error names document and line.", ModuleAnswer, body=ModuleText,
    ),
    ApiRoute(
        "POST", "/programs/run", post_program, "Run a program that is on the server's machine.",
        RunAnswer, OPERATE, body=ProgramRequest,
    ),
)  # fmt: skip
