"""Readers and requests that wake the loop of their task: nobody polls them.

Without a wake-up these jobs would stand still, so that no test measures time.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from millrace.common import (
    Configuration,
    Time,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from millrace.common.source import (
    AssignedSplit,
    Boundedness,
    ReaderContext,
    Source,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
    SplitRecords,
    StaticEnumerator,
)
from millrace.common.types.batch import RowBatch
from millrace.datastream import AsyncDataStream, KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.resident.tasks import ResidentSettings
from millrace.runtime.epoch import ReadPlan
from millrace.runtime.operators.async_wait import AsyncWaitOperator
from millrace.runtime.subtask import Subtask
from millrace.testing.resident_tasks import local_resident_executor

NEVER = 1 << 50
"""Time that no test sees."""
HOUR = 3_600_000


@pytest.fixture(autouse=True)
def resident() -> Iterator[None]:
    """Tasks in threads, whose barriers are an hour apart: they end nobody's wait."""
    before = JobLauncher.current()
    rare = ResidentSettings(barrier_interval=HOUR)
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(2, rare)))
    yield
    JobLauncher.install(before)


def environment(parallelism: int = 1) -> StreamExecutionEnvironment:
    config = Configuration()
    config.set_string("execution.runtime-mode", "STREAMING")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    return env.set_parallelism(parallelism)


class Pushed(Source[int]):
    """Numbers that a thread hands over one by one, each after the one before was read."""

    def __init__(self, count: int, ends: bool = True) -> None:
        self.count = count
        self.ends = ends

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.ends else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([SourceSplit("all")])

    def create_reader(self, context: ReaderContext) -> PushedReader:
        return PushedReader(self.count, self.ends, context)


class PushedReader(SourceReader[int]):
    """Knows no time at which it should be polled."""

    polls: ClassVar[int] = 0

    def __init__(self, count: int, ends: bool, context: ReaderContext) -> None:
        assert context.wake_up is not None
        self._wake_up = context.wake_up
        self._count = count
        self._ends = ends
        self._read = 0
        self._arrived: deque[int] = deque()
        self._was_read = threading.Semaphore(1)
        threading.Thread(target=self._push, daemon=True).start()

    def _push(self) -> None:
        for number in range(self._count):
            self._was_read.acquire()
            self._arrived.append(number)
            self._wake_up()

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        self._split = splits[0].split.split_id

    def poll(self, max_records: int) -> Sequence[SplitRecords[int]]:
        type(self).polls += 1
        if not self._arrived:
            return ()
        number = self._arrived.popleft()
        self._read = number + 1
        self._was_read.release()
        is_last = self._ends and self._read == self._count
        return [SplitRecords(self._split, RowBatch([number]), finished=is_last)]

    def snapshot_state(self) -> Mapping[str, Any]:
        return {self._split: self._read}

    def next_wakeup(self, now: int) -> int:
        return NEVER


def test_a_reader_is_polled_when_it_wakes_the_loop() -> None:
    PushedReader.polls = 0
    stream = environment().from_source(Pushed(20), WatermarkStrategy.no_watermarks(), "pushed")
    assert list(stream.execute_and_collect()) == list(range(20))
    # one poll with a record, and one that ends the round, for each; the first finds nothing
    assert PushedReader.polls <= 2 * 20 + 2


