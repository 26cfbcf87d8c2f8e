"""Rescaling and event time: what operators keep for themselves goes to whoever needs it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from millrace.common.source import (
    Boundedness,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
)
from millrace.common.time import Time
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.types.batch import RowBatch
from millrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from millrace.datastream.functions import AsyncFunction
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.testing import run_local

Build = Callable[[StreamExecutionEnvironment], Any]
EVENT_TIME = WatermarkStrategy.for_monotonous_timestamps()


def run(build: Build, changes: dict[int, int], stop_at: int = 0, directory: str = "") -> list[Any]:
    """What a job with parallelism 2 gave that is rescaled after some epochs."""
    with run_local(workers=2, seed=1, epoch_records=1, epoch_limit=400) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        answers = []
        is_started = Event()

        def act(progress: Any) -> None:
            assert is_started.wait(30)  # the job may be quicker than its client
            client = results._client
            if progress.epochs in changes:
                answers.append(client.rescale(changes[progress.epochs]))
            if progress.epochs == stop_at:
                client.stop_with_savepoint(savepoint_directory=directory)

        cluster.listeners.append(act)
        results = build(env).execute_and_collect("rescaled")
        is_started.set()
        got = list(results)
        assert [answer.exception(0) for answer in answers] == [None] * len(changes)
        return got


def timed(env: StreamExecutionEnvironment, times: Any) -> Any:
    strategy = EVENT_TIME.with_timestamp_assigner(lambda n, _: n)
    source = env.from_collection(times).uid("source").set_parallelism(1)
    return source.assign_timestamps_and_watermarks(strategy).uid("times").set_parallelism(1)


@pytest.mark.parametrize("to", [1, 3, 4, 5])
def test_late_records_stay_late(to: int) -> None:
    """A window that has fired is not opened again."""
    late = [500 + i for i in range(20)]
    times = [0, 100, 1_500, 5_000, 5_100, *late, 9_000]

    def build(env: StreamExecutionEnvironment) -> Any:
        keyed = timed(env, times).key_by(lambda n: n % 7)
        return keyed.window(TumblingEventTimeWindows.of(1_000)).reduce(max).uid("window")

    assert sorted(run(build, {6: to})) == [n for n in times if n not in late]


class Slow(AsyncFunction):
    """Answers after the epoch in which it was asked."""

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0.02)
        return [value]


@pytest.mark.parametrize("to", [1, 3, 4])
def test_watermarks_wait_for_requests(to: int) -> None:
    """Nothing is late because its request is still under way."""

    def build(env: StreamExecutionEnvironment) -> Any:
        numbers = timed(env, [n * 100 for n in range(40)]).rebalance()
        asked = AsyncDataStream.unordered_wait(numbers, Slow(), Time.seconds(20), 100).uid("async")
        pairs = asked.map(lambda n: (0, 1)).key_by(lambda pair: pair[0])
        windows = pairs.window(TumblingEventTimeWindows.of(500))
        return windows.reduce(lambda a, b: (0, a[1] + b[1])).uid("window")

    assert sum(count for _, count in run(build, {12: to})) == 40


@pytest.mark.parametrize("to", [1, 3, 5])
@pytest.mark.parametrize("at", [2, 9, 11, 13])
def test_a_loop_ends(at: int, to: int) -> None:
    """Also when its input has ended before the change."""

    def build(env: StreamExecutionEnvironment) -> Any:
        numbers = env.from_collection(range(20)).uid("source").rebalance()
        loop = numbers.map(lambda n: (n, 6)).uid("start").iterate()
        body = loop.map(lambda pair: (pair[0], pair[1] - 1)).uid("body")
        loop.close_with(body.filter(lambda pair: pair[1] > 0).uid("again"))
        return body.filter(lambda pair: pair[1] <= 0).uid("done")

    assert Counter(n for n, _ in run(build, {at: to})) == Counter(range(20))


def test_a_chain_that_changes_keeps_its_time() -> None:
    """A stage whose input is chained with another operator from then on has the same input."""
    late = [500 + i for i in range(20)]
    times = [0, 100, 1_500, 5_000, 5_100, *late, 9_000]

    def build(env: StreamExecutionEnvironment) -> Any:
        first = timed(env, times).map(lambda n: n).uid("a").set_parallelism(3)
        keyed = first.map(lambda n: n).uid("b").key_by(lambda n: n % 7)
        windows = keyed.window(TumblingEventTimeWindows.of(1_000))
        return windows.reduce(max).uid("window").set_parallelism(2)

    for to in (3, 4):
        assert sorted(run(build, {7: to})) == [n for n in times if n not in late]


class TwoSplits(SplitEnumerator):
    """Two splits, and perhaps more some day."""

    def __init__(self) -> None:
        self._given = False

    def discover(self, now: int) -> list[Any]:
        given, self._given = self._given, True
        return [] if given else [SourceSplit("a"), SourceSplit("b")]

    def next_discovery(self, now: int) -> int:
        return now + 1_000

    def no_more_splits(self) -> bool:
        return False

    def snapshot_state(self) -> bool:
        return self._given

    def restore_state(self, state: bool) -> None:
        self._given = state


class Counting(SplitReader[int]):
    def __init__(self, position: int) -> None:
        self._position = position

    def read(self, max_records: int) -> RowBatch[int]:
        if self._position >= 60:
            return RowBatch([])
        self._position += 1
        return RowBatch([self._position], [self._position * 100])

    def position(self) -> int:
        return self._position

    def finished(self) -> bool:
        return False


class Unending(SplitSource[int]):
    boundedness = Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return TwoSplits()

    def create_split_reader(self, split: Any, position: Any, context: Any) -> SplitReader[int]:
        return Counting(position or 0)


@pytest.mark.parametrize("changes", [{}, {20: 4}, {20: 3, 40: 5}, {20: 1}])
def test_subtasks_without_a_split_hold_nobody_back(changes: dict[int, int], tmp_path: Path) -> None:
    """Although somebody with a split was there before them."""

    def build(env: StreamExecutionEnvironment) -> Any:
        numbers = env.from_source(Unending(), EVENT_TIME, "numbers").uid("numbers")
        pairs = numbers.map(lambda n: (0, 1)).key_by(lambda pair: pair[0])
        windows = pairs.window(TumblingEventTimeWindows.of(1_000))
        return windows.reduce(lambda a, b: (0, a[1] + b[1])).uid("window")

    assert [n for _, n in run(build, changes, 120, str(tmp_path))][:5] == [18, 20, 20, 20, 20]
