"""The settings of jobs and of the server, without secrets."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from millrace import __version__
from millrace.common.config import options
from millrace.common.config.config_options import ConfigOption
from millrace.common.config.configuration import OPTIONS, Configuration, as_text
from millrace.common.config.options import SAVEPOINT_DIR
from millrace.common.config.setting_origin import SettingOrigin
from millrace.common.config.shown_settings import shown_settings
from millrace.server.api_route import ApiRequest, ApiRoute
from millrace.server.job_server import JobServer, ServerSettings
from millrace.server.observed_job import ObservedJob
from millrace.server.server_options import (
    SERVER_DIRECTORY,
    SERVER_PROGRAMS,
    SERVER_REGISTRY,
    WEB_SUBMIT,
    is_of_server,
)

__all__ = ["ROUTES", "job_config", "server_settings"]


class ExecutionConfigInfo(msgspec.Struct, frozen=True, rename="kebab"):
    """Execution settings of a job."""

    execution_mode: str
    restart_strategy: str
    job_parallelism: int
    object_reuse_mode: bool
    user_config: dict[str, str]


class ConfigEntry(msgspec.Struct, frozen=True):
    """A setting."""

    key: str
    value: str
    origin: str = ""
    """Where the value comes from (see `SettingOrigin`); empty if an earlier version wrote the job's
    report."""


class JobConfigAnswer(msgspec.Struct, frozen=True, rename="kebab"):
    """Answer of ``/jobs/:jobid/config``."""

    jid: str
    name: str
    execution_config: ExecutionConfigInfo
    entries: list[ConfigEntry]
    """All settings, with their origins; also those with a value that is built in."""


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
        entries=sorted([*_own_entries(job), *_built_in(settings)], key=lambda entry: entry.key),
    )


def _own_entries(job: ObservedJob) -> list[ConfigEntry]:
    """The settings in a job's report, sorted by key."""
    archive = job.archive
    if archive is None:
        return []
    return [
        ConfigEntry(key, value, archive.origins.get(key, ""))
        for key, value in sorted(archive.settings.items())
    ]


def _built_in(settings: Mapping[str, str]) -> list[ConfigEntry]:
    """The options of jobs that have no setting, and a default."""
    return [
        ConfigEntry(key, as_text(option.default), SettingOrigin.DEFAULT)
        for key, option in OPTIONS.items()
        if key not in settings and option.default is not None and not is_of_server(key)
    ]


def server_settings(settings: ServerSettings) -> list[ConfigEntry]:
    """The settings of a server, then the defaults of its jobs."""
    own = settings.configuration

    def entry(key: str, value: str, option: ConfigOption[Any]) -> ConfigEntry:
        return ConfigEntry(key, value, own.origin(option.key))

    savepoints = settings.job_defaults.origin(SAVEPOINT_DIR.key)
    shown = [
        entry("server.directory", str(settings.directory), SERVER_DIRECTORY),
        entry("server.registry", settings.registry, SERVER_REGISTRY),
        entry("server.programs", str(settings.programs or ""), SERVER_PROGRAMS),
        ConfigEntry("server.savepoints", str(settings.savepoints), savepoints),
        entry(WEB_SUBMIT.key, as_text(settings.allow_uploads), WEB_SUBMIT),
    ]
    told = {WEB_SUBMIT.key, SERVER_DIRECTORY.key, SERVER_REGISTRY.key, SERVER_PROGRAMS.key}
    others = [
        ConfigEntry(key, value, configuration.origin(key))
        for configuration in (own, settings.job_defaults)
        for key, value in sorted(shown_settings(configuration.to_dict()).items())
        if key not in told
    ]
    file = ConfigEntry("server.config-file", str(settings.config_file or ""))
    return [ConfigEntry("millrace.version", __version__), file, *shown, *others]


def get_job_config(server: JobServer, request: ApiRequest) -> JobConfigAnswer:
    """Answer ``GET /jobs/:jobid/config``."""
    return job_config(server.observed(request))


def get_server_config(server: JobServer, request: ApiRequest) -> list[ConfigEntry]:
    """Answer ``GET /jobmanager/config``."""
    return server_settings(server.settings)


def get_job_server_config(server: JobServer, request: ApiRequest) -> list[ConfigEntry]:
    """Answer ``GET /jobs/:jobid/jobmanager/config``."""
    return _own_entries(server.observed(request))


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
