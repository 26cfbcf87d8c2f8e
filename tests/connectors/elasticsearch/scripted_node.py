"""A node in front of a real cluster that answers as a script says, and notes what it was asked."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, Any]


@dataclass
class ScriptedNode:
    """Each request takes the next of `script`: None is passed on to the cluster, and so is
    everything when it is empty. ``"lost"`` passes it on and closes the connection without an
    answer. A number is the status of an answer of its own; a dict refuses those documents of the
    request whose ids it names with the status that it gives, and passes the others on."""

    cluster: str
    script: list[Any] = field(default_factory=list)
    port: int = 0
    authorizations: list[str | None] = field(default_factory=list)
    requests: list[list[Any]] = field(default_factory=list)
    """The lines of each, from JSON."""
    paths: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, path: str, body: bytes) -> Reply | None:
        step = self.script.pop(0) if self.script else None
        if isinstance(step, int):
            return step, {"error": {"type": "scripted", "reason": "as the test wants it"}}
        if isinstance(step, dict):
            return self._refuse_some(path, body, step)
        reply = self._pass_on(path, body)
        return None if step == "lost" else reply

    def _refuse_some(self, path: str, body: bytes, statuses: dict[str, int]) -> Reply:
        lines = body.splitlines()
        kept, items, passed = [], [], 0
        position = 0
        while position < len(lines):
            [(operation, place)] = json.loads(lines[position]).items()
            length = 1 if operation == "delete" else 2
            status = statuses.get(place.get("_id"))
            if status is None:
                kept += lines[position : position + length]
                items.append(None)
                passed += 1
            else:
                error = {"type": "scripted", "reason": "no room"}
                items.append({operation: {"status": status, "error": error}})
            position += length
        if passed:
            _, answer = self._pass_on(path, b"\n".join([*kept, b""]))
            results = iter(answer["items"])
            items = [next(results) if item is None else item for item in items]
        return 200, {"errors": True, "items": items}

    def _pass_on(self, path: str, body: bytes) -> Reply:
        connection = http.client.HTTPConnection(self.cluster.rpartition("/")[2], timeout=30)
        try:
            connection.request("POST", path, body, {"content-type": "application/x-ndjson"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()


@contextmanager
def scripted_node(cluster: str) -> Iterator[ScriptedNode]:
    """One that runs."""
    node = ScriptedNode(cluster)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            node.authorizations.append(self.headers.get("authorization"))
            node.paths.append(self.path.partition("?")[0])
            node.requests.append([json.loads(line) for line in body.splitlines()])
            reply = node.answer(self.path, body)
            if reply is None:
                self.close_connection = True
                return
            payload = json.dumps(reply[1]).encode()
            self.send_response(reply[0])
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    node.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield node
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
