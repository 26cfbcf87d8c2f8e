"""The HTTP server: who may ask, how many at a time, and JSON for every answer."""

from __future__ import annotations

import hmac
import logging
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any

from millrace.common.types.json_values import dumps
from millrace.rest.answers import Answer, failure

__all__ = ["RestServer"]

log = logging.getLogger(__name__)

MOST_CONNECTIONS = 64
IDLE_SECONDS = 30
"""After so long without a request a connection is closed."""
PROOF_SECONDS = 5.0
"""In so long a connection must have shown the token, however busy it is."""
ROOM_SECONDS = 0.5
"""So long a new connection waits for one that is ended in its favour."""
REFUSED_SECONDS = 1.0
"""So long one that is refused has to read why."""


_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
    b"Retry-After: 1\r\nConnection: close\r\n\r\n"
    b'{"error":"there are too many connections; ask again soon"}'
)


class RestServer:
    """Answers GET requests that carry the token, in threads of its own.

    Args:
        address: host to bind to.
        port: 0 for any that is free.
        token: what ``Authorization: Bearer`` must give.
        get: answers a request target (path and query).

    Raises:
        OSError: the address cannot be bound.
    """

    def __init__(self, address: str, port: int, token: str, get: Callable[[str], Answer]) -> None:
        self._server = _Server(address, port, token, get)
        self.port: int = self._server.server_address[1]
        host = f"[{address}]" if ":" in address else address
        self.url = f"http://{host}:{self.port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="rest", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Answer nothing more; ends open connections."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server.close_connections()


class _Server(ThreadingMixIn, TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = MOST_CONNECTIONS  # with less, those who come together wait for seconds

    def __init__(self, address: str, port: int, token: str, get: Callable[[str], Answer]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.authorization = f"Bearer {token}".encode()
        self.get = get
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._open: set[Any] = set()
        self._ends: dict[Any, float] = {}
        """When to end connections that have not shown the token."""
        self._refused: deque[tuple[Any, float]] = deque()
        """Connections that are one too many, and when to end them; of the server's thread."""
        self._lock = threading.Lock()
        super().__init__((address, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False) and not self._make_room():
            self._refuse(request)
            return
        with self._lock:
            self._open.add(request)
            self._ends[request] = time.monotonic() + PROOF_SECONDS
        super().process_request(request, client_address)

    def proven(self, connection: Any) -> None:
        """It has shown the token."""
        with self._lock:
            self._ends.pop(connection, None)

    def _make_room(self) -> bool:
        """End the connection that has been silent about the token for longest: who has it shows it
        at once. False: all have shown it, or that one does not end."""
        with self._lock:
            oldest = next(iter(self._ends), None)
            if oldest is None:
                return False
            del self._ends[oldest]
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)
        return self._free.acquire(timeout=ROOM_SECONDS)

    def _refuse(self, connection: Any) -> None:
        """Say that there are too many, and stay until that has been read: what is closed before
        its request was read takes the answer back."""
        if len(self._refused) == MOST_CONNECTIONS:
            self.shutdown_request(self._refused.popleft()[0])
        with suppress(OSError):
            connection.setblocking(False)
            connection.sendall(_FULL)
            connection.shutdown(socket.SHUT_WR)
        self._refused.append((connection, time.monotonic() + REFUSED_SECONDS))

    def service_actions(self) -> None:
        """End those whose time is over; called several times a second."""
        now = time.monotonic()
        while self._refused and self._refused[0][1] <= now:
            self.shutdown_request(self._refused.popleft()[0])
        with self._lock:
            for connection in [c for c, end in self._ends.items() if end <= now]:
                del self._ends[connection]
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open.discard(request)
                self._ends.pop(request, None)
            self._free.release()

    def close_connections(self) -> None:
        """End those that wait for another request, or read why they are refused."""
        while self._refused:
            self.shutdown_request(self._refused.popleft()[0])
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("a connection from %s broke", client_address, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "millrace"
    sys_version = ""
    timeout = IDLE_SECONDS
    # an answer leaves in one piece: with two the second would wait for the first to be confirmed
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # nobody reads that body
        try:
            answer = self._answer()
            body = dumps(answer.body)
        except Exception:
            log.exception("a request could not be answered")
            answer = failure(HTTPStatus.INTERNAL_SERVER_ERROR, "see the log of the job")
            body = dumps(answer.body)
        self._send(answer, body)

    def _answer(self) -> Answer:
        given = self.headers.get("Authorization", "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, self.server.authorization):
            headers = {"WWW-Authenticate": "Bearer"}
            return failure(HTTPStatus.UNAUTHORIZED, "the token is missing or wrong", headers)
        self.server.proven(self.connection)
        return self.server.get(self.path)

    def _send(self, answer: Answer, body: bytes) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer requests that the base class refuses: broken ones, and methods other than GET."""
        self.close_connection = True
        status = HTTPStatus(code)
        if status is HTTPStatus.NOT_IMPLEMENTED:
            answer = failure(HTTPStatus.METHOD_NOT_ALLOWED, "only GET", {"Allow": "GET"})
        else:
            answer = failure(status, status.phrase)
        self._send(answer, dumps(answer.body))

    def log_message(self, format: str, *args: Any) -> None:
        log.debug(format, *args)
