"""Limit on a server's connections. Above the limit, connections that have not sent a token are
closed.

All of it happens in the thread of the server's event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["ConnectionLimit"]

REFUSED_SECONDS = 1.0
"""Seconds in which a refused client can read the reason."""
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
    b"Retry-After: 1\r\nConnection: close\r\n\r\n"
    b'{"error":"there are too many connections; ask again soon"}'
)

_NONSENSE = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    b'{"error":"this is no request of HTTP"}'
)
_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: application/json\r\n"
    b'Connection: close\r\n\r\n{"error":"the head of the request is longer than 64 KiB"}'
)
MOST_HEAD_BYTES = 64 * 1024
"""Largest size in bytes of the request line and the headers together."""


class ConnectionLimit:
    """Counts the connections of a server.

    Args:
        most: largest number of connections at a time.
        proof: seconds in which a connection must show the token, also while it is busy; None if
            it may stay without a token until its place is needed.
    """

    def __init__(self, most: int, proof: float | None) -> None:
        self._most = most
        self._proof = proof
        self._open: set[asyncio.Transport] = set()
        self._unproven: dict[Any, asyncio.Transport] = {}
        """Connections that have not shown a token, by the client's address, the oldest first."""
        self._refused: deque[asyncio.Transport] = deque()

    def admit(self, transport: asyncio.Transport, client: Any) -> bool:
        """Admit a new connection; False if there are too many connections and all of them have sent
        the token.
        """
        if len(self._open) >= self._most and not self._make_room():
            self._refuse(transport)
            return False
        self._open.add(transport)
        self._unproven[client] = transport
        if self._proof is not None:
            asyncio.get_running_loop().call_later(
                self._proof, self._end_unproven, transport, client
            )
        return True

    def proven(self, client: Any) -> None:
        """Record that a client has sent the token."""
        self._unproven.pop(client, None)

    def left(self, transport: asyncio.Transport, client: Any) -> None:
        """Record that a connection has ended."""
        self._open.discard(transport)
        if self._unproven.get(client) is transport:
            del self._unproven[client]

    def protocol(self) -> type[asyncio.Protocol]:
        """The protocol class for uvicorn that counts its connections."""
        return _counted(self)

    def _make_room(self) -> bool:
        """Close the connection that has been open longest without sending a token; False if all
        have sent it. Clients that have a token send it immediately."""
        client = next(iter(self._unproven), None)
        if client is None:
            return False
        oldest = self._unproven.pop(client)
        self._open.discard(oldest)
        oldest.abort()
        return True

    def _end_unproven(self, transport: asyncio.Transport, client: Any) -> None:
        if self._unproven.get(client) is transport:
            self.left(transport, client)
            transport.abort()

    def _refuse(self, transport: asyncio.Transport) -> None:
        """Answer that there are too many connections."""
        if len(self._refused) == self._most:
            self._refused.popleft().abort()
        self._refused.append(transport)
        _answer_last(transport, _FULL, lambda: self._end_refused(transport))

    def _end_refused(self, transport: asyncio.Transport) -> None:
        transport.abort()
        with suppress(ValueError):
            self._refused.remove(transport)


def _answer_last(
    transport: asyncio.Transport, response: bytes, end: Callable[[], object] | None = None
) -> None:
    """Write an answer, and abort the connection when the client has had time to read it. If the
    client still sends, an immediate close would destroy the answer.

    Args:
        end: called instead of the transport's ``abort``.
    """
    transport.write(response)
    if transport.can_write_eof():
        transport.write_eof()
    asyncio.get_running_loop().call_later(REFUSED_SECONDS, end or transport.abort)


class _OnePiece:
    """A transport that collects what is written and sends it in one piece at the loop's next turn,
    so that no reader waits for a second piece.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._pieces: list[bytes] = []
        self._loop = asyncio.get_running_loop()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Queue data for sending."""
        if not self._pieces:
            self._loop.call_soon(self._send)
        self._pieces.append(data)

    def close(self) -> None:
        """Close the transport after all data is sent."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._pieces:
            self._transport.write(b"".join(self._pieces))
            self._pieces.clear()


def _counted(limit: ConnectionLimit) -> type[HttpToolsProtocol]:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    from uvicorn.protocols.utils import get_remote_addr

    class CountedProtocol(HttpToolsProtocol):
        """A counted connection with a limit on the size of request heads and of trailers after
        chunked bodies, which uvicorn and httptools do not limit. httptools documents the
        callbacks ``on_...``."""

        is_refused = False
        head_size = 0
        """Bytes received since the last complete piece of a request: a head, a piece of a body or
        the end."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            if limit.admit(transport, get_remote_addr(transport)):
                super().connection_made(cast(asyncio.Transport, _OnePiece(transport)))
                self._counted_as = transport
            else:
                self.is_refused = True

        def data_received(self, data: bytes) -> None:
            if self.is_refused:
                return
            self.head_size += len(data)
            super().data_received(data)
            if self.head_size > MOST_HEAD_BYTES:
                self.is_refused = True
                _answer_last(self._counted_as, _LONG)

        def on_headers_complete(self) -> None:
            self.head_size = 0
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self.head_size = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            self.head_size = 0
            super().on_message_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            if hasattr(self, "_counted_as"):
                limit.left(self._counted_as, self.client)
                super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            """Send status 400 with JSON, as all other answers have."""
            self.transport.write(_NONSENSE)
            self.transport.close()

    return CountedProtocol
