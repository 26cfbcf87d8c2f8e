"""The settings of jobs and of the server, without secrets."""

from __future__ import annotations

import platform
import sys

import msgspec

from millrace import __version__
from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.server.api_route import ApiRequest, ApiRoute
from millrace.server.job_server import JobServer, ServerSettings
from millrace.server.observed_job import ObservedJob

__all__ = ["ROUTES", "job_config", "server_settings"]


class ExecutionConfigInfo(msgspec.Struct, frozen=True, rename="kebab"):
    """Execution settings of a job."""

    execution_mode: str
    restart_strategy: str
    job_parallelism: int
    object_reuse_mode: bool
    user_config: dict[str, str]


class JobConfigAnswer(msgspec.Struct, frozen=True, rename="kebab"):
    """Answer of ``/jobs/:jobid/config``."""

    jid: str
    name: str
    execution_config: ExecutionConfigInfo


class ConfigEntry(msgspec.Struct, frozen=True):
    """A setting."""

    key: str
    value: str


class JvmInfo(msgspec.Struct, frozen=True):
    """The process of the server: Python, where Flink has a JVM."""

    version: str
    arch: str
    options: list[str]


class EnvironmentAnswer(msgspec.Struct, frozen=True):
    """Answer of ``/jobmanager/environment``."""

    jvm: JvmInfo
    classpath: list[str]
    millrace: str


def job_config(job: ObservedJob) -> JobConfigAnswer:
    """The settings of a job."""
    archive = job.archive
    settings = archive.settings if archive is not None else {}
    parallelism = Configuration(settings).get(options.PARALLELISM)
    return JobConfigAnswer(
        job.id,
        job.name,
        ExecutionConfigInfo(
            execution_mode="PIPELINED",
            restart_strategy=archive.restart.description if archive is not None else "",
            job_parallelism=parallelism or 1,
            object_reuse_mode=False,
            user_config=dict(sorted(settings.items())),
        ),
    )


def server_settings(settings: ServerSettings) -> dict[str, str]:
    """The settings of a server as text."""
    return {
        "millrace.version": __version__,
        "server.directory": str(settings.directory),
        "server.registry": settings.registry,
        "server.programs": str(settings.programs or ""),
        "server.savepoints": str(settings.savepoints),
        "web.submit.enable": str(settings.allow_uploads).lower(),
    }


def get_job_config(server: JobServer, request: ApiRequest) -> JobConfigAnswer:
    """Answer ``GET /jobs/:jobid/config``."""
    return job_config(server.observed(request))


def get_server_config(server: JobServer, request: ApiRequest) -> list[ConfigEntry]:
    """Answer ``GET /jobmanager/config``."""
    return [ConfigEntry(*pair) for pair in server_settings(server.settings).items()]


def get_job_server_config(server: JobServer, request: ApiRequest) -> list[ConfigEntry]:
    """Answer ``GET /jobs/:jobid/jobmanager/config``."""
    archive = server.observed(request).archive
    settings = archive.settings if archive is not None else {}
    return [ConfigEntry(key, value) for key, value in sorted(settings.items())]


def get_environment(server: JobServer, request: ApiRequest) -> EnvironmentAnswer:
    """Answer ``GET /jobmanager/environment``."""
    version = f"{platform.python_implementation()} {platform.python_version()}"
    return EnvironmentAnswer(
        JvmInfo(version, platform.machine(), list(sys.orig_argv[1:2])), list(sys.path), __version__
    )


def get_job_environment(server: JobServer, request: ApiRequest) -> EnvironmentAnswer:
    """Answer ``GET /jobs/:jobid/jobmanager/environment`` with the environment of the server,
    which its jobs have, too."""
    server.registered(request)
    return get_environment(server, request)


ROUTES = (
    ApiRoute(
        "GET", "/jobs/{jobid}/config", get_job_config, "The settings of a job.", JobConfigAnswer
    ),
    ApiRoute(
        "GET",
        "/jobs/{jobid}/jobmanager/config",
        get_job_server_config,
        "The settings of a job as a list.",
        list[ConfigEntry],
    ),
    ApiRoute(
        "GET",
        "/jobmanager/config",
        get_server_config,
        "The settings of the server.",
        list[ConfigEntry],
    ),
    ApiRoute(
        "GET",
        "/jobmanager/environment",
        get_environment,
        "The Python that runs the server.",
        EnvironmentAnswer,
    ),
    ApiRoute(
        "GET",
        "/jobs/{jobid}/jobmanager/environment",
        get_job_environment,
        "The Python of a job's process.",
        EnvironmentAnswer,
    ),
)
