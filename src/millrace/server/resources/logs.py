"""Logs of the server and of each job."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec

from millrace.server.api_route import ApiError, ApiReply, ApiRequest, ApiRoute, QueryParameter
from millrace.server.job_server import JobServer
from millrace.server.log_part import DEFAULT_BYTES, LogPart, log_part

__all__ = ["ROUTES", "LogInfo", "LogList", "log_info", "log_text"]

MOST_BYTES = 4 << 20


class LogInfo(msgspec.Struct, frozen=True):
    """A log file, with its size and time."""

    name: str
    size: int
    mtime: int
    """ms since the epoch of Unix."""


class LogList(msgspec.Struct, frozen=True):
    """Answer of ``/jobmanager/logs``."""

    logs: list[LogInfo]


def log_info(path: Path, name: str) -> LogInfo | None:
    """A log as lists show it; None if the file does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return LogInfo(name, status.st_size, int(status.st_mtime * 1_000))


def log_text(path: Path) -> ApiReply:
    """The end of a log, as text."""
    part = log_part(path, -MOST_BYTES, MOST_BYTES)
    return ApiReply(part.text, media_type="text/plain; charset=utf-8")


def _part(path: Path, request: ApiRequest) -> LogPart:
    limit = min(request.query.get("limit", DEFAULT_BYTES), MOST_BYTES)
    return log_part(path, request.query.get("offset", 0), limit)


def get_job_log(server: JobServer, request: ApiRequest) -> LogPart:
    """Answer ``GET /jobs/:jobid/log``."""
    return _part(server.process(server.registered(request)).log, request)


def get_server_log(server: JobServer, request: ApiRequest) -> ApiReply:
    """Answer ``GET /jobmanager/log``: the end of the log, as text."""
    return log_text(server.settings.log)


def get_server_logs(server: JobServer, request: ApiRequest) -> LogList:
    """Answer ``GET /jobmanager/logs``."""
    infos = [log_info(path, path.name) for path in _log_files(server)]
    return LogList([info for info in infos if info is not None])


def get_log_file(server: JobServer, request: ApiRequest) -> ApiReply:
    """Answer ``GET /jobmanager/logs/:logname``."""
    for path in _log_files(server):
        if path.name == request.path["logname"] and path.is_file():
            return log_text(path)
    raise ApiError(404, f"there is no log {request.path['logname'][:80]!r}")


def _log_files(server: JobServer) -> list[Path]:
    log = server.settings.log
    return [log, log.with_name(f"{log.name}.1")]


ROUTES = (
    ApiRoute(
        "GET",
        "/jobs/{jobid}/log",
        get_job_log,
        "A part of a job's log, which includes its prints.",
        LogPart,
        query=(
            QueryParameter("offset", int, "in bytes; negative: from the end of the log"),
            QueryParameter("limit", int, "most bytes", minimum=1),
        ),
    ),
    ApiRoute("GET", "/jobmanager/log", get_server_log, "The end of the server's log.", str),
    ApiRoute("GET", "/jobmanager/logs", get_server_logs, "The files of the server's log.", LogList),
    ApiRoute(
        "GET", "/jobmanager/logs/{logname}", get_log_file, "The end of a file of the log.", str
    ),
)
