"""Busy, back-pressured and idle time of a subtask, by a manual clock that its function advances."""

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
from millrace.runtime.chain import OperatorChain
from millrace.runtime.epoch import Ack, EpochPlan, SubtaskPlan
from millrace.runtime.resident import resident_subtask
from millrace.runtime.resident.credits import FIRST_CREDIT
from millrace.runtime.resident.load_meter import LoadMeter
from millrace.runtime.resident.outbox import Outbox
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


class TakesTenMs(KeyedProcessFunction):
    """Needs 10 ms per record."""

    def process_element(self, value: int, ctx: Any) -> Iterable[int]:
        Clock.advance(0.01)
        yield value


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock.seconds = 0.0
    clocks = SimpleNamespace(perf_counter=Clock.now, thread_time=Clock.now, time=time.time)
    monkeypatch.setattr(resident_subtask, "time", clocks)
    monkeypatch.setattr(resident_subtask, "LoadMeter", partial(LoadMeter, Clock.now))


class Driven:
    """A subtask between a source and a target, with one channel to each."""

    def __init__(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        numbers = env.from_collection([]).key_by(lambda n: n)
        worked = numbers.process(TakesTenMs()).key_by(lambda n: n)
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


def test_the_time_of_the_function_is_busy_and_the_rest_idle() -> None:
    driven = Driven()
    Clock.advance(0.2)
    driven.send(3)
    driven.work()
    Clock.advance(0.77)
    assert driven.barrier() == pytest.approx((0.03, 0))
    assert Clock.seconds == pytest.approx(1)


def test_work_in_the_turn_that_ends_the_epoch_is_busy() -> None:
    driven = Driven()
    driven.send(3)
    assert driven.barrier() == pytest.approx((0.03, 0))


def test_time_after_the_acknowledgement_belongs_to_the_next_epoch() -> None:
    driven = Driven()
    assert driven.barrier() == (0, 0)
    driven.refuse_output()
    Clock.advance(0.5)  # it waits for its plan
    driven.begin()
    driven.send(2)
    driven.work()
    Clock.advance(0.5)
    driven.take_output()
    assert driven.barrier() == pytest.approx((0.02, 0.5))


def test_a_subtask_that_waits_for_its_turn_has_something_to_do() -> None:
    driven = Driven()
    driven.send(2)
    driven.turn()  # one record: others work now
    Clock.advance(0.5)
    assert driven.barrier() == pytest.approx((0.52, 0))


def test_back_pressure_ends_when_the_output_is_taken() -> None:
    """Not with the next turn, which may be a long time away: there is no more input."""
    driven = Driven()
    driven.refuse_output()
    driven.send(1)
    driven.work()
    Clock.advance(0.5)
    driven.take_output()
    Clock.advance(0.2)
    assert driven.barrier() == pytest.approx((0.01, 0.5))


def test_a_subtask_with_input_is_busy_when_its_output_is_taken() -> None:
    driven = Driven()
    driven.refuse_output()
    driven.send(1)
    driven.work()
    driven.send(1)
    Clock.advance(0.5)
    driven.take_output()
    Clock.advance(0.2)
    assert driven.barrier() == pytest.approx((0.22, 0.5))


def test_a_function_that_takes_no_more_requests_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    driven, room = Driven(), [0]
    monkeypatch.setattr(OperatorChain, "room", lambda chain: room[0])
    driven.send(1)
    driven.turn()
    Clock.advance(0.5)
    room[0] = 1
    assert driven.barrier() == pytest.approx((0.51, 0))


def test_without_input_it_is_idle() -> None:
    driven = Driven()
    Clock.advance(10)
    assert driven.barrier() == (0, 0)
