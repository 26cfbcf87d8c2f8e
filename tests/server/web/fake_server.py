"""A server with the REST API's paths whose jobs are made up; it serves the files of the web UI."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any

import uvicorn
from fake_jobs import FakeJob, FakeJobs
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

WEB = Path(__file__).resolve().parents[3] / "src" / "millrace" / "server" / "web"
OPERATE, READ = "operate-token", "read-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
"""As strict as the job server's."""


class FakeServer:
    """Answers the web UI.

    Args:
        jobs: what it tells about.
        needs_token: whether it refuses who has none.
    """

    def __init__(self, jobs: FakeJobs, needs_token: bool = False) -> None:
        self.jobs = jobs
        self.needs_token = needs_token
        self.withdrawn = False
        """Whether it knows its tokens no more."""
        self.requests: list[str] = []
        """Methods and paths, as they came."""
        self.received: list[Any] = []
        """Bodies of what was posted."""
        self.url = ""

    def application(self) -> Starlette:
        """The app for uvicorn."""
        jobs = self.jobs

        def about(path: str, answer: Callable[[FakeJob, Request], Any]) -> Route:
            return self._get(
                f"/jobs/{{job}}{path}", lambda r: answer(jobs.jobs[r.path_params["job"]], r)
            )

        return Starlette(
            routes=[
                self._get("/overview", lambda r: jobs.overview()),
                self._get(
                    "/config", lambda r: {"features": {"web-submit": True}, "role": self._role(r)}
                ),
                self._get("/jobs/overview", lambda r: jobs.summaries()),
                self._get("/taskmanagers", lambda r: jobs.workers()),
                self._get("/taskmanagers/{id}", lambda r: jobs.worker(r.path_params["id"])),
                self._get("/taskmanagers/{id}/thread-dump", lambda r: jobs.thread_dump()),
                self._get("/jobmanager/config", lambda r: jobs.settings()),
                self._get("/jars", lambda r: {"files": jobs.programs}),
                self._get("/programs", lambda r: {"files": [jobs.place]}),
                self._get("/savepoints", lambda r: jobs.savepoints()),
                self._get("/savepoints/compare", lambda r: jobs.differences()),
                about("", lambda job, r: jobs.details(job)),
                about(
                    "/vertices/{vertex}", lambda job, r: jobs.vertex(job, r.path_params["vertex"])
                ),
                about("/vertices/{vertex}/metrics", lambda job, r: jobs.metrics(_names(r))),
                about("/metrics", lambda job, r: jobs.metrics(_names(r))),
                about("/plan", lambda job, r: jobs.plan(job)),
                about("/vertices/{vertex}/preview", lambda job, r: jobs.preview(job)),
                about("/timeline", lambda job, r: jobs.timeline(job)),
                about(
                    "/vertices/{vertex}/flamegraph",
                    lambda job, r: jobs.flame_graph(r.query_params["type"]),
                ),
                about(
                    "/vertices/{vertex}/subtasks/{subtask}/metrics",
                    lambda job, r: jobs.metrics(_names(r)),
                ),
                about("/history", lambda job, r: jobs.history(job, int(r.query_params["since"]))),
                about("/checkpoints", lambda job, r: jobs.checkpoints(job)),
                about(
                    "/checkpoints/config",
                    lambda job, r: {"mode": "exactly_once", "interval": 10_000},
                ),
                about("/functions", lambda job, r: jobs.functions(job)),
                about("/exceptions", lambda job, r: jobs.exceptions(job)),
                about("/stacks", lambda job, r: jobs.stacks(job)),
                about("/log", lambda job, r: jobs.log(job, *_range(r))),
                about("/config", lambda job, r: jobs.config(job)),
                about("/jobmanager/config", lambda job, r: jobs.job_settings(job)),
                about("/attempts", lambda job, r: jobs.attempts(job)),
                about("/accumulators", lambda job, r: jobs.accumulators()),
                about(
                    "/savepoints/{request}", lambda job, r: jobs.answer(r.path_params["request"])
                ),
                Route("/health", lambda r: JSONResponse({"status": "ok", "leader": True})),
                Route("/jobs/{job}", self._cancel, methods=["PATCH"]),
                Route("/jobs/{job}/savepoints", self._savepoint, methods=["POST"]),
                Route("/jobs/{job}/stop", self._stop, methods=["POST"]),
                Route("/jobs/{job}/rerun", self._rerun, methods=["POST"]),
                Route("/jars/upload", self._upload, methods=["POST"]),
                Route("/jars/{program}/run", self._run, methods=["POST"]),
                Mount("/", StaticFiles(directory=WEB, html=True)),
            ],
            middleware=[Middleware(GZipMiddleware, minimum_size=1_000)],
        )

    def _get(self, path: str, answer: Callable[[Request], Any]) -> Route:
        async def endpoint(request: Request) -> Response:
            refused = self._refused(request, {OPERATE, READ})
            try:
                return refused or JSONResponse(answer(request))
            except (KeyError, StopIteration):
                return JSONResponse({"errors": ["there is no such job"]}, 404)

        return Route(path, endpoint)

    def _role(self, request: Request) -> str:
        reads = self.needs_token and _token(request) == READ
        return "read" if reads else "operate"

    def _refused(self, request: Request, tokens: set[str]) -> Response | None:
        self.requests.append(f"{request.method} {request.url.path}")
        token = _token(request)
        if not self.withdrawn and (not self.needs_token or token in tokens):
            return None
        if token == READ and not self.withdrawn:
            return JSONResponse(
                {"errors": ["this token may only read: this request needs the operate token"]}, 403
            )
        return JSONResponse({"errors": ["no valid token"]}, 401)

    async def _cancel(self, request: Request) -> Response:
        if refused := self._refused(request, {OPERATE}):
            return refused
        job = self.jobs.jobs[request.path_params["job"]]
        job.state, job.ended_after = "CANCELED", job.age
        return JSONResponse({}, 202)

    async def _savepoint(self, request: Request) -> Response:
        if refused := self._refused(request, {OPERATE}):
            return refused
        self.received.append(await request.json())
        job = self.jobs.jobs[request.path_params["job"]]
        return JSONResponse(self.jobs.trigger(job, "s3://checkpoints/savepoint-new"), 202)

    async def _stop(self, request: Request) -> Response:
        if refused := self._refused(request, {OPERATE}):
            return refused
        self.received.append(await request.json())
        job = self.jobs.jobs[request.path_params["job"]]
        job.state, job.ended_after = "FINISHED", job.age
        return JSONResponse(self.jobs.trigger(job, "s3://checkpoints/savepoint-last"), 202)

    async def _rerun(self, request: Request) -> Response:
        if refused := self._refused(request, {OPERATE}):
            return refused
        self.received.append(await request.json())
        return JSONResponse({"jobid": next(iter(self.jobs.jobs))})

    async def _upload(self, request: Request) -> Response:
        if refused := self._refused(request, {OPERATE}):
            return refused
        form = await request.form()
        name = str(getattr(form["jarfile"], "filename", ""))
        program = {"id": f"77aa_{name}", "name": name, "uploaded": self.jobs.clock(), "entry": []}
        self.jobs.programs.append(program)
        return JSONResponse({"filename": f"uploads/77aa_{name}", "status": "success"})

    async def _run(self, request: Request) -> Response:
        if refused := self._refused(request, {OPERATE}):
            return refused
        self.received.append(await request.json())
        return JSONResponse({"jobid": next(iter(self.jobs.jobs))})

    @contextmanager
    def running(self) -> Iterator[FakeServer]:
        """Serve on a free port of loopback; `url` says where."""
        application = _with_headers(self.application(), self.jobs.clock)
        config = uvicorn.Config(
            application, port=0, log_level="error", lifespan="off", date_header=False
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        [port] = {socket.getsockname()[1] for each in server.servers for socket in each.sockets}
        self.url = f"http://127.0.0.1:{port}/"
        try:
            yield self
        finally:
            server.should_exit = True
            thread.join()


def _with_headers(application: Starlette, clock: Callable[[], int]) -> Any:
    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                date = formatdate(clock() / 1000, usegmt=True)
                message["headers"] += [
                    (b"content-security-policy", POLICY.encode()),
                    (b"date", date.encode()),
                ]
            await send(message)

        await application(scope, receive, send_with_headers)

    return wrapped


def _token(request: Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _names(request: Request) -> Sequence[str]:
    return [name for name in request.query_params.get("get", "").split(",") if name]


def _range(request: Request) -> tuple[int, int]:
    return int(request.query_params["offset"]), int(request.query_params["limit"])
