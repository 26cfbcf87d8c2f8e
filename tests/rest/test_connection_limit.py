"""Connections that are counted, with an application that reads the bodies of requests."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from millrace.rest.connection_limit import MOST_HEAD_BYTES, ConnectionLimit
from millrace.rest.http_server import HttpServer


async def length_of_body(scope: Any, receive: Any, send: Any) -> None:
    length, more = 0, True
    while more:
        message = await receive()
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"%d" % length})


@pytest.fixture
def server() -> Iterator[HttpServer]:
    running = HttpServer(length_of_body, "127.0.0.1", 0, limit=ConnectionLimit(9, None))
    running.start()
    yield running
    running.close()


@pytest.mark.parametrize("size", [MOST_HEAD_BYTES - 1, 5 * MOST_HEAD_BYTES])
def test_a_body_may_be_longer_than_a_head(server: HttpServer, size: int) -> None:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    for chunked in (False, True, False):
        pieces = [b"a" * 999] * (size // 999)
        body = iter(pieces) if chunked else b"".join(pieces)
        connection.request("POST", "/", body, encode_chunked=chunked)
        assert int(connection.getresponse().read()) == size // 999 * 999
    connection.close()


@pytest.mark.parametrize("trailer", [b"X: " + b"a" * 400_000, b"X: b\r\n" * 70_000])
def test_trailers_are_bounded_as_heads_are(server: HttpServer, trailer: bytes) -> None:
    """An endless one would take all the memory."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b"1\r\na\r\n0\r\n" + trailer)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 431 ")
