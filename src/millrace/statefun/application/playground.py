"""HTTP ports on which people can try functions: an ingress and an egress that need no external
system.

``PUT /<namespace>/<function type>/<id>`` sends a message, ``GET /<topic>`` takes the next payload.
What the job has not processed when it fails is lost.
"""

from __future__ import annotations

import json
import logging
import queue
import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from millrace.common.errors import MillraceError, SerializationError
from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.source import (
    Boundedness,
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.types.batch import RowBatch
from millrace.runtime.logs.job_notices import tell
from millrace.statefun.address import Address, TypedValue
from millrace.statefun.invocation.batch import RoutableMessage
from millrace.statefun.types import STRING, typed

__all__ = ["PlaygroundSink", "PlaygroundSource", "topic_and_payload"]

EGRESS_RECORD = "io.statefun.playground/EgressRecord"
_TYPE_PREFIX = "application/vnd."
_HOST = "127.0.0.1"
_OWN_NAMES = frozenset({"127.0.0.1", "::1", "localhost"})
"""Names by which people call the ports. A page of another site may make a browser call them by a
name of its own, which it lets mean this host."""
_MOST_BYTES = 16 << 20
"""Most bytes of a message."""
_IDLE_SECONDS = 60
"""Seconds after which a connection without a request is closed."""
_MOST_WAITING = 10_000
"""Messages that wait for the job, and payloads that wait for their reader, per topic."""


log = logging.getLogger(__name__)


class _Server(ThreadingHTTPServer):
    """HTTP server in a thread of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler], what: str) -> None:
        self.lock = threading.Lock()
        """Held while a request is answered, and while the server stops."""
        self.is_stopped = False
        self._connections: set[socket.socket] = set()
        try:
            super().__init__((_HOST, port), handler)
        except OSError as error:
            raise MillraceError(
                f"the {what} of the playground cannot listen on port {port}: {error.strerror}"
            ) from None
        tell(log, f"the {what} of the playground listens on http://{_HOST}:{self.server_port}")
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection, which is ended when the server stops."""
        with self.lock:
            if self.is_stopped:
                return
            self._connections.add(request)
        try:
            super().finish_request(request, client_address)
        finally:
            with self.lock:
                self._connections.discard(request)

    def handle_error(self, *_: Any) -> None:
        """Be silent about clients that go away."""

    def stop(self) -> None:
        """Close the port and its connections: a job that begins again must not be taken for this
        one."""
        with self.lock:
            self.is_stopped = True
            for connection in self._connections:
                with suppress(OSError):  # it has ended
                    connection.shutdown(socket.SHUT_RDWR)
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """HTTP handler of a port's requests."""

    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS
    server: _Server

    def is_allowed(self) -> bool:
        """Whether the request comes from a person, and not from a page of another site. If not, it
        is refused."""
        origin = self.headers.get("Origin")
        hosts = [f"//{self.headers.get('Host', '')}", *([] if origin is None else [origin])]
        is_foreign = self.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
        if not is_foreign and all(_host(url) in _OWN_NAMES for url in hosts):
            return True
        self.close_connection = True
        self.answer(HTTPStatus.FORBIDDEN, "the playground is for people on its own host\n")
        return False

    def content(self) -> bytes | None:
        """Body of the request. None if it is refused."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers:
            status, text = HTTPStatus.LENGTH_REQUIRED, "send the body with a Content-Length\n"
        elif not (length.isascii() and length.isdigit()):
            status, text = HTTPStatus.BAD_REQUEST, "Content-Length is not a number\n"
        elif len(length) > 18 or int(length) > _MOST_BYTES:
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            text = f"a message has at most {_MOST_BYTES} bytes\n"
        elif len(body := self.rfile.read(int(length))) < int(length):
            # the client has gone, or closed its half of the connection
            status, text = HTTPStatus.BAD_REQUEST, "the body has fewer bytes than announced\n"
        else:
            return body
        self.close_connection = True
        self.answer(status, text)
        return None

    def answer(self, status: int, text: str = "") -> None:
        """Send a reply."""
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Be silent."""


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


class PlaygroundSource(SplitSource[RoutableMessage]):
    """Messages that people send by ``PUT``; read by one subtask.

    Args:
        port: port on the loopback interface.
    """

    def __init__(self, port: int) -> None:
        self._port = port

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([SourceSplit(f"port {self._port}")])

    def create_split_reader(
        self, split: SourceSplit, position: Any, context: ReaderContext
    ) -> SplitReader[RoutableMessage]:
        return _PlaygroundReader(self._port, context.wake_up)


class _PlaygroundReader(SplitReader[RoutableMessage]):
    """Takes the messages that the server has received."""

    def __init__(self, port: int, wake_up: Callable[[], None] | None) -> None:
        waiting: queue.Queue[RoutableMessage] = queue.Queue(_MOST_WAITING)
        self._waiting = waiting

        class Ingress(_Handler):
            def do_PUT(self) -> None:
                if not self.is_allowed() or (content := self.content()) is None:
                    return
                try:
                    message = _message(self.path, self.headers.get("Content-Type"), content)
                except ValueError as error:
                    self.answer(400, f"{error}\n")
                    return
                with self.server.lock:
                    status, text = self._taken(message)
                self.answer(status, text)

            def _taken(self, message: RoutableMessage) -> tuple[int, str]:
                """Give a message to the job. Status and text of the answer."""
                if self.server.is_stopped:
                    self.close_connection = True
                    return 503, "the job has stopped reading\n"
                try:
                    waiting.put_nowait(message)
                except queue.Full:
                    return 503, f"{_MOST_WAITING} messages wait already\n"
                if wake_up is not None:
                    wake_up()
                return 200, ""

        self._server = _Server(port, Ingress, "ingress")

    def read(self, max_records: int) -> RowBatch[RoutableMessage]:
        messages: list[RoutableMessage] = []
        while len(messages) < max_records and not self._waiting.empty():
            messages.append(self._waiting.get_nowait())
        return RowBatch(messages)

    def position(self) -> None:
        return None

    def finished(self) -> bool:
        return False

    def close(self) -> None:
        self._server.stop()


def _message(path: str, content_type: str | None, content: bytes) -> RoutableMessage:
    """Message of a request.

    Raises:
        ValueError: the path is no address, or the content is of another type.
    """
    parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
    if len(parts) < 3 or not all(parts):
        raise ValueError("write PUT /<namespace>/<function type>/<id>")
    *namespace, name, id = parts
    typename = STRING
    if content_type is not None and content_type.lower().startswith(_TYPE_PREFIX):
        typename = content_type[len(_TYPE_PREFIX) :].partition(";")[0].strip()
    if typename == STRING:
        argument = typed(STRING, content.decode())  # a UnicodeDecodeError is a ValueError
    else:
        argument = TypedValue(typename, True, content)
    return RoutableMessage(Address("/".join(namespace), name, id), argument)


class PlaygroundSink(Sink[tuple[str, str]]):
    """Payloads that people take by ``GET``, in one subtask. Records come from `topic_and_payload`.

    Args:
        port: port on the loopback interface.
        topics: names of the topics.
    """

    def __init__(self, port: int, topics: Sequence[str]) -> None:
        self._port = port
        self._topics = tuple(topics)

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return _PlaygroundWriter(self._port, self._topics)


class _PlaygroundWriter(SinkWriter[tuple[str, str]]):
    """Keeps payloads until somebody takes them, up to a limit; the oldest are dropped."""

    def __init__(self, port: int, topics: Sequence[str]) -> None:
        waiting: dict[str, deque[str]] = {name: deque(maxlen=_MOST_WAITING) for name in topics}
        self._waiting = waiting

        class Egress(_Handler):
            def do_GET(self) -> None:
                if not self.is_allowed():
                    return
                topic = unquote(urlsplit(self.path).path.strip("/"))
                payloads = waiting.get(topic)
                if payloads is None:
                    known = ", ".join(waiting)
                    self.answer(404, f"there is no topic {topic!r}, known are: {known}\n")
                    return
                try:
                    payload = payloads.popleft()
                except IndexError:
                    self.answer(404, f"topic {topic!r} is empty\n")
                else:
                    self.answer(200, payload)

        self._server = _Server(port, Egress, "egress")

    def write(self, batch: RowBatch[tuple[str, str]]) -> None:
        """Add the payloads to their topics."""
        for topic, payload in batch.values:
            self._waiting[topic].append(payload)

    def close(self) -> None:
        self._server.stop()


def topic_and_payload(topics: Sequence[str], value: TypedValue) -> tuple[str, str]:
    """Topic and payload of a value that a function writes to the egress.

    Args:
        topics: names of the egress' topics.

    Raises:
        SerializationError: the value is no record of the egress, or of an unknown topic.
    """
    topic, payload = _record(value)
    if topic not in topics:
        raise SerializationError(
            f"a function wrote to the topic {topic!r} of the playground's egress, known are: "
            f"{', '.join(topics)}"
        )
    return topic, payload


def _record(value: TypedValue) -> tuple[str, str]:
    try:
        if value.typename != EGRESS_RECORD:
            raise ValueError(f"it is of type {value.typename or 'nothing'}")
        content = json.loads(value.value)
        return str(content["topic"]), str(content["payload"])
    except (ValueError, KeyError, TypeError) as error:
        raise SerializationError(
            f"the playground's egress takes records of type {EGRESS_RECORD}, JSON with 'topic' "
            f"and 'payload', but a function wrote something else: {error}"
        ) from None
