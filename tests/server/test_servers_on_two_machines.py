"""Servers that neither see each other's processes nor share a network, as on two machines."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from server_group import OTHER_MACHINE, QUICK, RunningServer, ServerGroup, await_that

pytestmark = [pytest.mark.fault, pytest.mark.torture, pytest.mark.usefixtures("namespaces")]


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[ServerGroup]:
    made = ServerGroup(tmp_path, *QUICK)
    yield made
    made.close()


class Network:
    """A namespace that reaches a port of this machine over a cable that can be pulled."""

    def __init__(self, port: int) -> None:
        name = uuid.uuid4().hex[:6]
        self.namespace, self.outer, self.inner = f"mr-{name}", f"mro{name}", f"mri{name}"
        inside = ("ip", "-n", self.namespace)
        run("ip", "netns", "add", self.namespace)
        run("ip", "link", "add", self.outer, "type", "veth", "peer", "name", self.inner)
        run("ip", "link", "set", self.inner, "netns", self.namespace)
        run("ip", "addr", "add", "10.213.7.1/30", "dev", self.outer)
        run("ip", "link", "set", self.outer, "up")
        run(*inside, "addr", "add", "10.213.7.2/30", "dev", self.inner)
        run(*inside, "link", "set", self.inner, "up")
        run(*inside, "link", "set", "lo", "up")
        self._target = port
        self._listener = socket.create_server(("10.213.7.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def pull(self) -> None:
        run("ip", "link", "set", self.outer, "down")

    def plug(self) -> None:
        run("ip", "link", "set", self.outer, "up")

    def close(self) -> None:
        self._listener.close()
        subprocess.run(["ip", "link", "del", self.outer], check=False)
        subprocess.run(["ip", "netns", "del", self.namespace], check=False)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_copy, args=(one, other), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def outcomes(server: RunningServer, job: str) -> list[str]:
    return [one["outcome"] for one in server.attempts(job)]


def url(postgresql, database: str) -> str:
    return postgresql.url(database).replace("postgresql:", "postgresql+psycopg:")


def test_the_process_of_a_stopped_machine_is_fenced_off(group: ServerGroup, postgresql) -> None:
    """It goes on for a while, and commits nothing once the fence stands."""
    registry = url(postgresql, postgresql.create_database())
    first = group.start(registry, "postgresql", OTHER_MACHINE)
    await_that(first.leads, "the first election")
    second = group.start(registry, "postgresql")
    job = group.count(first)
    job.await_progress()
    first.signal(signal.SIGSTOP)  # the server alone: the job's process knows nothing of it
    assert await_that(second.leads, "the takeover") < 60
    await_that(lambda: len(outcomes(second, job.id)) == 2, "the second process")
    assert outcomes(second, job.id)[0].startswith("left behind on ")
    log = group.directory / "shared" / "jobs" / job.id / "log.txt"
    await_that(lambda: "newer leader" in log.read_text(), "the end of the first process")
    first.signal(signal.SIGCONT)
    await_that(lambda: "no longer leads" in first.log(), "the insight of the former leader")
    job.await_progress()
    assert outcomes(second, job.id)[1:] == [""]
    job.stop(second)
    job.require_exactly_once()


def test_a_partition(group: ServerGroup, postgresql) -> None:
    """The side without the database ends its processes; the other one goes on."""
    database = postgresql.create_database()
    near = url(postgresql, database)
    network = Network(postgresql.port)
    try:
        far = near.replace(f"127.0.0.1:{postgresql.port}", f"10.213.7.1:{network.port}")
        cut_off = ("ip", "netns", "exec", network.namespace, *OTHER_MACHINE)
        first = group.start(far, "postgresql", cut_off)
        await_that(lambda: "this server leads, with" in first.log(), "the first election")
        second = group.start(near, "postgresql")
        await_that(lambda: not second.leads(), "the standby")
        job = group.count_within(network.namespace, first)
        job.await_progress()
        network.pull()
        assert await_that(second.leads, "the takeover") < 60
        await_that(lambda: "is killed" in first.log(), "the end of the processes of its side")
        await_that(lambda: len(outcomes(second, job.id)) == 2, "the second process")
        job.await_progress()
        network.plug()
        job.await_progress()
        assert second.leads()
        job.stop(second)
        job.require_exactly_once()
    finally:
        network.close()
