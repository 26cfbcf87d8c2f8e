"""A subtask of a resident worker, driven by a test with a manual clock."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from tests.runtime.counting_stage import load

from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.job_graph.stages import build_job_graph
from millrace.runtime.buffer import MIN_WATERMARK, Buffer, BufferKind, end_of
from millrace.runtime.epoch import Ack, EpochPlan, SubtaskPlan
from millrace.runtime.resident import resident_subtask
from millrace.runtime.resident.credits import FIRST_CREDIT
from millrace.runtime.resident.load_meter import LoadMeter
from millrace.runtime.resident.outbox import Outbox
from millrace.runtime.resident.patience import Patience
from millrace.runtime.resident.resident_subtask import ResidentSubtask, Storage
from millrace.runtime.worker import Worker
from millrace.state.serialization.payload import decode, encode_records

CHANNEL = (0, 0)
OUT = 1
"""Edge to the stage downstream."""
TURN = 0.005


class Clock:
    """Seconds that only the test and the function advance."""

    seconds: ClassVar[float] = 0.0

    @classmethod
    def now(cls) -> float:
        return cls.seconds

    @classmethod
    def advance(cls, seconds: float) -> None:
        cls.seconds += seconds


class TakesTime(KeyedProcessFunction):
    """Needs some seconds per record, by the manual clock."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def process_element(self, value: int, ctx: Any) -> Iterable[int]:
        Clock.advance(self._seconds)
        yield value


class Driven:
    """A subtask between a source and a target, with one channel to each.

    Args:
        seconds: seconds that its function needs per record.
    """

    def __init__(self, seconds: float = 0.01, patience: Patience | None = None) -> None:
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        numbers = env.from_collection([]).key_by(lambda n: n)
        worked = numbers.process(TakesTime(seconds)).key_by(lambda n: n)
        graph = build_job_graph([worked._collecting("Collect")], "run", "job", max_parallelism=128)
        program = graph.program
        stage = program.stages[1]
        assert [edge.id for edge in program.edges if edge.source_stage == stage.id] == [OUT]
        self.acks: list[Ack] = []
        self.subtask = ResidentSubtask(
            Worker("test").subtask(program, stage, 0),
            1,
            0,
            Outbox({OUT: 1}, 1, lambda task, buffer: None),
            lambda channel, target, records: None,
            lambda payload: self.acks.append(decode(payload)),
            lambda: int(Clock.seconds * 1000),
            patience,
        )
        self._epoch = 0
        self._sent = 0
        self.begin()

    def begin(self) -> None:
        plans = {self.subtask.place: SubtaskPlan()}
        self.subtask.begin(EpochPlan(self._epoch, 0, 0, None, False, plans), Storage(load, None))

    def send(self, count: int) -> None:
        """Let records arrive, each in a buffer."""
        for number in range(count):
            payload = encode_records([number], None)
            kind = BufferKind.RECORDS
            buffer = Buffer(0, *CHANNEL, 1, self._sent, kind, MIN_WATERMARK, 1, payload)
            self._sent += 1
            self.subtask.gate.put(CHANNEL, buffer)

    def turn(self) -> None:
        self.subtask.turn(Clock.seconds + TURN)

    def work(self) -> None:
        """Give turns until the subtask needs none."""
        while self.subtask.due_at(int(Clock.seconds * 1000), Clock.seconds) == 0:
            self.turn()

    def refuse_output(self) -> None:
        """Take all credit for output away."""
        self.subtask.outbox.add_credit(OUT, 0, -FIRST_CREDIT)

    def take_output(self) -> None:
        self.subtask.take_credit(OUT, 0, FIRST_CREDIT)

    def barrier(self) -> tuple[float, float]:
        """End the epoch. Returns the seconds in which the subtask was busy in it, and those in
        which it was back-pressured."""
        end = end_of(0, *CHANNEL, 1, MIN_WATERMARK, False, [self._sent])
        self.subtask.gate.put_barrier(CHANNEL, end, self._sent, False)
        self._sent = 0
        self.work()
        ack = self.acks.pop()
        assert ack.failure is None, ack.failure
        self._epoch += 1
        return ack.time.seconds - ack.time.handing_seconds, ack.time.handing_seconds


def use_manual_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let subtasks measure by `Clock`."""
    Clock.seconds = 0.0
    clocks = SimpleNamespace(perf_counter=Clock.now, thread_time=Clock.now, time=time.time)
    monkeypatch.setattr(resident_subtask, "time", clocks)
    monkeypatch.setattr(resident_subtask, "LoadMeter", partial(LoadMeter, Clock.now))
