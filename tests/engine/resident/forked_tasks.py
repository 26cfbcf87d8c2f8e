"""Resident tasks in forked processes. One that is killed is started again, as by Spark."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from threading import Event, Thread

from millrace.engine.resident.tasks import WhileWanted, always
from millrace.runtime.program import Program
from millrace.runtime.resident.resident_worker import ResidentWorker, TaskAssignment
from millrace.runtime.worker import Worker
from millrace.testing.resident_tasks import loaded, storage

# a server forks: a child of the driver would inherit its locks, and hold them as long as it lives
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["millrace.testing.resident_tasks"])


def run_task(address: str, token: bytes, generation: int, task: int, attempt: int) -> None:
    assignment = TaskAssignment(address, token, generation, task, "", 0.2, attempt)
    try:
        ResidentWorker(assignment, Worker(f"forked:{os.getpid()}"), loaded, storage).run()
    except BaseException:
        os._exit(1)
    os._exit(0)


class ForkedTasks:
    """Running processes. One that does not end with 0 is replaced."""

    def __init__(self, address: str, token: bytes, generation: int, tasks: int) -> None:
        self._given = address, token, generation
        self._attempts = 0
        self._over = Event()
        self.waiting: set[int] = set()
        """Tasks for which there is no slot if they are lost."""
        self.left: set[int] = set()
        """Attempts whose executor is about to be removed."""
        self.processes: dict[int, tuple[int, BaseProcess]] = {}
        for task in range(tasks):
            self._start(task)
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _start(self, task: int) -> None:
        self._attempts += 1
        process = SERVER.Process(target=run_task, args=(*self._given, task, self._attempts))
        process.start()
        self.processes[task] = self._attempts, process

    def _watch(self) -> None:
        while not self._over.is_set() and self._alive():
            for task, (_, process) in list(self.processes.items()):
                if task not in self.waiting and not process.is_alive() and process.exitcode != 0:
                    self._start(task)
            self._over.wait(0.01)

    def _alive(self) -> bool:
        return any(p.is_alive() or p.exitcode != 0 for _, p in self.processes.values())

    def failure(self) -> str | None:
        return None if self._thread.is_alive() else ""

    def kill(self, attempt: int) -> None:
        for number, process in self.processes.values():
            if number == attempt:
                process.kill()

    def reason(self, attempt: int) -> str:
        return "it was killed"

    def leaving(self, attempts: Sequence[int]) -> Sequence[int]:
        return [attempt for attempt in attempts if attempt in self.left]

    def cancel(self) -> None:
        self._over.set()
        for _, process in self.processes.values():
            process.kill()

    def wait(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()


class ForkingStarter:
    """Starts forked tasks; `running` are those of the last generation.

    Args:
        slots: number of tasks that can run. None if there is no limit.
    """

    host = bind = "127.0.0.1"
    port = 0
    running: ForkedTasks

    def __init__(self, slots: int | None = None) -> None:
        self.slots = slots
        self.crews: list[ForkedTasks] = []

    def start(
        self,
        address: str,
        token: bytes,
        generation: int,
        tasks: int,
        may_wait: WhileWanted = always,
    ) -> ForkedTasks:
        self.running = ForkedTasks(address, token, generation, tasks)
        self.crews.append(self.running)
        return self.running

    def cores(self, spare: int = 0, may_wait: WhileWanted = always) -> int | None:
        return None if self.slots is None else max(self.slots - spare, 1)

    def free_slots(self) -> int | None:
        if self.slots is None:
            return None
        return self.slots - sum(process.is_alive() for process in self.processes())

    def processes(self) -> list[BaseProcess]:
        """Processes of all crews."""
        return [process for crew in self.crews for _, process in crew.processes.values()]

    def forget(self, run_id: str) -> None:
        pass

    def adapted(self, program: Program) -> Program:
        return program

    def require_running(self) -> None:
        pass
