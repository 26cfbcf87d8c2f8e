"""The HTTP server in the driver: it checks tokens, limits connections and answers in JSON."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from millrace.common.types.json_values import dumps
from millrace.rest.answers import Answer, failure
from millrace.rest.connection_limit import ConnectionLimit
from millrace.rest.http_server import HttpServer

__all__ = ["RestServer"]

log = logging.getLogger(__name__)

MOST_CONNECTIONS = 64
PROOF_SECONDS = 5.0
"""Seconds in which a connection must show the token, also while it is busy."""


class RestServer:
    """Answers GET requests that carry the token, in a thread of its own.

    Args:
        address: host to bind to.
        port: 0 for any that is free.
        token: token that clients must send as ``Authorization: Bearer``.
        get: function that answers a request target (path and query); it must be fast, because
            requests are answered one by one.

    Raises:
        OSError: the address cannot be bound.
    """

    def __init__(self, address: str, port: int, token: str, get: Callable[[str], Answer]) -> None:
        limit = ConnectionLimit(MOST_CONNECTIONS, PROOF_SECONDS)
        everything = Route("/{path:path}", _Everything(token, get, limit))
        self._http = HttpServer(Starlette(routes=[everything]), address, port, limit=limit)
        self.port = self._http.port
        self.url = self._http.url
        self._http.start()

    def close(self) -> None:
        """Stop answering, and close open connections."""
        self._http.close()


class _Everything:
    """Handler of all paths and methods. It is an object instead of a function, because Starlette
    then passes every method on.

    It answers in the event loop: to hand a request to another thread takes longer than to look up
    a key, above all while the job's own thread is busy.
    """

    def __init__(self, token: str, get: Callable[[str], Answer], limit: ConnectionLimit) -> None:
        self._authorization = f"Bearer {token}".encode()
        self._get = get
        self._limit = limit

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        try:
            answer = self._answer(request)
            body = dumps(answer.body)
        except Exception:
            log.exception("a request could not be answered")
            answer = failure(HTTPStatus.INTERNAL_SERVER_ERROR, "see the log of the job")
            body = dumps(answer.body)
        headers = {"Cache-Control": "no-store", **answer.headers}
        if "content-length" in request.headers or "transfer-encoding" in request.headers:
            headers["Connection"] = "close"  # nobody reads that body
        await Response(body, answer.status, headers, "application/json")(scope, receive, send)

    def _answer(self, request: Request) -> Answer:
        if request.method != "GET":
            return failure(HTTPStatus.METHOD_NOT_ALLOWED, "only GET", {"Allow": "GET"})
        given = request.headers.get("authorization", "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, self._authorization):
            headers = {"WWW-Authenticate": "Bearer"}
            return failure(HTTPStatus.UNAUTHORIZED, "the token is missing or wrong", headers)
        self._limit.proven(request.scope.get("client"))
        path = request.scope["raw_path"].decode("ascii", "replace")
        query = request.scope["query_string"].decode("ascii", "replace")
        return self._get(f"{path}?{query}" if query else path)
