"""Resident tasks in network namespaces: hosts of their own, whose links a test can cut."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from forked_tasks import SERVER, ForkedTasks, ForkingStarter

from millrace.engine.resident.tasks import WhileWanted, always
from millrace.runtime.resident.resident_worker import ResidentWorker, TaskAssignment
from millrace.runtime.worker import Worker
from millrace.testing.resident_tasks import loaded, storage

NETWORK = "10.213.77"
CLONE_NEWNET, CLONE_NEWUTS = 0x40000000, 0x04000000
LINK_TIMEOUT = 0.6


class Islands:
    """Hosts on one bridge, at which the driver is, too.

    Raises:
        OSError, subprocess.CalledProcessError: namespaces are not allowed here.
    """

    def __init__(self, count: int) -> None:
        self._name = f"mr{os.getpid() % 100_000}"
        self._count = count
        self.driver = f"{NETWORK}.254"
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        bridge = self._name
        run("ip", "link", "add", bridge, "type", "bridge")
        run("ip", "address", "add", f"{self.driver}/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        for number in range(self._count):
            space, port = self.space(number), self.port(number)
            run("ip", "netns", "add", space)
            run("ip", "link", "add", port, "type", "veth", "peer", "eth0", "netns", space)
            run("ip", "link", "set", port, "master", bridge, "up")
            at = f"{self.address(number)}/24"
            run("ip", "-n", space, "address", "add", at, "dev", "eth0")
            run("ip", "-n", space, "link", "set", "eth0", "up")
            run("ip", "-n", space, "link", "set", "lo", "up")

    def space(self, number: int) -> str:
        """Namespace of a host."""
        return f"{self._name}-{number}"

    def port(self, number: int) -> str:
        """Port of a host at the bridge."""
        return f"{self._name}p{number}"

    def address(self, number: int) -> str:
        """Address of a host."""
        return f"{NETWORK}.{number + 1}"

    def connect(self, number: int, up: bool) -> None:
        """Cut a host off, without a word to anybody, or connect it again."""
        run("ip", "link", "set", self.port(number), "up" if up else "down")

    def part(self, isolated: bool) -> None:
        """Swallow everything between two hosts, but not between hosts and the driver."""
        for here in range(self._count):
            for there in range(self._count):
                at = (self.address(there), "dev", "eth0")
                if here != there and isolated:  # a neighbour whom nobody is
                    nobody = ("lladdr", "02:00:00:00:00:01", "nud", "permanent")
                    run("ip", "-n", self.space(here), "neighbour", "replace", *at, *nobody)
                elif here != there:
                    run("ip", "-n", self.space(here), "neighbour", "delete", *at)

    def close(self) -> None:
        """Remove everything."""
        for number in range(self._count):
            # a process that has not ended yet would keep its namespace and both ends of the link
            run("ip", "link", "delete", self.port(number), check=False)
            run("ip", "netns", "delete", self.space(number), check=False)
        run("ip", "link", "delete", self._name, check=False)


def run(*command: str, check: bool = True) -> None:
    subprocess.run(command, check=check, capture_output=True)


def run_on_island(space: str, assignment: TaskAssignment) -> None:
    """Body of a process: a task on a host."""
    if space:
        with Path("/var/run/netns", space).open() as entry:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(entry.fileno(), CLONE_NEWNET) != 0 or libc.unshare(CLONE_NEWUTS) != 0:
                os._exit(2)
        socket.sethostname(space)  # hosts of one name would use Unix domain sockets
    try:
        ResidentWorker(assignment, Worker(f"island:{os.getpid()}"), loaded, storage).run()
    except BaseException:
        os._exit(1)
    os._exit(0)


class UndeadTasks(ForkedTasks):
    """Tasks on hosts of their own. Nobody can end the process of a host that is cut off: another
    one takes its place, and it lives on."""

    def __init__(self, islands: Islands | None, *given: Any) -> None:
        self._islands = islands
        self.undead: list[int] = []
        """Pids of the processes that should have been killed."""
        self._replaced: list[BaseProcess] = []
        super().__init__(*given)

    def _start(self, task: int) -> None:
        self._attempts += 1
        number, islands = self._attempts - 1, self._islands
        address, token, generation = self._given
        host = "" if islands is None else islands.address(number)
        space = "" if islands is None else islands.space(number)
        assignment = TaskAssignment(
            address, token, generation, task, host, 0.2, self._attempts, LINK_TIMEOUT
        )
        process = SERVER.Process(target=run_on_island, args=(space, assignment))
        process.start()
        self.processes[task] = self._attempts, process

    def kill(self, attempt: int) -> None:
        for task, (number, process) in list(self.processes.items()):
            if number == attempt:
                assert process.pid is not None
                self.undead.append(process.pid)
                self._replaced.append(process)
                self._start(task)


class IslandStarter(ForkingStarter):
    """Starts tasks on islands, or undead ones on this host."""

    running: UndeadTasks

    def __init__(self, islands: Islands | None) -> None:
        super().__init__()
        if islands is not None:
            self.host = self.bind = islands.driver
        self._islands = islands

    def start(
        self,
        address: str,
        token: bytes,
        generation: int,
        tasks: int,
        may_wait: WhileWanted = always,
    ) -> UndeadTasks:
        self.running = UndeadTasks(self._islands, address, token, generation, tasks)
        self.crews.append(self.running)
        return self.running
