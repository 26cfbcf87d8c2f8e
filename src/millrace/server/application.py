"""The server's application: checks the client's role, parses the request, and answers in JSON.

Routes answer in threads: what they read from disk and registry keeps nobody else waiting.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from millrace.common.errors import MillraceError
from millrace.server.access_tokens import AccessTokens
from millrace.server.api_route import (
    AccessRole,
    ApiError,
    ApiReply,
    ApiRequest,
    ApiRoute,
    ErrorsAnswer,
)
from millrace.server.full_disk import full_disk
from millrace.server.job_server import JobServer
from millrace.server.kept_answers import AnswerKey, KeptAnswers
from millrace.server.misspelt_names import refuse_misspelt
from millrace.server.openapi import openapi_document
from millrace.server.registry import LeadershipLostError
from millrace.server.request_body import parsed_body, uploaded_file
from millrace.server.resources import (
    accumulators,
    checkpoints,
    cluster,
    configuration,
    exceptions,
    flame_graphs,
    function_states,
    functions,
    job_history,
    job_plan,
    jobs,
    logs,
    metrics,
    operations,
    previews,
    programs,
    prometheus,
    queryable_state,
    reruns,
    rescales,
    resource_requirements,
    savepoints,
    stacks,
    taskmanagers,
    thread_dumps,
    timelines,
    vertices,
    worker_logs,
    worker_metrics,
)
from millrace.server.sql_registry import registry_is_away

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["ROUTES", "VERSIONS", "create_application"]


def _kept(routes: Iterable[ApiRoute]) -> tuple[ApiRoute, ...]:
    """Routes whose answers to GET are cached for a moment. They show jobs, which report once a
    second, while pages and scrapers send requests all the time."""
    return tuple(replace(route, is_kept=route.method == "GET") for route in routes)


ROUTES: tuple[ApiRoute, ...] = (
    *cluster.ROUTES,
    *_kept(jobs.ROUTES),
    *_kept(job_plan.ROUTES),
    *configuration.ROUTES,
    *_kept(metrics.ROUTES),
    *_kept(prometheus.ROUTES),
    *_kept(functions.ROUTES),
    *function_states.ROUTES,
    *_kept(vertices.ROUTES),
    *_kept(accumulators.ROUTES),
    *_kept(checkpoints.ROUTES),
    *_kept(exceptions.ROUTES),
    *_kept(rescales.ROUTES),
    *operations.ROUTES,
    *reruns.ROUTES,
    *resource_requirements.ROUTES,
    *programs.ROUTES,
    *_kept(job_history.ROUTES),
    *_kept(timelines.ROUTES),
    *stacks.ROUTES,
    *flame_graphs.ROUTES,
    *previews.ROUTES,
    *savepoints.ROUTES,
    *queryable_state.ROUTES,
    *logs.ROUTES,
    *_kept(taskmanagers.ROUTES),
    *_kept(worker_metrics.ROUTES),
    *worker_logs.ROUTES,
    *thread_dumps.ROUTES,
)


log = logging.getLogger(__name__)

VERSIONS = ("", "/v1")
"""Prefixes of all paths."""
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


def create_application(
    server: JobServer,
    tokens: AccessTokens,
    routes: Iterable[ApiRoute] = ROUTES,
    kept_seconds: float = 0,
) -> Starlette:
    """The application of a job server.

    Args:
        tokens: the access tokens.
        kept_seconds: seconds for which an answer is cached.
    """
    known = tuple(routes)
    kept = KeptAnswers(lambda: server.registry.changes, kept_seconds)
    by_path: dict[str, dict[str, ApiRoute]] = {}
    for route in (*known, _openapi_route(known, tokens)):
        path = route.path
        if route.ends_in_path:
            path = path.removesuffix("}") + ":path}"
        by_path.setdefault(path, {})[route.method] = route
    mounted: list[Route | Mount] = [
        Route(version + path, _Endpoint(server, tokens, by_path[path], kept))
        for version in VERSIONS
        for path in sorted(by_path, key=_fixed_words_first)
    ]
    application = Starlette(
        routes=[*mounted, Mount("/", WebFiles())],
        exception_handlers={HTTPException: _on_http_error},
    )
    application.add_middleware(ResponseHeaders)
    return application


def _fixed_words_first(path: str) -> list[bool]:
    """Sort key that puts paths of fixed words before paths with parameters, because the first
    path that matches a request answers it."""
    return [part.startswith("{") for part in path.split("/")]


def _openapi_route(routes: tuple[ApiRoute, ...], tokens: AccessTokens) -> ApiRoute:
    document = msgspec.json.encode(openapi_document(routes, tokens.are_required))

    def get_document(server: JobServer, request: ApiRequest) -> ApiReply:
        return ApiReply(msgspec.Raw(document))

    return ApiRoute("GET", "/openapi.json", get_document, "This document.", None, AccessRole.NOBODY)


class _Endpoint:
    """Handler of all methods of a path. It is an object instead of a function, because Starlette
    then passes every method on."""

    def __init__(
        self,
        server: JobServer,
        tokens: AccessTokens,
        routes: Mapping[str, ApiRoute],
        kept: KeptAnswers,
    ) -> None:
        self._server = server
        self._tokens = tokens
        self._routes = routes
        self._kept = kept

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.requests import Request

        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ApiError as error:
            response = failure(error.status, str(error))
        except LeadershipLostError as error:
            response = failure(503, str(error), {"Retry-After": "1"})
        except Exception as error:
            response = _failed(request, error)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        route = self._routes.get(method)
        if route is None:
            allowed = ", ".join([*self._routes, *(["HEAD"] if "GET" in self._routes else [])])
            return failure(405, f"only {allowed}", {"Allow": allowed})
        role = self._tokens.role_of(request.headers.get("authorization", ""))
        refused = self._refused(request, route, role)
        if refused is not None:
            return refused
        if not route.is_kept:
            return await self._worked_out(request, route, role)
        key = AnswerKey(request.scope["path"].encode(), request.scope["query_string"], role)
        answer = self._kept.find(key)
        if answer is None:
            began = self._kept.began()
            answer = await self._worked_out(request, route, role)
            self._kept.keep(key, answer, began)
        return answer

    async def _worked_out(self, request: Request, route: ApiRoute, role: AccessRole) -> Response:
        async with uploaded_file(request, route, self._server.settings) as upload:
            asked = ApiRequest(
                path=request.path_params,
                query=parsed_query(route, request.query_params),
                body=await parsed_body(request, route),
                upload=upload,
                address=str(request.base_url).rstrip("/"),
                raw_path=request.scope.get("raw_path", b"").decode("ascii", "replace"),
                raw_query=request.url.query,
                role=role,
            )
            if route.waits_for_nothing:
                answer = route.handler(self._server, asked)
            else:
                answer = await run_in_threadpool(route.handler, self._server, asked)
        return response_of(answer, route.status)

    def _refused(self, request: Request, route: ApiRoute, role: AccessRole) -> Response | None:
        if route.role is AccessRole.NOBODY:
            return None
        if not self._tokens.are_required:
            return _refused_page(request)
        if role is AccessRole.NOBODY:
            headers = {"WWW-Authenticate": "Bearer"}
            return failure(401, "the token is missing or wrong", headers)
        if role < route.role:
            return failure(403, "this token may only read: this request needs the operate token")
        return None


def _failed(request: Request, error: Exception) -> Response:
    where = f"{request.method} {request.url.path}"
    if (no_space := full_disk(error)) is not None:
        log.warning("%s: %s", where, error)
        return failure(507, no_space)
    if isinstance(error, MillraceError):
        return failure(400, str(error))
    if registry_is_away(error):
        log.warning("%s: the registry cannot be reached: %s", where, error)
        away = (
            "the registry's database does not respond at present; jobs continue to run. Try again"
        )
        return failure(503, away, {"Retry-After": "5"})
    log.error("%s could not be answered", where, exc_info=error)
    return failure(500, "the server has failed; its log has the reason")


def _refused_page(request: Request) -> Response | None:
    """The refusal of a request that a page of another site sent through the user's browser, for
    servers without tokens; None if the request is allowed."""
    host = urlsplit(f"//{request.headers.get('host', '')}")
    if host.hostname not in LOOPBACK_NAMES:
        return failure(403, "a server without tokens can be reached only as localhost")
    # a picture or a link of another page comes without an origin, but with this from any browser
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return failure(403, "a server without tokens refuses requests of other sites")
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        return failure(403, "a server without tokens refuses requests of other sites")
    return None


def parsed_query(route: ApiRoute, given: Mapping[str, str]) -> dict[str, Any]:
    """The query parameters that a route declares, parsed.

    Raises:
        ApiError: 400, one is missing or wrong.
    """
    refuse_misspelt(given, [p.name for p in route.query], "parameter")
    missing = [p.name for p in route.query if p.required and p.name not in given]
    if missing:
        raise ApiError(400, f"the parameter {missing[0]} is missing")
    return {p.name: p.parsed(given[p.name]) for p in route.query if p.name in given}


def response_of(answer: Any, status: int) -> Response:
    """The HTTP response with a route's answer."""
    reply = answer if isinstance(answer, ApiReply) else ApiReply(answer, status)
    body = reply.body
    content = body.encode() if isinstance(body, str) else msgspec.json.encode(body, enc_hook=repr)
    return Response(content, reply.status, dict(reply.headers), reply.media_type)


