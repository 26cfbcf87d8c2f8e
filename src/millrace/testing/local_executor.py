"""An executor in this process: the same subtasks and buffers, without Spark.

It can mix things up as a cluster would: deliver buffers in another order, let several
workers take turns, and fail.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from contextlib import chdir, nullcontext
from dataclasses import replace
from pathlib import Path

from millrace.common.completable_future import CompletableFuture
from millrace.engine.executor import EpochHooks, ExecutorError
from millrace.runtime.epoch import Ack, EpochPlan, ack_of
from millrace.runtime.operator import wall_clock
from millrace.runtime.program import Program
from millrace.runtime.subtask import SegmentWriter
from millrace.runtime.worker import Element, Worker
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.checkpoint.segment import write_segment
from millrace.state.serialization.pickles import dump_code
from millrace.state.state_delta import StateDelta
from millrace.testing.faults import Dice, Faults
from millrace.testing.paused_collector import paused_collector

TASKS = (1, 2, 3, None)


class LocalExecutor:
    """Runs the subtasks of an epoch one after another in this process.

    Args:
        workers: number of workers that take turns (each has its own cache of state).
        seed: shuffles the workers and the order of buffers, and chooses the number of tasks of a
            level; with None both stay in order, and each subtask has a task.
        faults: probabilities of faults, drawn from the seed.
        source_clock: clock of the source readers, in ms since the Unix epoch.
        directory: working directory while subtasks run, as in workers with archives; None for
            that of this process.
    """

    keeps_epochs_open = False

    def __init__(
        self,
        workers: int = 1,
        seed: int | None = None,
        faults: Faults | None = None,
        source_clock: Callable[[], int] = wall_clock,
        directory: Path | None = None,
    ) -> None:
        self._source_clock, self._directory = source_clock, directory
        self._workers = [self._worker(index) for index in range(workers)]
        self._random = random.Random(seed) if seed is not None else None
        self._dice = Dice(faults or Faults(), seed or 0)
        self._program: Program | None = None
        self._attempts = 0

    def _worker(self, index: int) -> Worker:
        return Worker(f"local:{index}", self._source_clock, interruptible=True)

    def deploy(self, program: Program) -> None:
        """Take a pickled copy of the program, as workers receive it.

        Raises SerializationError when it cannot be pickled.
        """
        self.close()  # of what ran here before the job was rescaled
        if self._random is not None:
            program = replace(program, tasks=self._random.choice(TASKS))
        self._program = pickle.loads(dump_code(program, lambda: f"job '{program.job_name}'"))

    def prepare(self, program: Program) -> CompletableFuture[None]:
        """Do nothing: nothing has to be started."""
        return CompletableFuture.completed(None)

    def begin_epoch(self, plan: EpochPlan) -> None:
        """Do nothing: `run_epoch` begins and ends an epoch."""

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        """Run one epoch. Raises ExecutorError when an injected fault loses it."""
        directory = self._directory
        with paused_collector(), nullcontext() if directory is None else chdir(directory):
            return self._run_epoch(plan)

    def _run_epoch(self, plan: EpochPlan) -> list[Ack]:
        assert self._program is not None
        program = self._program
        self._dice.begin_epoch(plan.attempt)
        if self._dice.lose_worker():
            index = self._dice.choose(len(self._workers))
            self._workers[index] = self._worker(index)
        waiting: list[list[bytes]] = [[] for _ in range(program.width(0))]
        for level in range(program.levels):
            last = level + 1 == program.levels
            following: list[list[bytes]] = [
                [] for _ in range(1 if last else program.width(level + 1))
            ]
            for partition, elements in enumerate(waiting):
                for target, element in self._run_partition(plan, level, partition, elements):
                    following[target].append(element)
            waiting = following
        if self._dice.lose_epoch():
            raise ExecutorError("an injected fault lost the epoch's answers")
        return list(map(ack_of, waiting[0]))

    def _run_partition(
        self, plan: EpochPlan, level: int, partition: int, elements: list[bytes]
    ) -> list[Element]:
        made = self._run_task(plan, level, partition, elements)
        if self._dice.repeat_task():
            attempts = [made, self._run_task(plan, level, partition, elements)]
            targets = sorted({target for target, _ in made})
            chosen = {target: attempts[self._dice.choose(2)] for target in targets}
            made = [e for target in targets for e in chosen[target] if e[0] == target]
        if made and self._dice.lose_buffer():
            del made[self._dice.choose(len(made))]
        return made

    def _run_task(
        self, plan: EpochPlan, level: int, partition: int, elements: list[bytes]
    ) -> list[Element]:
        assert self._program is not None
        self._attempts += 1
        worker = self._workers[0]
        if self._random is not None:
            worker = self._random.choice(self._workers)
            self._random.shuffle(elements)
        made = worker.run_level(
            self._program,
            level,
            partition,
            plan,
            self._attempts,
            elements,
            self._loader(plan),
            self._segment_writer(plan),
        )
        return list(made)

    @staticmethod
    def _loader(plan: EpochPlan) -> Callable[[StateDelta], bytes]:
        return DeltaLoader(plan.job_dir) if plan.job_dir is not None else _inline

    @staticmethod
    def _segment_writer(plan: EpochPlan) -> SegmentWriter | None:
        job_dir = plan.job_dir
        if job_dir is None:
            return None
        return lambda name, pieces: write_segment(job_dir, name, pieces, plan.durable)

    def end_reading(self) -> None:
        """Do nothing: an epoch reads only the records that are available."""

    def cancel(self, only: tuple[int, int] | None = None) -> None:
        """Do nothing: nothing runs in the background."""

    def finished(self) -> None:
        """Do nothing: `close` deletes everything."""

    def close(self) -> None:
        """Drop the program."""
        if self._program is not None:
            for worker in self._workers:
                worker.forget(self._program.run_id)


def _inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data
