"""HTTP ports on which people try functions: an ingress and an egress without any store.

``PUT /<namespace>/<function type>/<id>`` sends a message, ``GET /<topic>`` takes the next payload.
What the job has not processed when it fails is lost.
"""

from __future__ import annotations

import json
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
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
from millrace.statefun.address import Address, TypedValue
from millrace.statefun.invocation.batch import RoutableMessage
from millrace.statefun.types import STRING, typed

__all__ = ["PlaygroundSink", "PlaygroundSource"]

EGRESS_RECORD = "io.statefun.playground/EgressRecord"
_TYPE_PREFIX = "application/vnd."
_HOST = "127.0.0.1"
_MOST_WAITING = 10_000
"""Messages that wait for the job, and payloads that wait for their reader, per topic."""


class _Server(ThreadingHTTPServer):
    """HTTP server in a thread of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler], what: str) -> None:
        try:
            super().__init__((_HOST, port), handler)
        except OSError as error:
            raise MillraceError(
                f"the {what} of the playground cannot listen on port {port}: {error.strerror}"
            ) from None
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *_: Any) -> None:
        """Be silent about clients that go away."""

    def stop(self) -> None:
        """Close the port."""
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answers requests."""

    protocol_version = "HTTP/1.1"

    def answer(self, status: int, text: str = "") -> None:
        """Send a reply."""
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Be silent."""


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
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                try:
                    message = _message(self.path, self.headers.get("Content-Type"), content)
                    waiting.put_nowait(message)
                except ValueError as error:
                    self.answer(400, f"{error}\n")
                except queue.Full:
                    self.answer(503, f"{_MOST_WAITING} messages wait already\n")
                else:
                    if wake_up is not None:
                        wake_up()
                    self.answer(200)

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


class PlaygroundSink(Sink[TypedValue]):
    """Payloads that people take by ``GET``, in one subtask.

    Args:
        port: port on the loopback interface.
        topics: names of the topics.
    """

    def __init__(self, port: int, topics: Sequence[str]) -> None:
        self._port = port
        self._topics = tuple(topics)

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return _PlaygroundWriter(self._port, self._topics)


class _PlaygroundWriter(SinkWriter[TypedValue]):
    """Keeps payloads until somebody takes them. The oldest go if too many wait."""

    def __init__(self, port: int, topics: Sequence[str]) -> None:
        waiting: dict[str, deque[str]] = {name: deque(maxlen=_MOST_WAITING) for name in topics}
        self._waiting = waiting

        class Egress(_Handler):
            def do_GET(self) -> None:
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

    def write(self, batch: RowBatch[TypedValue]) -> None:
        """Add the payloads to their topics.

        Raises:
            SerializationError: a value is no record of the egress, or of an unknown topic.
        """
        for value in batch.values:
            topic, payload = _record(value)
            if topic not in self._waiting:
                raise SerializationError(
                    f"a function wrote to the topic {topic!r} of the playground's egress, known "
                    f"are: {', '.join(self._waiting)}"
                )
            self._waiting[topic].append(payload)

    def close(self) -> None:
        self._server.stop()


def _record(value: TypedValue) -> tuple[str, str]:
    """Topic and payload."""
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
