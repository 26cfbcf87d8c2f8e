"""Resident tasks in threads of this process, with real sockets and without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from threading import Thread

from millrace.engine.resident.resident_executor import ResidentExecutor
from millrace.engine.resident.tasks import ResidentSettings, WhileWanted, always
from millrace.filesystem.crash_points import crash_point
from millrace.runtime.epoch import EpochPlan
from millrace.runtime.operator import wall_clock
from millrace.runtime.program import Program
from millrace.runtime.resident.resident_subtask import Storage
from millrace.runtime.resident.resident_worker import ResidentWorker, TaskAssignment
from millrace.runtime.worker import Worker
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.checkpoint.segment import write_segment
from millrace.state.serialization.payload import Chunk
from millrace.state.state_delta import FileRef

__all__ = ["TASK_THREADS", "ThreadStarter", "local_resident_executor"]

TASK_THREADS = "resident-task-"
"""Beginning of the names of the threads that run tasks."""


class ThreadStarter:
    """Starts resident tasks as threads. Their subtasks outlive a generation, as in processes that
    Spark reuses.

    Args:
        clock: processing time in ms since the epoch.
    """

    host = bind = "127.0.0.1"
    port = 0

    def __init__(self, clock: Callable[[], int] = wall_clock) -> None:
        self._clock = clock
        self._started: list[ThreadTasks] = []
        self._names = count()

    def start(
        self,
        address: str,
        token: bytes,
        generation: int,
        tasks: int,
        may_wait: WhileWanted = always,
    ) -> ThreadTasks:
        """Start the threads."""
        idle = [worker for running in self._started for worker in running.idle()]
        workers = []
        for task in range(tasks):
            held = idle[task] if task < len(idle) else self._new()
            assignment = TaskAssignment(address, token, generation, task)
            worker = ResidentWorker(assignment, held, loaded, storage, self._clock)
            workers.append((held, worker))
        self._started.append(ThreadTasks(workers))
        return self._started[-1]

    def _new(self) -> Worker:
        return Worker(f"local:{next(self._names)}", self._clock)

    def cores(self, spare: int = 0, may_wait: WhileWanted = always) -> None:
        """None: the number of tasks has no limit."""

    def free_slots(self) -> None:
        """None: the number of tasks has no limit."""

    def adapted(self, program: Program) -> Program:
        """The program, unchanged."""
        return program

    def forget(self, run_id: str) -> None:
        """Do nothing: workers forget a run when another one is wired."""

    def require_running(self) -> None:
        """Do nothing: this process runs."""


class ThreadTasks:
    """Running threads of one generation."""

    def __init__(self, workers: list[tuple[Worker, ResidentWorker]]) -> None:
        self._error: str | None = None
        self._held = [held for held, _ in workers]
        self._threads = [
            Thread(target=self._run, args=pair, name=f"{TASK_THREADS}{n}", daemon=True)
            for n, pair in enumerate(workers)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, held: Worker, worker: ResidentWorker) -> None:
        try:
            worker.run()
            held.close_ended()
        except BaseException as error:
            self._error = f"{type(error).__name__}: {error}"
            raise

    def idle(self) -> list[Worker]:
        """Take over the workers of threads that have ended, so that other threads can use them."""
        ended = [n for n, thread in enumerate(self._threads) if not thread.is_alive()]
        idle = [self._held[n] for n in ended]
        self._held = [w for w in self._held if w not in idle]
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        return idle

    def leaving(self, attempts: Sequence[int]) -> Sequence[int]:
        """No attempts: threads do not leave."""
        return ()

    def failure(self) -> str | None:
        """Error of the first thread that failed; empty if all have returned."""
        if self._error is None and any(thread.is_alive() for thread in self._threads):
            return None
        return self._error or ""

    def kill(self, attempt: int) -> None:
        """Do nothing: a thread cannot be ended."""

    def reason(self, attempt: int) -> str:
        """Empty: when a thread ends, all tasks have ended."""
        return ""

    def cancel(self) -> None:
        """Do nothing: a thread cannot be ended."""

    def wait(self, seconds: float) -> bool:
        """Wait for the threads."""
        for thread in self._threads:
            thread.join(seconds)
        return not any(thread.is_alive() for thread in self._threads)


def local_resident_executor(
    tasks: int = 2,
    settings: ResidentSettings | None = None,
    clock: Callable[[], int] = wall_clock,
) -> ResidentExecutor:
    """Executor of resident tasks in threads of this process."""
    return ResidentExecutor(ThreadStarter(clock), tasks, settings)


def loaded(code: bytes) -> Program:
    program = pickle.loads(code)
    assert isinstance(program, Program)
    return program


def storage(plan: EpochPlan) -> Storage:
    job_dir, durable = plan.job_dir, plan.durable
    assert job_dir is not None

    def write(name: str, pieces: Iterable[Chunk]) -> FileRef:
        reference = write_segment(job_dir, name, pieces, durable)
        crash_point("after-segment")
        return reference

    return Storage(DeltaLoader(job_dir), write)
