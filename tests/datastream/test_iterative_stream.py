"""Iterations: what is fed back comes round, nothing is lost or doubled, and the job ends."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Duration, Time, WatermarkStrategy
from millrace.common.errors import JobDefinitionError, UserFunctionError
from millrace.datastream import (
    AsyncDataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.testing import Faults, ManualClock, run_local

DONE = OutputTag("done")
FAULTS = st.sampled_from([Faults(), Faults(0.2, 0.3, 0.2, 0.1)])
Env = StreamExecutionEnvironment


def new_env(parallelism: int = 1) -> Env:
    return Env.get_execution_environment().set_parallelism(parallelism)


def collatz(n: int) -> int:
    return 3 * n + 1 if n % 2 else n // 2


def steps(n: int) -> int:
    count = 0
    while n > 1:
        n, count = collatz(n), count + 1
    return count


def collatz_steps(env: Env, numbers, across: bool = False):
    """With ``across`` an exchange is part of the loop: one round is one epoch."""
    loop = env.from_collection([(n, n, 0) for n in numbers]).rebalance().iterate()
    stepped = loop.map(lambda v: (v[0], collatz(v[1]), v[2] + 1) if v[1] > 1 else v)
    more = stepped.filter(lambda v: v[1] > 1)
    loop.close_with(more.rebalance() if across else more)
    return stepped.filter(lambda v: v[1] <= 1).map(lambda v: (v[0], v[2]))


@pytest.mark.turns(5)
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 12), max_size=12),
    st.sampled_from([1, 2, 4]),
    st.integers(0, 99),
    FAULTS,
    st.booleans(),
)
def test_collatz(numbers, parallelism, seed, faults, across) -> None:
    with run_local(3, seed, faults=faults, epoch_records=3, buffer_records=2):
        found = list(collatz_steps(new_env(parallelism), numbers, across).execute_and_collect())
    assert Counter(found) == Counter((n, steps(n)) for n in numbers)


@pytest.mark.turns(5)
def test_an_epoch_per_round_and_the_end_at_once() -> None:
    with run_local() as cluster:
        assert list(collatz_steps(new_env(), [8], across=True).execute_and_collect()) == [(8, 3)]
    # three rounds, and one that tells everybody that it is over
    assert len(cluster.progress) == 4
    assert cluster.clock.now() == 0, "nothing waits for a time"


@pytest.mark.turns(5)
def test_rounds_of_a_loop_in_one_chain_need_no_epochs_of_their_own() -> None:
    with run_local() as cluster:
        assert list(collatz_steps(new_env(), [27]).execute_and_collect()) == [(27, 111)]
    # the bound of rounds is passed once; the last epoch tells everybody that it is over
    assert len(cluster.progress) == 3


@pytest.mark.turns(5)
def test_a_loop_without_records_ends() -> None:
    with run_local():
        assert list(collatz_steps(new_env(2), []).execute_and_collect()) == []


class CountDown(KeyedProcessFunction):
    """Feeds back to the same key so often; what was seen is in state."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value, ctx):
        key, left = value
        assert ctx.get_current_key() == key
        self.seen.update((self.seen.value() or 0) + 1)
        if left:
            yield key, left - 1
        else:
            yield DONE, (key, self.seen.value())


@pytest.mark.turns(5)
@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(st.integers(0, 9), st.integers(0, 6), max_size=6),
    st.sampled_from([1, 2, 4]),
    st.integers(0, 99),
    FAULTS,
)
def test_keyed_feedback_with_state(counts, parallelism, seed, faults) -> None:
    with run_local(3, seed, faults=faults, epoch_records=2, buffer_records=2):
        env = new_env(parallelism)
        loop = env.from_collection(list(counts.items())).iterate()
        down = loop.key_by(0).process(CountDown())
        loop.close_with(down)
        found = list(down.get_side_output(DONE).execute_and_collect())
    assert sorted(found) == sorted((key, left + 1) for key, left in counts.items())


@pytest.mark.turns(5)
def test_several_loops_one_after_the_other() -> None:
    with run_local(2, 3, epoch_records=2, buffer_records=2):
        env = new_env(2)
        first = env.from_collection([3, 4]).iterate()
        down = first.map(lambda n: n - 1)
        first.close_with(down.filter(lambda n: n > 0))
        second = down.filter(lambda n: n <= 0).map(lambda n: 2).iterate()
        again = second.map(lambda n: n - 1)
        second.close_with(again.filter(lambda n: n > 0))
        assert list(again.filter(lambda n: n <= 0).execute_and_collect()) == [0, 0]


