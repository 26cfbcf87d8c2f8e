"""Answers of a standby server: they name the leader's address."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from millrace.server.leadership import Leadership

__all__ = ["Standby"]

RETRY_AFTER = 1
"""Seconds after which a client may try again while no server leads."""
OPEN_PATHS = frozenset({"/health", "/openapi.json"})
"""Paths that every server answers itself, also while another one leads."""


class Standby:
    """Passes requests to an application as long as this server leads.

    While another one does, the answer is 307 with the same path at that server's address; while
    nobody does, 503 with ``Retry-After``. A client that follows the redirect sends its token again:
    many do not do so by themselves, since it leads to another host.

    Args:
        application: that answers where this server leads.
        leadership: the server's part in the election; None before the first election.
    """

    def __init__(self, application: ASGIApp, leadership: Callable[[], Leadership | None]) -> None:
        self._application = application
        self._leadership = leadership

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        answer = self._answer(scope) if scope["type"] == "http" else None
        await (answer or self._application)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response | None:
        path: str = scope["path"]
        if path.removeprefix("/v1") in OPEN_PATHS:
            return None
        leadership = self._leadership()
        if leadership is not None and leadership.token() is not None:
            return None
        leader = leadership.leader() if leadership is not None else None
        if leader is None or not leader.address:
            return JSONResponse(
                {"errors": ["no server leads at the moment; ask again in a second"]},
                status_code=503,
                headers={"Retry-After": str(RETRY_AFTER)},
            )
        query = scope.get("query_string", b"").decode("latin-1")
        # as it came: a slash that was encoded is another one
        raw = scope.get("raw_path", b"").decode("latin-1") or quote(path)
        url = leader.address.rstrip("/") + raw + (f"?{query}" if query else "")
        return RedirectResponse(url, status_code=307)
