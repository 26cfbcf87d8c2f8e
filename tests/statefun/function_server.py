"""HTTP server of functions in a thread of the test, which speaks the protocol without any SDK."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, TypeAlias

from millrace.statefun.protocol import FromFunction, ToFunction

Handle: TypeAlias = Callable[[Any], Any]
"""From a request to its reply: messages of the protocol."""


class FunctionServer(ThreadingHTTPServer):
    """Serves functions on the loopback interface.

    Args:
        tls: context for HTTPS; None for HTTP.
        port: port to listen on; 0 for any.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self, handle: Handle, tls: ssl.SSLContext | None = None, port: int = 0, delay: float = 0
    ) -> None:
        self.served = 0
        """Number of requests that were answered."""
        self._tls = tls
        self._lock = Lock()
        self._connections: set[socket.socket] = set()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                server.authorization = self.headers.get("Authorization")
                reply = handle(ToFunction.FromString(content)).SerializeToString()
                self.send_response(200)
                self.send_header("Content-Type", "application/octet-stream")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)
                with server._lock:
                    server.served += 1

            def log_message(self, *_: object) -> None:
                """Be silent."""

        self.authorization: str | None = None
        super().__init__(("127.0.0.1", port), Handler)
        self._thread = Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """URL of the server, with the name that is in its certificates."""
        host = "127.0.0.1" if self._tls is None else "localhost"
        return f"http{'s' if self._tls else ''}://{host}:{self.server_port}"

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection. The handshake of TLS belongs to its thread."""
        if self._tls is not None:
            request = self._tls.wrap_socket(request, server_side=True)
        with self._lock:
            self._connections.add(request)
        try:
            super().finish_request(request, client_address)
        finally:
            with self._lock:
                self._connections.discard(request)
            request.close()

    def handle_error(self, *_: Any) -> None:
        """Be silent about clients that go away."""

    def stop(self) -> None:
        """End at once, as a process that is killed: connections break, with what is on them."""
        self.shutdown()
        self.server_close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with_reset = b"\1\0\0\0\0\0\0\0"  # close() sends a reset
            try:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, with_reset)
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it has ended meanwhile


@contextmanager
def function_server(handle: Handle, **settings: Any) -> Iterator[FunctionServer]:
    """A server that is stopped in the end."""
    server = FunctionServer(handle, **settings)
    try:
        yield server
    finally:
        server.stop()


def no_effects(request: Any) -> Any:
    """Handle a request without any effect."""
    return FromFunction()
