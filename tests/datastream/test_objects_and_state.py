"""User objects that state, functions and outputs share, and fields that functions keep."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from millrace.common import Time, Types
from millrace.common.functions import KeyedProcessFunction, ProcessWindowFunction
from millrace.common.state import ValueStateDescriptor
from millrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from millrace.datastream.window import (
    DeltaTrigger,
    EventTimeTrigger,
    GlobalWindows,
    TumblingEventTimeWindows,
)
from millrace.testing import Faults, MiniJob, run_local


class Sizes(ProcessWindowFunction):
    """Emits the list that it keeps in state."""

    def process(self, key, context, elements):
        state = context.global_state().get_state(
            ValueStateDescriptor("sizes", Types.PICKLED_BYTE_ARRAY())
        )
        sizes = state.value() or []
        sizes.append(len(list(elements)))
        state.update(sizes)
        yield sizes


@pytest.mark.parametrize("general", [False, True])
def test_what_a_window_emits_does_not_change_with_its_state(general: bool) -> None:
    with MiniJob() as job:
        source = job.source("events")
        windows = source.stream.key_by(lambda v: v[0]).window(TumblingEventTimeWindows.of(10))
        if general:
            windows = windows.trigger(EventTimeTrigger.create()).allowed_lateness(5)
        sizes = job.collect(windows.process(Sizes()))
        for time in (1, 11, 21):
            source.push(("a", time), timestamp=time)
        source.push_watermark(100)
        job.process()
        assert sizes.values() == [[1], [1, 1], [1, 1, 1]]


def test_a_delta_trigger_remembers_the_record_as_it_came() -> None:
    def add(total, value):
        total[1] += value[1]
        return total

    with MiniJob() as job:
        source = job.source("values")
        trigger = DeltaTrigger.of(10, lambda last, new: new[1] - last[1])
        windows = source.stream.key_by(lambda v: v[0]).window(GlobalWindows.create())
        totals = job.collect(windows.trigger(trigger).reduce(add))
        for value in (1, 2, 9, 12):
            source.push(["a", value])
        job.process()
        assert totals.values() == [["a", 24]]


async def count_down(record):
    await asyncio.sleep(0.001)
    record[1] -= 1
    return [record]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_request_may_change_its_record_though_it_is_made_again(seed: int) -> None:
    faults = Faults(lost_epochs=0.3, lost_workers=0.2, repeated_tasks=0.1)
    with run_local(workers=3, seed=seed, epoch_records=2, faults=faults):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2).enable_checkpointing(0)
        loop = env.from_collection([[n, n % 4 + 1] for n in range(12)]).rebalance().iterate()
        body = AsyncDataStream.unordered_wait(loop, count_down, Time.seconds(10), 5)
        loop.close_with(body.filter(lambda record: record[1] > 0))
        results = Counter(body.map(tuple).execute_and_collect())
    assert results == Counter((n, k) for n in range(12) for k in range(n % 4 + 1))


class Cached(KeyedProcessFunction):
    """Writes through a cache of its own."""

    def open(self, runtime_context):
        self.cache = {}
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx):
        if value not in self.cache:
            self.cache[value] = self.count.value() or 0
        self.cache[value] += 1
        self.count.update(self.cache[value])
        yield value, self.cache[value]


def test_a_function_begins_anew_where_another_worker_ran_epochs() -> None:
    with run_local(workers=2, seed=3, epoch_records=20):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(0)
        # many keys, so that a worker that missed an epoch replays it instead of restoring all
        records = [f"k{n}" for n in range(300)] + ["a"] * 600
        counts = env.from_collection(records).key_by(lambda v: v).process(Cached())
        seen = [count for key, count in counts.execute_and_collect() if key == "a"]
    assert seen == list(range(1, 601))
