"""Connections to endpoints of functions over HTTP/1.1, kept open between requests."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from millrace.statefun.module.components import Transport

__all__ = ["ConnectionPool", "HttpReply", "ReplyTooLarge"]


class ReplyTooLarge(Exception):
    """A reply has more bytes than the transport allows."""


class HttpReply(NamedTuple):
    """Reply to a request."""

    status: int
    content_type: str
    body: bytes


class _Connection(asyncio.Protocol):
    """One connection, which serves one request at a time."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[HttpReply] | None = None
        self.is_open = False
        self.served = 0
        """Number of requests that the connection has served."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.is_open = True

    async def ask(self, request: bytes) -> HttpReply:
        """Send a request and wait for the reply.

        Raises:
            ConnectionError: the connection ended before the reply did.
            ReplyTooLarge: the reply has too many bytes.
            ValueError: the reply is not of HTTP.
        """
        import httptools

        assert self._transport is not None
        self._parser = httptools.HttpResponseParser(self)
        self._content_type, self._size = "", 0
        self._body: list[bytes] = []
        self._is_measured, self._has_headers = False, False
        self._reply = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            reply = await self._reply
        except BaseException:
            self.close()
            raise
        finally:
            self._reply = None
        self.served += 1
        return reply

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
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ValueError(f"this is no reply of HTTP: {error}"))

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
        """Note that a body may end with the connection."""
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


class ConnectionPool:
    """Connections to the endpoints of one specification. Used on one event loop."""

    def __init__(self, transport: Transport) -> None:
        self._settings = transport
        self._idle: dict[tuple[str, int, bool], deque[tuple[_Connection, float]]] = {}
        self._permits = asyncio.Semaphore(transport.pool_size)
        self._tls: ssl.SSLContext | None = None

    async def post(self, url: str, body: bytes) -> HttpReply:
        """Post bytes to a URL, over an idle connection if there is one.

        Raises:
            OSError: there is no connection, or it ended before the reply.
            ReplyTooLarge: the reply has too many bytes.
            ValueError: the reply is not of HTTP.
        """
        parts = urlsplit(url)
        is_tls = parts.scheme == "https"
        host = parts.hostname or ""
        place = host, parts.port or (443 if is_tls else 80), is_tls
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {parts.netloc.rpartition('@')[2]}\r\n"
            "Content-Type: application/octet-stream\r\nAccept: application/octet-stream\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        request = head.encode("latin-1") + body
        async with self._permits:
            while (connection := self._kept(place)) is not None:
                try:
                    return await self._asked(connection, place, request)
                except ConnectionError:
                    continue  # the server closed it meanwhile, so it has not served this request
            return await self._asked(await self._connected(place), place, request)

    async def _asked(
        self, connection: _Connection, place: tuple[str, int, bool], request: bytes
    ) -> HttpReply:
        async with asyncio.timeout(_seconds(self._settings.read_ms)):
            reply = await connection.ask(request)
        if connection.is_open and self._settings.pool_ttl_ms:
            now = asyncio.get_running_loop().time()
            self._idle.setdefault(place, deque()).append((connection, now))
        else:
            connection.close()
        return reply

    def _kept(self, place: tuple[str, int, bool]) -> _Connection | None:
        """The idle connection that was used last, if it is young enough."""
        idle = self._idle.get(place)
        oldest = asyncio.get_running_loop().time() - self._settings.pool_ttl_ms / 1000
        while idle and (idle[0][1] < oldest or not idle[0][0].is_open):
            idle.popleft()[0].close()
        while idle:
            connection, _ = idle.pop()
            if connection.is_open:
                return connection
        return None

    async def _connected(self, place: tuple[str, int, bool]) -> _Connection:
        host, port, is_tls = place
        if is_tls and self._tls is None:
            self._tls = tls_context(self._settings)
        async with asyncio.timeout(_seconds(self._settings.connect_ms)):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: _Connection(self._settings.payload_max_bytes),
                host,
                port,
                ssl=self._tls if is_tls else None,
            )
        return connection

    def close(self) -> None:
        """Close the idle connections."""
        for idle in self._idle.values():
            for connection, _ in idle:
                connection.close()
        self._idle.clear()


def tls_context(transport: Transport) -> ssl.SSLContext:
    """Certificates of a transport.

    Raises:
        OSError: a file cannot be read, or it is no certificate or key.
    """
    context = ssl.create_default_context(cafile=transport.trust_cacerts)
    if transport.client_cert is not None:
        password = None
        if transport.client_key_password is not None:
            password = Path(transport.client_key_password).read_text().strip()
        context.load_cert_chain(transport.client_cert, transport.client_key, password)
    return context


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
