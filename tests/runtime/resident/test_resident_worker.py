"""A worker of resident tasks, whose driver is the test."""

from __future__ import annotations

import pickle
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Thread

import pytest

from millrace.common import WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.program import Program
from millrace.runtime.resident import resident_worker
from millrace.runtime.resident.connection import UNKNOWN, FrameConnection, parsed_greeting
from millrace.runtime.resident.control import Hello, Wiring, WorkerAddress
from millrace.runtime.resident.frames import Frame, FrameKind, framed
from millrace.runtime.resident.resident_worker import ResidentWorker, TaskAssignment
from millrace.runtime.worker import Worker
from millrace.testing.resident_tasks import loaded, storage

TOKEN = b"secret"


@pytest.fixture
def vanished() -> Iterator[str]:
    """An address that answers no attempt to connect, as that of a host that is gone."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(3):  # fill the queue of the server, which accepts none
            link = stack.enter_context(socket.socket())
            link.setblocking(False)
            link.connect_ex(server.getsockname())
        yield f"127.0.0.1:{server.getsockname()[1]}"


def program() -> Program:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    source = NumberSequenceSource(0, 9, splits=2)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").rebalance().print()
    return env._graph().program


def task_connection(server: socket.socket) -> tuple[FrameConnection, list[Frame]]:
    """The connection of a task to the driver, and its first frames. Its heartbeats have another
    connection."""
    while True:
        connection = FrameConnection(server.accept()[0], UNKNOWN)
        connection.authenticated(0)
        connection.socket.setblocking(True)
        frames: list[Frame] = []
        while not frames:
            frames += connection.receive()
        _, purpose, _, _ = parsed_greeting(*frames[0], TOKEN)
        if purpose == "task":
            return connection, frames[1:]


def frames_until(connection: FrameConnection, last: FrameKind, seen: list[Frame]) -> list[Frame]:
    while not any(kind == last for kind, _ in seen):
        seen += connection.receive()
        assert connection.is_open
    return seen


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse instead of waiting")
def test_a_worker_obeys_its_driver_while_it_connects_to_a_vanished_host(
    vanished: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident_worker, "CONNECT_PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assignment = TaskAssignment(f"127.0.0.1:{server.getsockname()[1]}", TOKEN, 1, 1)
        worker = ResidentWorker(assignment, Worker("test"), loaded, storage)
        thread = Thread(target=worker.run, daemon=True)
        thread.start()
        driver, seen = task_connection(server)
        (_, hello) = frames_until(driver, FrameKind.GREETING, seen)[0]
        places = WorkerAddress("another", "", vanished), Hello.decode(hello).place
        wiring = Wiring(1, pickle.dumps(program()), places, 0.005, 1).encode()
        orders = (FrameKind.WIRE, wiring), (FrameKind.PREPARE, b"")
        driver.socket.sendall(b"".join(b"".join(framed(*order)) for order in orders))
        told = frames_until(driver, FrameKind.LOST, [])
        assert [kind for kind, _ in told] == [FrameKind.PREPARED, FrameKind.LOST]
        assert told[-1][1] == b"1 0"
        driver.socket.sendall(b"".join(framed(FrameKind.RETURN, b"")))
        thread.join(60)
        assert not thread.is_alive()
        driver.close()
