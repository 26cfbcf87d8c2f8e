"""Listeners on loopback, and measurements to send to them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any, NamedTuple

import pytest

from millrace.common import Configuration
from millrace.metrics.measurement import HistogramValue, Measurement, MetricKind, MetricScope
from millrace.metrics.reporter_settings import ReporterSettings


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Listener(NamedTuple):
    port: int
    requests: Queue[Request]


@pytest.fixture
def http_listener() -> Iterator[Listener]:
    requests: Queue[Request] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            requests.put(Request(self.command, self.path, headers, self.rfile.read(length)))
            self.send_response(202 if "series" in self.path else 200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"status": "ok"}' if "series" in self.path else b"")

        do_POST = do_PUT = do_DELETE = answer

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield Listener(server.server_port, requests)
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def udp_listener() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(20)
        yield listener


@pytest.fixture
def tcp_listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)
        yield listener


@pytest.fixture
def settings() -> Callable[..., ReporterSettings]:
    """Makes the settings of a reporter called r."""

    def made(common: dict[str, str] | None = None, **parameters: str) -> ReporterSettings:
        pairs = {f"metrics.reporter.r.{k.replace('__', '.')}": v for k, v in parameters.items()}
        return ReporterSettings("r", Configuration({**pairs, **(common or {})}))

    return made


JOB = MetricScope("jobmanager.job", {"<host>": "here", "<job_id>": "00", "<job_name>": "count it"})
OPERATOR = MetricScope(
    "taskmanager.job.task.operator",
    {
        **JOB.variables,
        "<tm_id>": "here:7",
        "<task_name>": "Map",
        "<operator_name>": "Map",
        "<subtask_index>": "0",
    },
)


@pytest.fixture
def measurements() -> list[Measurement]:
    seen = HistogramValue(4, 10.0, 1, 4, {0.5: 2.0, 0.99: 4.0})
    topic = {"<topic>": "orders"}
    return [
        Measurement(JOB, "numRestarts", MetricKind.GAUGE, 2, "numRestarts"),
        Measurement(JOB, "lastCheckpointExternalPath", MetricKind.GAUGE, "/x", "path"),
        Measurement(OPERATOR, "numRecordsIn", MetricKind.COUNTER, 7, "numRecordsIn"),
        Measurement(OPERATOR, "topic.orders.lag", MetricKind.GAUGE, -1.5, "topic.lag", topic),
        Measurement(OPERATOR, "size", MetricKind.HISTOGRAM, seen, "size"),
    ]
