"""Connections to endpoints of functions over HTTP/1.1, kept open between requests."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from millrace.statefun.invocation.certificates import Certificates
from millrace.statefun.module.components import UNIX_SCHEMES, Transport, socket_and_path

__all__ = ["ConnectionPool", "HttpReply", "ReplyTooLarge"]

_MOST_HEAD_BYTES = 64 << 10
"""Most bytes of a reply that are not of its body."""
_LOOK_AGAIN = 0.1
"""Seconds until the next look at a request that has not gone entirely."""
_OVERHEAD = 8
"""Most bytes on the line per byte of a body in chunks, beside the head."""


class ReplyTooLarge(Exception):
    """A reply has more bytes than the transport allows."""


class HttpReply(NamedTuple):
    """Reply to a request."""

    status: int
    content_type: str
    body: bytes


class _Connection(asyncio.Protocol):
    """One connection, which serves one request at a time."""

    def __init__(self, settings: Transport) -> None:
        self._max_bytes = settings.payload_max_bytes
        self._limits = _seconds(settings.read_ms), _seconds(settings.write_ms)
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[HttpReply] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.is_open = False
        self.has_answered = False
        """Whether bytes of the reply to the last request have arrived."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.is_open = True

    async def ask(self, request: bytes) -> HttpReply:
        """Send a request and wait for the reply.

        Raises:
            ConnectionError: the connection ended before the reply did.
            TimeoutError: a read or write took longer than its limit.
            ReplyTooLarge: the reply has too many bytes.
            ValueError: the reply is not of HTTP.
        """
        import httptools

        assert self._transport is not None
        loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._content_type, self._size, self._received = "", 0, 0
        self._body: list[bytes] = []
        self._is_measured, self._has_headers = False, False
        self.has_answered = False
        self._reply = loop.create_future()
        self._transport.write(request)
        self._moved_at, self._unsent = loop.time(), self._transport.get_write_buffer_size()
        if self._limits != (None, None):
            self._check_progress()
        try:
            return await self._reply
        except BaseException:
            self.close()
            raise
        finally:
            self._reply = None
            if self._timer is not None:
                self._timer.cancel()

    def _check_progress(self) -> None:
        """Fail the request if no byte has gone or come within the limit of a write or read. Check
        again when the limit may be over."""
        assert self._transport is not None
        loop, (read, write) = asyncio.get_running_loop(), self._limits
        unsent = self._transport.get_write_buffer_size()
        if unsent != self._unsent:
            self._unsent, self._moved_at = unsent, loop.time()
        limit = write if unsent else read
        left = _LOOK_AGAIN if limit is None else self._moved_at + limit - loop.time()
        if left <= 0:
            done = "taken" if unsent else "sent"
            self._fail(TimeoutError(f"it has {done} no byte for {limit} s"))
            return
        # nobody tells when a part of the request has gone
        self._timer = loop.call_later(
            min(left, _LOOK_AGAIN) if unsent else left, self._check_progress
        )

    def close(self) -> None:
        """Close the connection."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    # -- called by the event loop and the parser -----------------------------------------

    def data_received(self, data: bytes) -> None:
        import httptools

        if self._reply is None or self._reply.done():
            self.close()  # bytes that nobody asked for
            return
        self._received += len(data)
        self.has_answered = True
        if self._limits != (None, None):
            self._moved_at = asyncio.get_running_loop().time()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ValueError(f"the response is not valid HTTP: {error}"))
        if self._received > _OVERHEAD * self._size + _MOST_HEAD_BYTES:
            message = f"the reply has more than {_MOST_HEAD_BYTES} bytes of headers"
            self._fail(ReplyTooLarge(message))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note the headers that matter."""
        lower = name.lower()
        if lower == b"content-type":
            self._content_type = value.decode("latin-1")
        elif lower in (b"content-length", b"transfer-encoding"):
            self._is_measured = True
            if lower == b"content-length" and value.isdigit() and int(value) > self._max_bytes:
                self._fail(ReplyTooLarge(f"the reply has {int(value)} bytes"))

    def on_headers_complete(self) -> None:
        """Record that a body may end with the connection."""
        self._has_headers = True

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._size += len(body)
        if self._size > self._max_bytes:
            self._fail(ReplyTooLarge(f"the reply has more than {self._max_bytes} bytes"))
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        """Hand over the reply, unless it is an interim one."""
        status = self._parser.get_status_code()
        if status >= 200:
            self.is_open = self.is_open and self._parser.should_keep_alive()
            self._finish(status)

    def _finish(self, status: int) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(HttpReply(status, self._content_type, b"".join(self._body)))

    def _fail(self, error: Exception) -> None:
        self.is_open = False
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._reply is None or self._reply.done():
            return
        if exc is None and self._has_headers and not self._is_measured:
            self._finish(self._parser.get_status_code())
            return
        self._fail(ConnectionError(str(exc) if exc else "the connection ended before the reply"))


