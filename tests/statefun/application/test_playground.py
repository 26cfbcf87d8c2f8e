"""A module with the playground's components, as a job."""

from __future__ import annotations

import importlib.util
import json
import re
import socket
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError, MillraceError, SerializationError
from millrace.common.sink import WriterContext
from millrace.common.source import ReaderContext, SourceSplit, SplitReader
from millrace.common.types.batch import RowBatch
from millrace.datastream import StreamExecutionEnvironment
from millrace.statefun.address import FunctionType, TypedValue
from millrace.statefun.application.module_job import add_module, embedded_functions
from millrace.statefun.application.playground import (
    EGRESS_RECORD,
    PlaygroundSink,
    PlaygroundSource,
    topic_and_payload,
)
from millrace.statefun.invocation.batch import RoutableMessage
from millrace.statefun.module import read_module
from millrace.statefun.types import STRING, typed

pytest.importorskip("statefun")
PATIENCE = 30.0
MODULE = """\
kind: io.statefun.endpoints.v2/http
spec:
  functions: test/*
  urlPathTemplate: {url}
---
kind: io.statefun.playground.v1/ingress
spec:
  port: {ingress}
---
kind: io.statefun.playground.v1/egress
spec:
  port: {egress}
  topics: [greetings]
"""


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def asked(port: int, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def patiently(ask: Callable[[], tuple[int, str]]) -> str:
    """Content of the first reply that is a success."""
    deadline = monotonic() + PATIENCE
    while True:
        try:
            status, content = ask()
            if status == 200:
                return content
        except OSError:
            status, content = 0, "no server"
        assert monotonic() < deadline, (status, content)
        sleep(0.01)


def functions_of_file() -> dict[FunctionType, Any]:
    path = Path(__file__).parent.parent / "greeter_functions.py"
    spec = importlib.util.spec_from_file_location("greeter_functions", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return embedded_functions(vars(module))


@pytest.mark.parametrize("running", ["resident"], indirect=True)
@pytest.mark.parametrize("kind", ["embedded", "remote"])
def test_messages_come_by_put_and_payloads_go_by_get(
    kind: str, running: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, embedded = "http://127.0.0.1:1", functions_of_file()
    if kind == "remote":
        url, embedded = request.getfixturevalue("greeter_url"), {}
    ingress, egress = free_ports(2)
    path = tmp_path / "module.yaml"
    path.write_text(MODULE.format(url=url, ingress=ingress, egress=egress))
    with running():
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        add_module(env, read_module(path), embedded)
        client = env.execute_async("module")
        try:
            check_greetings(ingress, egress)
        finally:
            client.cancel().result()


@pytest.mark.parametrize("running", ["resident"], indirect=True)
def test_the_quick_start(running: Any, tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "statefun" / "quick-start.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    python = [text for kind, text in blocks if kind == "python"]
    yaml = [text for kind, text in blocks if kind == "yaml"]
    written: dict[str, Any] = {"__name__": "functions"}
    exec(python[0], written)
    served: dict[str, Any] = {"__name__": "served"}
    exec(python[1].replace("from functions import functions", ""), written | served)
    ingress, egress = free_ports(2)
    path = tmp_path / "module.yaml"
    module = "---\n".join(yaml).replace("8090", str(ingress)).replace("8091", str(egress))
    path.write_text(module)
    with running():
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        add_module(env, read_module(path), embedded_functions(written))
        client = env.execute_async("module")
        try:
            for number in (1, 2):
                patiently(lambda: asked(ingress, "PUT", "/example/greeter/Ada"))
                greeting = patiently(lambda: asked(egress, "GET", "/greetings"))
                assert greeting == f"Hello Ada, number {number}"
                assert greeting in page
        finally:
            client.cancel().result()


def check_greetings(ingress: int, egress: int) -> None:
    patiently(lambda: asked(ingress, "PUT", "/test/playing/Ada", "one"))
    patiently(lambda: asked(ingress, "PUT", "/test/playing/Ada", "two"))
    typename = {"Content-Type": "application/vnd.test/other"}
    assert asked(ingress, "PUT", "/test/playing/Ada", b"\xff", **typename)[0] == 200
    expected = ["Ada io.statefun.types/string 1", "Ada io.statefun.types/string 2"]
    for text in (*expected, "Ada test/other 3"):
        assert patiently(lambda: asked(egress, "GET", "/greetings")) == text
    assert asked(egress, "GET", "/greetings") == (404, "topic 'greetings' is empty\n")
    assert asked(egress, "GET", "/x")[0] == 404
    assert asked(ingress, "PUT", "/test/Ada", "x")[0] == 400
    assert asked(ingress, "PUT", "/test/playing/Ada", b"\xff")[0] == 400


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (typed(STRING, "x"), "but a function wrote something else: it is of type io.statefun"),
        (TypedValue(EGRESS_RECORD, True, b"{}"), "wrote something else: 'topic'"),
        (
            TypedValue(EGRESS_RECORD, True, json.dumps({"topic": "t", "payload": "p"}).encode()),
            "wrote to the topic 't' of the playground's egress, known are: greetings",
        ),
    ],
)
def test_what_is_no_record_of_the_egress_is_refused(value: TypedValue, error: str) -> None:
    with pytest.raises(SerializationError, match=error):
        topic_and_payload(["greetings"], value)


def test_a_port_has_one_egress() -> None:
    (port,) = free_ports(1)
    sink = PlaygroundSink(port, ["greetings"])
    writer = sink.create_writer(WriterContext(0, 1, "run"), None)
    with pytest.raises(
        MillraceError, match=f"egress of the playground cannot listen on port {port}"
    ):
        sink.create_writer(WriterContext(0, 1, "run"), None)
    writer.close()


@pytest.fixture
def ingress() -> Iterator[tuple[int, SplitReader[RoutableMessage]]]:
    """Port of an ingress, and the reader of its messages."""
    (port,) = free_ports(1)
    source = PlaygroundSource(port)
    reader = source.create_split_reader(SourceSplit("port"), None, ReaderContext(0, 1, lambda: 0))
    yield port, reader
    reader.close()


def test_a_kept_connection_does_not_outlive_its_reader(ingress: Any) -> None:
    """What is sent over it after a restart of the job would be lost, although it was accepted."""
    port, reader = ingress
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("PUT", "/test/f/1", "one")
    assert connection.getresponse().read() == b""
    reader.close()
    following = PlaygroundSource(port).create_split_reader(
        SourceSplit("port"), None, ReaderContext(0, 1, lambda: 0)
    )
    connection.auto_open = 0

    def send() -> None:
        connection.request("PUT", "/test/f/1", "two")
        connection.getresponse()

    with pytest.raises((OSError, HTTPException)):
        send()
    assert asked(port, "PUT", "/test/f/1", "three")[0] == 200
    assert [m.argument for m in following.read(10).values] == [typed(STRING, "three")]
    assert [m.argument for m in reader.read(10).values] == [typed(STRING, "one")]
    following.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost"}, 200),
        ({"Host": "[::1]:8090", "Origin": "http://localhost:3000"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Host": "evil.example:8090"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Length": "1x"}, 400),
        ({"Content-Length": "-1"}, 400),
        ({"Content-Length": str((16 << 20) + 1)}, 413),
        ({"Content-Length": "9" * 5000}, 413),
        ({"Transfer-Encoding": "chunked"}, 411),
    ],
)
def test_who_may_send_how_much(ingress: Any, headers: dict[str, str], status: int) -> None:
    port, reader = ingress
    body = None if status in (400, 411, 413) else "x"
    assert asked(port, "PUT", "/test/f/1", body, **headers)[0] == status
    assert len(reader.read(10).values) == (status == 200)


def test_a_message_that_ends_early_is_refused(ingress: Any) -> None:
    port, reader = ingress
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(
            b"PUT /test/f/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf"
        )
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as reply:
            answer = reply.read()  # to the end: the server closes the connection
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.endswith(b"fewer bytes than announced\n")
    assert not reader.read(10).values


def test_a_page_of_another_site_takes_no_payload() -> None:
    (port,) = free_ports(1)
    writer = PlaygroundSink(port, ["t"]).create_writer(WriterContext(0, 1, "run"), None)
    writer.write(RowBatch([("t", "p")]))
    assert asked(port, "GET", "/t", Host="evil.example")[0] == 403
    assert asked(port, "GET", "/t") == (200, "p")
    writer.close()


def test_a_module_needs_an_ingress_and_functions(tmp_path: Path) -> None:
    path = tmp_path / "module.yaml"
    path.write_text(MODULE.split("---", maxsplit=1)[0].format(url="http://127.0.0.1:1"))
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(JobDefinitionError, match="the module has no ingress"):
        add_module(env, read_module(path))
    with pytest.raises(JobDefinitionError, match="'empty' has no functions"):
        embedded_functions({"__name__": "empty"})