class Answers:
    """Requests that end when the test says so, and the results that have come out.

    A program refers to those of its own test: a busy machine may still run the threads of a job
    when the next test has begun."""

    known: ClassVar[list[Answers]] = []

    def __init__(self) -> None:
        self._number = len(self.known)
        self.known.append(self)
        self.may_end = threading.Event()
        self.under_way = self.most = 0
        self.results: list[int] = []
        self.changed = threading.Condition()

    def __reduce__(self) -> Any:
        return Answers.numbered, (self._number,)

    @classmethod
    def numbered(cls, number: int) -> Answers:
        return cls.known[number]

    async def later(self, value: int) -> list[int]:
        """An answer: the first five at once, the others when the test says so."""
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        while value >= 5 and not self.may_end.is_set():
            await asyncio.sleep(0.001)
        self.under_way -= 1
        return [value]

    async def with_nothing(self, value: int) -> list[int]:
        """No result for the numbers whose requests end late."""
        return [] if await self.later(value) >= [5] else [value]

    def note(self, value: int) -> int:
        with self.changed:
            self.results.append(value)
            self.changed.notify_all()
        return value

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.results) >= count, timeout=60)


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.mark.parametrize("capacity", [100, 7])
def test_a_request_that_ends_wakes_the_loop(answers: Answers, capacity: int) -> None:
    """No barrier comes, and no record after those that wait: also not beyond the capacity, which
    holds back input."""
    env = environment()
    stream = env.from_source(Pushed(20, ends=False), WatermarkStrategy.no_watermarks(), "pushed")
    asked = AsyncDataStream.unordered_wait(stream, answers.later, Time.minutes(1), capacity)
    asked.map(answers.note).print()
    client = env.execute_async()
    answers.wait_for(5)
    answers.may_end.set()
    answers.wait_for(20)
    client.cancel().result()
    assert sorted(answers.results) == list(range(20))
    assert answers.most <= capacity


def test_the_loop_goes_on_while_requests_fill_the_capacity(answers: Answers) -> None:
    """A second pipeline of the same task is not held up by the first, which waits."""
    env = environment()
    stream = env.from_source(Pushed(20, ends=False), WatermarkStrategy.no_watermarks(), "pushed")
    asked = AsyncDataStream.unordered_wait(stream, answers.later, Time.minutes(1), 2)
    asked.map(answers.note).print()
    others = env.from_source(Pushed(50, ends=False), WatermarkStrategy.no_watermarks(), "others")
    others.map(lambda value: value + 100).map(answers.note).print()
    client = env.execute_async()
    answers.wait_for(5 + 50)
    answers.may_end.set()
    answers.wait_for(20 + 50)
    client.cancel().result()


@pytest.mark.parametrize("is_chained", [True, False])
def test_a_barrier_waits_for_requests_that_no_epoch_carries_over(
    answers: Answers, monkeypatch: pytest.MonkeyPatch, is_chained: bool
) -> None:
    """The loop goes on meanwhile."""
    held = threading.Event()
    holds_barrier = vars(AsyncWaitOperator)["holds_barrier"].fget

    def noting(operator: AsyncWaitOperator) -> bool:
        holds = bool(holds_barrier(operator))
        if holds:
            held.set()
        return holds

    monkeypatch.setattr(AsyncWaitOperator, "holds_barrier", property(noting))
    env = environment()
    stream = env.from_source(Pushed(8), WatermarkStrategy.no_watermarks(), "pushed")
    stream = stream if is_chained else stream.rebalance()
    wait = AsyncDataStream.unordered_wait
    asked = wait(stream, answers.later, Time.minutes(1), 100, drain=True)
    asked.map(answers.note).print()
    client = env.execute_async()
    assert held.wait(60)
    answers.may_end.set()
    client.get_job_execution_result().result()
    assert sorted(answers.results) == list(range(8))


class Endless(Pushed):
    """A source that always has records, and is polled for them."""

    def create_reader(self, context: ReaderContext) -> EndlessReader:
        return EndlessReader(0, False, context)


class EndlessReader(PushedReader):
    def poll(self, max_records: int) -> Sequence[SplitRecords[int]]:
        self._read += 1
        return [SplitRecords(self._split, RowBatch([self._read - 1]))]

    def next_wakeup(self, now: int) -> None:  # type: ignore[override]
        return None