def failure(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """The HTTP response that says why the server refused a request."""
    content = msgspec.json.encode(ErrorsAnswer([message]))
    return Response(content, status, dict(headers or {}), "application/json")


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return failure(error.status_code, error.detail, error.headers)


CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class ResponseHeaders:
    """Adds headers to each response; headers that the response sets itself stay."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers)


WEB = Path(__file__).parent / "web"
_NAMED_BY_CONTENT = re.compile(r"/assets/.*[-.][A-Za-z0-9_-]{8,}\.\w+")
"""Paths of files that get a new name with every new content, so that browsers may cache them."""


class WebFiles:
    """Serves a directory; ``/`` is its ``index.html``."""

    def __init__(self, directory: Path = WEB) -> None:
        self._app = GZipMiddleware(StaticFiles(directory=directory, html=True), minimum_size=1_400)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        lasting = _NAMED_BY_CONTENT.fullmatch(scope.get("path", "")) is not None
        caching = "public, max-age=31536000, immutable" if lasting else "no-cache"

        async def send_with_caching(message: Any) -> None:
            if message["type"] == "http.response.start" and message["status"] in (200, 304):
                MutableHeaders(scope=message)["Cache-Control"] = caching
            await send(message)

        await self._app(scope, receive, send_with_caching)
