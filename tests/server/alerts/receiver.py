"""A real HTTP server that receives alerts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """What was received, and how requests are answered."""

    def __init__(self) -> None:
        self.url = ""
        self.statuses: list[int] = []
        """Statuses of the next answers; 200 when there are no more."""
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self._changed = threading.Condition()

    def answer(self, headers: dict[str, str], body: bytes) -> int:
        with self._changed:
            self.requests.append((headers, body))
            self._changed.notify_all()
            return self.statuses.pop(0) if self.statuses else 200

    def alerts(self, count: int) -> list[dict[str, Any]]:
        """The first alerts, when so many have come; the deadline only ends tests that failed."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= count, 60), self.requests
            return [json.loads(body) for _, body in self.requests[:count]]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on a port of its own."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(receiver.answer(dict(self.headers), body))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