def test_a_source_is_not_polled_while_its_chain_holds_the_barrier(
    answers: Answers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It was polled each millisecond, although nothing is read before the next epoch."""
    held: list[int] = []
    rounds: list[None] = []
    finish, holds_barrier = Subtask.finish_reading, vars(AsyncWaitOperator)["holds_barrier"].fget

    def noting(operator: AsyncWaitOperator) -> bool:
        holds = bool(holds_barrier(operator))
        if holds:
            held.append(len(rounds))
        return holds

    def counted(subtask: Subtask, plan: ReadPlan) -> None:
        rounds.append(None)
        finish(subtask, plan)

    monkeypatch.setattr(AsyncWaitOperator, "holds_barrier", property(noting))
    monkeypatch.setattr(Subtask, "finish_reading", counted)
    env = environment()
    stream = env.from_source(Endless(0), WatermarkStrategy.no_watermarks(), "endless")
    wait = AsyncDataStream.unordered_wait
    wait(stream, answers.later, Time.minutes(1), 7, drain=True).map(answers.note).print()
    client = env.execute_async()
    answers.wait_for(5)
    savepoint = client.trigger_savepoint(str(tmp_path))
    while not held:
        time.sleep(0.01)
    since = time.monotonic()
    time.sleep(0.2)
    few = 10 + 50 * (time.monotonic() - since)  # two readers, each at most every 50 ms
    assert len(rounds) - held[0] < few
    answers.may_end.set()
    assert savepoint.result()
    client.cancel().result()


@pytest.mark.parametrize("asks", [Answers.later, Answers.with_nothing])
@pytest.mark.parametrize("is_chained", [True, False])
def test_the_end_of_the_input_waits_for_requests_across_epochs(
    answers: Answers, is_chained: bool, asks: Any
) -> None:
    accepted = threading.Event()
    env = environment()
    env.launcher.listeners.append(lambda details: accepted.set())
    stream = env.from_source(Pushed(8), WatermarkStrategy.no_watermarks(), "pushed")
    stream = stream if is_chained else stream.rebalance()
    asked = AsyncDataStream.ordered_wait(stream, partial(asks, answers), Time.minutes(1), 100)
    asked.map(answers.note).print()
    client = env.execute_async()
    assert accepted.wait(60)
    answers.may_end.set()
    client.get_job_execution_result().result()
    assert answers.results == list(range(8 if asks is Answers.later else 5))


def test_the_loop_goes_on_while_the_last_requests_of_an_input_are_under_way(
    answers: Answers,
) -> None:
    """A second pipeline of the same task has input, while the first one's has ended."""
    env = environment()
    stream = env.from_source(Pushed(8), WatermarkStrategy.no_watermarks(), "pushed")
    asked = AsyncDataStream.unordered_wait(stream, answers.later, Time.minutes(1), 100)
    asked.map(answers.note).print()
    others = env.from_source(Pushed(50, ends=False), WatermarkStrategy.no_watermarks(), "others")
    others.map(answers.note).print()
    client = env.execute_async()
    answers.wait_for(5 + 50)
    answers.may_end.set()
    answers.wait_for(8 + 50)
    client.cancel().result()


class ByTheClock(WatermarkGenerator[int]):
    """Emits a watermark after it was asked more often than records and polls ask it."""

    def __init__(self) -> None:
        self.asked = 0

    def on_event(self, event: int, timestamp: int, output: WatermarkOutput) -> None:
        """Do nothing."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self.asked += 1
        if self.asked > 20:
            output.emit_watermark(100)


class AtFifty(KeyedProcessFunction):
    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def process_element(self, value: int, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(50)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[int]:
        yield self._answers.note(timestamp)


@pytest.mark.parametrize("place", ["source", "chained", "exchange"])
def test_a_generator_of_watermarks_is_asked_although_no_record_comes(
    answers: Answers, place: str
) -> None:
    env = environment()
    env.get_config().set_auto_watermark_interval(5)
    by_the_clock = WatermarkStrategy.for_generator(ByTheClock).with_timestamp_assigner(
        lambda value, time: value
    )
    at_source = by_the_clock if place == "source" else WatermarkStrategy.no_watermarks()
    stream = env.from_source(Pushed(1, ends=False), at_source, "pushed")
    if place == "exchange":
        stream = stream.rebalance()
    if place != "source":
        stream = stream.assign_timestamps_and_watermarks(by_the_clock)
    stream.key_by(lambda value: value).process(AtFifty(answers)).print()
    client = env.execute_async()
    answers.wait_for(1)
    client.cancel().result()
    assert answers.results == [50]
