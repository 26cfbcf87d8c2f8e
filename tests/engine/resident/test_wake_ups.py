"""Readers and requests that wake the loop of their task: nobody polls them.

Without a wake-up these jobs would stand still, so that no test measures time.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from millrace.common import Configuration, Time, WatermarkStrategy
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
from millrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.resident.tasks import ResidentSettings
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
    """Requests that end when the test says so, and the results that have come out."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.under_way = self.most = 0
        self.results: list[int] = []
        self.changed = threading.Condition()

    def note(self, value: int) -> int:
        with self.changed:
            self.results.append(value)
            self.changed.notify_all()
        return value

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.results) >= count, timeout=60)


ANSWERS = Answers()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    fresh = Answers()
    monkeypatch.setitem(globals(), "ANSWERS", fresh)
    return fresh


async def answered_later(value: int) -> list[int]:
    """An answer: the first five at once, the others when the test says so."""
    ANSWERS.under_way += 1
    ANSWERS.most = max(ANSWERS.most, ANSWERS.under_way)
    while value >= 5 and not ANSWERS.may_end.is_set():
        await asyncio.sleep(0.001)
    ANSWERS.under_way -= 1
    return [value]


def noted(value: int) -> int:
    return ANSWERS.note(value)


@pytest.mark.parametrize("capacity", [100, 7])
def test_a_request_that_ends_wakes_the_loop(answers: Answers, capacity: int) -> None:
    """No barrier comes, and no record after those that wait: also not beyond the capacity, which
    holds back input."""
    env = environment()
    stream = env.from_source(Pushed(20, ends=False), WatermarkStrategy.no_watermarks(), "pushed")
    asked = AsyncDataStream.unordered_wait(stream, answered_later, Time.minutes(1), capacity)
    asked.map(noted).print()
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
    asked = AsyncDataStream.unordered_wait(stream, answered_later, Time.minutes(1), 2)
    asked.map(noted).print()
    others = env.from_source(Pushed(50, ends=False), WatermarkStrategy.no_watermarks(), "others")
    others.map(lambda value: value + 100).map(noted).print()
    client = env.execute_async()
    answers.wait_for(5 + 50)
    answers.may_end.set()
    answers.wait_for(20 + 50)
    client.cancel().result()
