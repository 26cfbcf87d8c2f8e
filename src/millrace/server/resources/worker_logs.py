"""The logs of a worker. Its output is in the logs of the jobs whose subtasks it runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from millrace.server.api_route import ApiError, ApiReply, ApiRequest, ApiRoute
from millrace.server.job_server import JobServer
from millrace.server.resources.logs import LogList, log_info, log_text
from millrace.server.resources.taskmanagers import found_worker

__all__ = ["ROUTES"]


def _logs(server: JobServer, request: ApiRequest) -> Iterator[tuple[str, Path]]:
    """Names and paths of a worker's logs; the log of the newest job is first."""
    for job in found_worker(server, request).jobs:
        yield f"{job.id}.log", server.process(job.job).log


def get_logs(server: JobServer, request: ApiRequest) -> LogList:
    """Answer ``GET /taskmanagers/:taskmanagerid/logs``."""
    infos = [log_info(path, name) for name, path in _logs(server, request)]
    return LogList([info for info in infos if info is not None])


def get_log(server: JobServer, request: ApiRequest) -> ApiReply:
    """Answer ``GET /taskmanagers/:taskmanagerid/log``, and ``/stdout``."""
    _, newest = next(_logs(server, request))
    return log_text(newest)


def get_log_file(server: JobServer, request: ApiRequest) -> ApiReply:
    """Answer ``GET /taskmanagers/:taskmanagerid/logs/:logname``."""
    wanted = request.path["logname"]
    for name, path in _logs(server, request):
        if name == wanted:
            return log_text(path)
    raise ApiError(404, f"there is no log {wanted[:80]!r} of this worker")


WORKER = "/taskmanagers/{taskmanagerid}"
ROUTES = (
    ApiRoute("GET", f"{WORKER}/logs", get_logs, "The logs of a worker's jobs.", LogList),
    ApiRoute(
        "GET", f"{WORKER}/logs/{{logname}}", get_log_file, "The end of the log of a worker's job.",
        str,
    ),
    ApiRoute("GET", f"{WORKER}/log", get_log, "The end of the log of a worker's newest job.", str),
    ApiRoute("GET", f"{WORKER}/stdout", get_log, "The same log: prints are in the log.", str),
)  # fmt: skip
