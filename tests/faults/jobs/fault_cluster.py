"""An executor without Spark that behaves as badly as a cluster can, reproducibly by its seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import ClassVar

from millrace.common.completable_future import CompletableFuture
from millrace.engine.executor import EpochHooks, ExecutorError
from millrace.filesystem.crash_points import crash_point
from millrace.runtime.buffer import Buffer
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.runtime.program import Program
from millrace.runtime.worker import Worker
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.checkpoint.segment import write_segment
from millrace.state.serialization.payload import decode
from millrace.state.state_delta import FileRef

FAULTS = (
    "lost before",
    "lost in between",
    "lost after",
    "ack lost",
    "ack doubled",
    "buffer lost",
    "producer ran again",
    "worker gone",
    "task died",
    "task died late",
    "task aborted",
    "zombie",
)
Elements = list[tuple[int, bytes]]


@dataclass
class FaultyCluster:
    """Runs epochs on several workers in turn; with probability ``rate`` something goes wrong.

    A zombie is a task that goes on although its epoch was lost: it stops half way, and comes to
    its end, files and all, in a later epoch.
    """

    seed: int = 0
    rate: float = 0.0
    size: int = 3
    faults: tuple[str, ...] = FAULTS
    # the engine gives a job up when one epoch is lost over and over
    in_a_row: int = 3
    # how many tasks a level may have; one alone gets all of the same attempt
    tasks: tuple[int | None, ...] = (1, 2, None)
    happened: list[str] = field(default_factory=list)
    keeps_epochs_open: ClassVar[bool] = False

    def begin_epoch(self, plan: EpochPlan) -> None:
        pass

    def end_reading(self) -> None:
        pass

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.numbers = count(1)
        self.workers = [Worker(f"w{next(self.numbers)}") for _ in range(self.size)]
        self.attempts = count(1)
        self.zombies: list[Iterator[tuple[int, bytes]]] = []
        self.row = 0

    def prepare(self, program: Program) -> CompletableFuture[None]:
        return CompletableFuture.completed(None)

    def deploy(self, program: Program) -> None:
        self.program = replace(program, tasks=self.random.choice(self.tasks))

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        self._wake_zombies()
        fault = self._draw()
        if fault == "lost before":
            raise ExecutorError(fault)
        if fault == "worker gone":
            self._replace(self.random.randrange(self.size))
        struck = self.random.randrange(self.program.levels)
        acks = self._run_levels(plan, fault, struck)
        if fault == "ack lost":
            del acks[self.random.randrange(len(acks))]
        elif fault == "ack doubled":
            acks.append(replace(self.random.choice(acks)))
        elif fault == "lost after":
            raise ExecutorError(fault)
        return acks

    def _run_levels(self, plan: EpochPlan, fault: str, struck: int) -> list[Ack]:
        program = self.program
        waiting: list[list[bytes]] = [[] for _ in range(program.width(0))]
        for level in range(program.levels):
            here = fault if level == struck else ""
            last = level + 1 == program.levels
            following: list[list[bytes]] = [
                [] for _ in range(1 if last else program.width(level + 1))
            ]
            victim = self.random.randrange(len(waiting))
            for partition, elements in enumerate(waiting):
                self.random.shuffle(elements)
                if here == "buffer lost" and partition == victim and elements:
                    self._lose(elements)
                at_victim = here if partition == victim else ""
                made = self._run_task(plan, level, partition, elements, at_victim)
                again = made
                if at_victim == "producer ran again":
                    # where it ran before, for elsewhere it would miss its state
                    again = list(self._task(self.last_worker, plan, level, partition, elements))
                self._deliver(made, again, following)
            if here == "lost in between":
                raise ExecutorError(here)
            waiting = following
        return [decode(Buffer.unpack(element).payload) for element in waiting[0]]

    def _lose(self, elements: list[bytes]) -> None:
        """A buffer does not arrive, or nothing at all of what its producer sent along its edge."""
        lost = Buffer.unpack(elements.pop())
        if self.random.random() < 0.5:
            where = lost.edge, lost.channel
            elements[:] = [e for e in elements if Buffer.unpack(e)[1:3] != where]

    def _deliver(self, made: Elements, again: Elements, following: list[list[bytes]]) -> None:
        """Each consumer gets the output of one of the attempts, whole."""
        for target, inbox in enumerate(following):
            chosen = self.random.choice((made, again))
            inbox += [element for to, element in chosen if to == target]

    def _run_task(
        self, plan: EpochPlan, level: int, partition: int, elements: list[bytes], fault: str
    ) -> Elements:
        position = self.random.randrange(self.size)
        if fault in ("task died", "task died late", "task aborted", "zombie"):
            task = self._task(position, plan, level, partition, elements)
            steps = 1_000_000 if fault == "task died late" else self.random.randrange(4)
            for _ in islice(task, steps):
                pass
            if fault == "task aborted":
                task.close()
                raise ExecutorError(fault)
            self._replace(position)
            if fault == "zombie":
                self.zombies.append(task)
        return list(self._task(position, plan, level, partition, elements))

    def _task(
        self, position: int, plan: EpochPlan, level: int, partition: int, elements: list[bytes]
    ) -> Iterator[tuple[int, bytes]]:
        self.last_attempt = next(self.attempts)
        self.last_worker = position
        return self.workers[position].run_level(
            self.program,
            level,
            partition,
            plan,
            self.last_attempt,
            list(elements),
            DeltaLoader(plan.job_dir or ""),
            segment_writer(plan),
        )

    def _replace(self, position: int) -> None:
        self.workers[position] = Worker(f"w{next(self.numbers)}")

    def _wake_zombies(self) -> None:
        while self.zombies and self.random.random() < 0.5:
            for _ in self.zombies.pop():
                pass

    def _draw(self) -> str:
        if self.random.random() >= self.rate or self.row == self.in_a_row:
            self.row = 0
            return ""
        self.row += 1
        self.happened.append(self.random.choice(self.faults))
        return self.happened[-1]

    def cancel(self, only: tuple[int, int] | None = None) -> None:
        pass

    def finished(self) -> None:
        """Nothing."""

    def close(self) -> None:
        pass


def segment_writer(plan: EpochPlan):
    """Writes segments as Spark's tasks do."""
    job_dir = plan.job_dir
    assert job_dir is not None

    def write(name: str, pieces: Iterable[bytes]) -> FileRef:
        reference = write_segment(job_dir, name, pieces, plan.durable)
        crash_point("after-segment")
        return reference

    return write