@pytest.mark.turns(5)
@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_loop_in_a_loop(parallelism) -> None:
    """The outer one counts the rounds in tens, the inner one goes ten times round for each."""
    with run_local(2, 3, buffer_records=2):
        env = new_env(parallelism)
        outer = env.from_collection([(name, 3, 10) for name in "abc"]).iterate()
        inner = outer.rebalance().iterate()
        less = inner.map(lambda v: (v[0], v[1], v[2] - 1))
        inner.close_with(less.filter(lambda v: v[2] > 0))
        out = less.filter(lambda v: v[2] <= 0).map(lambda v: (v[0], v[1] - 1, 10))
        outer.close_with(out.filter(lambda v: v[1] > 0))
        found = list(out.filter(lambda v: v[1] <= 0).execute_and_collect())
    assert sorted(found) == [("a", 0, 10), ("b", 0, 10), ("c", 0, 10)]


class Spread(ProcessFunction):
    def process_element(self, value, ctx):
        yield (value, ctx.timestamp(), ctx.timer_service().current_watermark() < 2**63 - 1)


@pytest.mark.turns(5)
def test_event_times_go_round_and_the_end_waits_for_the_loop() -> None:
    """Windows behind the loop close only when nothing comes round any more."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(100))
    timed = strategy.with_timestamp_assigner(lambda value, record_timestamp: value[1])
    with run_local(2, 5, epoch_records=1):
        env = new_env(2)
        stream = env.from_collection([("a", 5, 4), ("b", 7, 2)])
        loop = stream.assign_timestamps_and_watermarks(timed).iterate()
        seen = loop.process(Spread())
        less = loop.map(lambda v: (v[0], v[1], v[2] - 1))
        loop.close_with(less.filter(lambda v: v[2] > 0))
        windows = loop.key_by(0).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        sums = windows.reduce(lambda a, b: (a[0], a[1], a[2] + b[2]))
        found = list(seen.union(sums).execute_and_collect())
    assert Counter(found) == Counter(
        [((name, time, n), time, True) for name, time, most in [("a", 5, 4), ("b", 7, 2)]
         for n in range(1, most + 1)]
        + [("a", 5, 10), ("b", 7, 3)]
    )  # fmt: skip


@pytest.mark.turns(5)
def test_idleness_before_a_loop_does_not_delay_its_end() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_minutes(1))
    timed = strategy.with_timestamp_assigner(lambda value, record_timestamp: value)
    clock = ManualClock(10)
    with run_local(2, 5, clock=clock, faults=Faults(lost_workers=1.0)):
        env = new_env(1)
        loop = env.from_collection([1, 2]).assign_timestamps_and_watermarks(timed).iterate()
        less = loop.map(lambda n: n - 1)
        loop.close_with(less.filter(lambda n: n > 0))
        assert list(less.filter(lambda n: n <= 0).execute_and_collect()) == [0, 0]
    assert clock.now() == 10


class Delayed(KeyedProcessFunction):
    """Sends on what it gets after a while."""

    def open(self, runtime_context):
        self.held = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value, ctx):
        self.held.update(value)
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time() + 1000)

    def on_timer(self, timestamp, ctx):
        yield self.held.value() - 1


@pytest.mark.turns(5)
def test_timers_inside_a_loop_are_waited_for() -> None:
    clock = ManualClock(10)
    with run_local(2, 5, clock=clock):
        env = new_env(2)
        loop = env.from_collection([3, 12]).iterate()
        later = loop.key_by(lambda n: n % 10).process(Delayed())
        loop.close_with(later.filter(lambda n: n % 10 > 0))
        found = list(later.filter(lambda n: n % 10 == 0).execute_and_collect())
    assert sorted(found) == [0, 10]
    assert clock.now() == 3010


async def less_by_one(value):
    await asyncio.sleep(0.001)
    return [value - 1]


@pytest.mark.turns(5)
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 99), FAULTS)
def test_requests_inside_a_loop_are_waited_for(seed, faults) -> None:
    with run_local(2, seed, faults=faults, epoch_records=2):
        env = new_env(2)
        loop = env.from_collection([1, 3, 5]).iterate()
        less = AsyncDataStream.unordered_wait(loop, less_by_one, Time.minutes(1))
        loop.close_with(less.filter(lambda n: n > 0))
        assert list(less.filter(lambda n: n <= 0).execute_and_collect()) == [0, 0, 0]


class Stop(Exception):
    """The test ends the job."""


@pytest.mark.turns(5)
@pytest.mark.parametrize("parallelism", [2, 3])
@pytest.mark.parametrize("stop_after", range(1, 12, 2))
def test_resuming_in_the_middle_of_a_loop(tmp_path, stop_after, parallelism) -> None:
    """Also with another parallelism: what goes round is redistributed."""

    def build(env):
        env.enable_checkpointing(0)
        numbers = [3, 7, 9, 1, 6]
        results: list = []
        stream = collatz_steps(env, numbers, across=True)
        collecting = stream._collecting("results")
        env.add_result_handler(collecting, lambda values, *_: results.extend(values))
        env.add_sink_transformation(collecting)
        return results, Counter((n, steps(n)) for n in numbers)

    def stop(progress) -> None:
        if progress.epochs == stop_after:
            raise Stop

    options = {"epoch_records": 2, "checkpoint_dir": str(tmp_path)}
    with run_local(2, 7, **options) as cluster:
        cluster.listeners.append(stop)
        env = new_env(2)
        first, _ = build(env)
        with pytest.raises(Stop):
            env.execute("loop")
    with run_local(2, 8, resume=True, **options):
        env = new_env(parallelism)
        second, expected = build(env)
        env.execute("loop")
    assert Counter(first + second) == expected


@pytest.mark.turns(5)
def test_a_held_end_survives_the_loss_of_workers() -> None:
    with run_local(2, 3, faults=Faults(lost_workers=1.0)):
        env = new_env(2)
        found = list(collatz_steps(env, [7, 9]).execute_and_collect())
    assert sorted(found) == [(7, steps(7)), (9, steps(9))]


@pytest.mark.turns(5)
def test_vectorised_functions_in_a_loop() -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.compute as pc

    def less(batch):
        import pyarrow as pa

        return pa.RecordBatch.from_arrays([pc.subtract(batch["value"], 1)], ["value"])

    with run_local(2, 3, epoch_records=2):
        env = new_env(2)
        loop = env.from_collection([3, 1, 2]).rebalance().iterate()
        down = loop.map_batches(less, records="value")
        positive = down.map_batches(lambda b: b.filter(pc.greater(b["value"], 0)), records="value")
        loop.close_with(positive)
        found = list(down.filter(lambda n: n <= 0).execute_and_collect())
    assert found == [0, 0, 0]


@pytest.mark.turns(5)
def test_the_parallelism_of_the_loop() -> None:
    with run_local(2, 3, epoch_records=2):
        env = new_env(1)
        loop = env.from_collection([3, 1, 2]).rebalance().iterate().set_parallelism(3)
        down = loop.map(lambda n: n - 1).set_parallelism(2)
        loop.close_with(down.filter(lambda n: n > 0))
        assert list(down.filter(lambda n: n <= 0).execute_and_collect()) == [0, 0, 0]


@pytest.mark.turns(5)
def test_a_failure_in_a_later_round_shows_the_record() -> None:
    with run_local():
        env = new_env()
        loop = env.from_collection([2]).iterate()
        down = loop.map(lambda n: n - 1 + 0 * (1 // n)).name("Divide")
        loop.close_with(down)
        with pytest.raises(UserFunctionError, match="Divide") as failure:
            list(down.execute_and_collect())
    assert failure.value.record == "0"


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.turns(5)
def test_a_loop_that_is_not_closed() -> None:
    with run_local():
        env = new_env()
        stream = env.from_collection([1]).iterate().map(lambda n: n - 1)
        with pytest.raises(JobDefinitionError, match="an iteration is not closed.*close_with"):
            list(stream.execute_and_collect())


@pytest.mark.turns(5)
def test_closing_twice() -> None:
    env = new_env()
    loop = env.from_collection([1]).iterate()
    feedback = loop.filter(lambda n: n > 0)
    assert loop.close_with(feedback) is feedback
    with pytest.raises(JobDefinitionError, match="called twice.*to combine the streams"):
        loop.close_with(feedback)


@pytest.mark.turns(5)
def test_closing_with_a_stream_of_another_job() -> None:
    loop = new_env().from_collection([1]).iterate()
    with pytest.raises(JobDefinitionError, match="a stream of the same job"):
        loop.close_with(new_env().from_collection([1]))


@pytest.mark.turns(5)
def test_closing_with_a_stream_that_is_not_of_the_loop() -> None:
    with run_local():
        env = new_env()
        loop = env.from_collection([1]).iterate()
        loop.close_with(env.from_collection([1]).map(abs).name("Elsewhere"))
        with pytest.raises(JobDefinitionError, match="result of 'Elsewhere'.*not come"):
            list(loop.map(abs).execute_and_collect())


@pytest.mark.turns(5)
def test_changing_the_parallelism_after_closing() -> None:
    with run_local():
        env = new_env()
        loop = env.from_collection([1]).iterate()
        less = loop.map(lambda n: n - 1)
        loop.close_with(less.filter(lambda n: n > 0))
        loop.set_parallelism(3)
        with pytest.raises(JobDefinitionError, match="parallelism 3 and ends with 1; set the"):
            list(less.execute_and_collect())