class _Server(NamedTuple):
    """Address of a server.

    Attributes:
        socket: path of the socket on which the server listens; None if it listens on a port.
    """

    host: str
    port: int
    is_tls: bool
    socket: str | None = None


class _RequestTarget(NamedTuple):
    """Server of a URL, and the first lines of a request for this URL."""

    server: _Server
    head: str


@lru_cache(1024)
def _request_target(url: str, authorization: str | None) -> _RequestTarget:
    parts = urlsplit(url)
    is_tls = parts.scheme.startswith("https")
    if parts.scheme in UNIX_SCHEMES:
        socket, path = socket_and_path(parts.path)
        server, name = _Server("localhost", 0, is_tls, unquote(socket)), "localhost"
    else:
        path, name = parts.path, parts.netloc
        server = _Server(parts.hostname or "", parts.port or (443 if is_tls else 80), is_tls)
    target = (path or "/") + (f"?{parts.query}" if parts.query else "")
    head = (
        f"POST {target} HTTP/1.1\r\nHost: {name}\r\n"
        "Content-Type: application/octet-stream\r\nAccept: application/octet-stream\r\n"
    )
    if authorization is not None:
        head += f"Authorization: {authorization}\r\n"
    return _RequestTarget(server, head)


class ConnectionPool:
    """Connections to the endpoints of one specification. Used on one event loop.

    Args:
        authorization: value of the header ``Authorization``; None if there is none.
    """

    def __init__(self, settings: Transport, authorization: str | None = None) -> None:
        self._settings = settings
        self._authorization = authorization
        self._certificates = Certificates(settings)
        self._permits = asyncio.Semaphore(settings.pool_size)
        self._ttl = settings.pool_ttl_ms / 1000
        self._idle: dict[_Server, deque[tuple[_Connection, float]]] = {}
        """Idle connections with the times since when they are, the oldest first."""
        self._busy: set[_Connection] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def post(self, url: str, body: bytes) -> HttpReply:
        """Post bytes to a URL, over an idle connection if there is one.

        Raises:
            OSError: there is no connection, or it ended before the reply.
            CertificateFault: a certificate of the transport cannot be loaded.
            ReplyTooLarge: the reply has too many bytes.
            ValueError: the reply is not of HTTP.
        """
        target = _request_target(url, self._authorization)
        server = target.server
        request = f"{target.head}Content-Length: {len(body)}\r\n\r\n".encode("ascii") + body
        async with self._permits:
            kept = self._kept(server)
            if kept is not None:
                try:
                    return await self._asked(kept, server, request)
                except ConnectionError:
                    if kept.has_answered:
                        raise
                    # The server has closed the connection meanwhile. This attempt goes on over a
                    # new one: further idle connections may be in the same state.
            connection = await self._connected(server)
            return await self._asked(connection, server, request)

    async def _asked(self, connection: _Connection, server: _Server, request: bytes) -> HttpReply:
        self._busy.add(connection)
        try:
            reply = await connection.ask(request)
        finally:
            self._busy.discard(connection)
        if connection.is_open and self._ttl and not self._is_closed:
            loop = asyncio.get_running_loop()
            self._idle.setdefault(server, deque()).append((connection, loop.time()))
            if self._sweep is None:
                self._sweep = loop.call_later(self._ttl, self._close_old)
        else:
            connection.close()
        return reply

    def _kept(self, server: _Server) -> _Connection | None:
        """The open connection that was used last."""
        idle = self._idle.get(server)
        while idle:
            connection, _ = idle.pop()
            if connection.is_open:
                return connection
        return None

    def _close_old(self) -> None:
        """Close the connections that have been idle for their time to live."""
        loop, self._sweep = asyncio.get_running_loop(), None
        oldest = loop.time() - self._ttl
        for server, idle in list(self._idle.items()):
            while idle and (idle[0][1] <= oldest or not idle[0][0].is_open):
                idle.popleft()[0].close()
            if not idle:
                del self._idle[server]
        if self._idle:
            next_end = min(idle[0][1] for idle in self._idle.values()) + self._ttl
            self._sweep = loop.call_at(next_end, self._close_old)

    async def _connected(self, server: _Server) -> _Connection:
        tls = self._certificates.context() if server.is_tls else None
        loop = asyncio.get_running_loop()

        def create() -> _Connection:
            return _Connection(self._settings)

        async with asyncio.timeout(_seconds(self._settings.connect_ms)):
            if server.socket is not None:
                name = server.host if server.is_tls else None
                _, connection = await loop.create_unix_connection(
                    create, server.socket, ssl=tls, server_hostname=name
                )
            else:
                _, connection = await loop.create_connection(
                    create, server.host, server.port, ssl=tls
                )
        return connection

    def close(self) -> None:
        """Close all connections. Called on the event loop."""
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for connection in self._busy:
            connection.close()
        for idle in self._idle.values():
            for connection, _ in idle:
                connection.close()
        self._idle.clear()


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
