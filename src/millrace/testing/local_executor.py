"""An executor in this process: the same subtasks and buffers, no Spark.

It can be told to mix things up as a cluster would: deliver buffers in another order, and let
several workers take turns.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from millrace.common.payload import decode
from millrace.runtime.buffer import Buffer, BufferKind
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.runtime.program import Program
from millrace.runtime.worker import Worker
from millrace.state.checkpoint.layer_file import LayerLoader
from millrace.state.layer import Layer


class LocalExecutor:
    """Runs every subtask of an epoch one after the other.

    Args:
        workers: how many workers take turns (each has its own cache of state).
        seed: shuffles who works and the order of buffers; None keeps both straight.
    """

    def __init__(self, workers: int = 1, seed: int | None = None) -> None:
        self._workers = [Worker(f"local:{index}") for index in range(workers)]
        self._random = random.Random(seed) if seed is not None else None
        self._program: Program | None = None
        self._attempts = 0

    def deploy(self, program: Program) -> None:
        """Take over the program."""
        self._program = program

    def run_epoch(self, plan: EpochPlan) -> list[Ack]:
        """Run one epoch."""
        assert self._program is not None
        program = self._program
        waiting: list[list[bytes]] = [[] for _ in range(program.partitions(0))]
        for level in range(program.levels):
            last = level + 1 == program.levels
            following: list[list[bytes]] = [
                [] for _ in range(1 if last else program.partitions(level + 1))
            ]
            for partition, elements in enumerate(waiting):
                self._run_partition(plan, level, partition, elements, following)
            waiting = following
        return [self._ack(element) for element in waiting[0]]

    def _run_partition(
        self,
        plan: EpochPlan,
        level: int,
        partition: int,
        elements: list[bytes],
        following: list[list[bytes]],
    ) -> None:
        assert self._program is not None
        self._attempts += 1
        worker = self._workers[0]
        if self._random is not None:
            worker = self._random.choice(self._workers)
            self._random.shuffle(elements)
        made = worker.run_level(
            self._program, level, partition, plan, self._attempts, elements, self._loader(plan)
        )
        for target, element in made:
            following[target].append(element)

    @staticmethod
    def _loader(plan: EpochPlan) -> Callable[[Layer], bytes]:
        return LayerLoader(plan.job_dir) if plan.job_dir is not None else _inline

    @staticmethod
    def _ack(element: bytes) -> Ack:
        buffer = Buffer.unpack(element)
        assert buffer.kind == BufferKind.ACK
        ack = decode(buffer.payload)
        assert isinstance(ack, Ack)
        return ack

    def cancel(self) -> None:
        """Nothing runs in the background."""

    def close(self) -> None:
        """Forget the program."""
        if self._program is not None:
            for worker in self._workers:
                worker.forget(self._program.run_id)


def _inline(layer: Layer) -> bytes:
    assert isinstance(layer.data, bytes)
    return layer.data
