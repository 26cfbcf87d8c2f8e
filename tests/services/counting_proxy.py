"""A proxy before an HTTP server that counts requests, delays them, and can cut connections."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import Counter
from typing import Self

_CHUNK = 1 << 16


class CountingProxy:
    """Forwards connections to a port of 127.0.0.1; what it forwards it does not change.

    Args:
        target: the port.
        delay: seconds that each request is held back, as a server that is far away would.
    """

    def __init__(self, target: int, delay: float = 0.0) -> None:
        self.delay = delay
        self.requests: Counter[str] = Counter()
        """By method."""
        self.lines: list[str] = []
        """Method and target of each request."""
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def clear(self) -> None:
        """Count from 0."""
        self.requests.clear()
        self.lines.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
                threading.Thread(target=_copy, args=(server, client), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        received = b""
        with contextlib.suppress(OSError), client, server:
            while True:
                while b"\r\n\r\n" not in received:
                    more = client.recv(_CHUNK)
                    if not more:
                        return
                    received += more
                head, _, received = received.partition(b"\r\n\r\n")
                self._count(head)
                server.sendall(head + b"\r\n\r\n")
                rest = _content_length(head)
                while rest:
                    piece = received[:rest] or client.recv(min(rest, _CHUNK))
                    if not piece:
                        return
                    received = received[len(piece) :]
                    server.sendall(piece)
                    rest -= len(piece)

    def _count(self, head: bytes) -> None:
        method, path, _ = head.partition(b"\r\n")[0].decode().split(" ", 2)
        self.requests[method] += 1
        self.lines.append(f"{method} {path}")
        time.sleep(self.delay)


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
    return 0


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
