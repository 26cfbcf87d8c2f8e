"""Functions with two inputs: CoMap, CoFlatMap, CoProcess and KeyedCoProcess."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import StateError, UserFunctionError
from millrace.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
    TimeDomain,
)
from millrace.datastream.functions import CheckpointedFunction
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millrace.testing import Faults, OperatorHarness, run_local

SIDE = OutputTag("side")


class Both(CoMapFunction):
    def open(self, runtime_context):
        self.opened = True

    def map1(self, value):
        return "one", value, self.opened

    def map2(self, value):
        return "two", value, self.opened


class Numbered(CoMapFunction):
    """Counts the records of both streams, per key."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def _next(self):
        self.count.update((self.count.value() or 0) + 1)
        return self.count.value()

    def map1(self, value):
        return value, self._next()

    def map2(self, value):
        return -value, self._next()


class Repeat(CoFlatMapFunction):
    def flat_map1(self, value):
        return [value] * value

    def flat_map2(self, value):
        if value % 2:
            yield -value


class NoneAtAll(CoFlatMapFunction):
    def flat_map1(self, value):
        return None

    def flat_map2(self, value):
        return [value]


class FirstHere(CoFlatMapFunction):
    """Lets a record of the second stream through once the first had one of its key."""

    def open(self, runtime_context):
        self.known = runtime_context.get_state(ValueStateDescriptor("known"))

    def flat_map1(self, value):
        self.known.update(True)

    def flat_map2(self, value):
        return [value] if self.known.value() else None


class Times(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield "one", value, ctx.timestamp(), ctx.timer_service().current_watermark()

    def process_element2(self, value, ctx):
        yield SIDE, value
        yield "two", value, ctx.timestamp(), ctx.timer_service().current_processing_time()


def feed(harness: OperatorHarness, records: list[tuple[int, Any, int | None]]) -> None:
    for number, value, time in records:
        (harness.process_element1, harness.process_element2)[number](value, time)


def test_co_map() -> None:
    with OperatorHarness(Both()) as harness:
        feed(harness, [(0, "a", 1), (1, "b", 2), (0, "c", None)])
        assert [tuple(r) for r in harness.records()] == [
            (("one", "a", True), 1),
            (("two", "b", True), 2),
            (("one", "c", True), None),
        ]


def test_co_map_with_keyed_state() -> None:
    with OperatorHarness(Numbered(), key_by=abs) as harness:
        feed(harness, [(0, 1, 10), (1, 1, 11), (1, 2, 12), (0, 1, 13)])
        assert harness.output() == [(1, 1), (-1, 2), (-2, 1), (1, 3)]
        assert [r.timestamp for r in harness.records()] == [10, 11, 12, 13]


def test_co_flat_map() -> None:
    with OperatorHarness(Repeat()) as harness:
        feed(harness, [(0, 2, 5), (1, 3, 6), (1, 4, 7), (0, 0, 8), (0, 1, 9)])
        assert [tuple(r) for r in harness.records()] == [(2, 5), (2, 5), (-3, 6), (1, 9)]
    with OperatorHarness(NoneAtAll()) as harness:
        feed(harness, [(0, 2, None), (1, 3, None)])
        assert harness.output() == [3]


def test_co_flat_map_with_keyed_state() -> None:
    with OperatorHarness(FirstHere(), key_by=lambda value: value) as harness:
        feed(harness, [(1, "a", 1), (0, "a", 2), (1, "b", 3), (1, "a", 4)])
        assert [tuple(r) for r in harness.records()] == [("a", 4)]


def test_co_process_knows_times_and_side_outputs() -> None:
    with OperatorHarness(Times(), processing_time=77) as harness:
        harness.process_watermark(3)
        feed(harness, [(0, "a", 5), (1, "b", 6), (1, "c", None)])
        assert harness.output() == [("one", "a", 5, 3), ("two", "b", 6, 77), ("two", "c", None, 77)]
        assert harness.side_output(SIDE) == ["b", "c"]


class Timer(CoProcessFunction):
    def process_element1(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value)

    def process_element2(self, value, ctx):
        yield value


def test_timers_need_a_key() -> None:
    with (
        OperatorHarness(Timer()) as harness,
        pytest.raises(StateError, match="cannot use timers.*call key_by"),
    ):
        harness.process_element1(5, 5)


def test_timers_of_a_co_process_function_do_nothing_by_themselves() -> None:
    """As in Flink, where such a function may be used on keyed streams."""
    env = StreamExecutionEnvironment.get_execution_environment()
    one, two = env.from_collection([]), env.from_collection([])
    keyed = one.key_by(abs).connect(two.key_by(abs))
    with OperatorHarness(keyed.process(Timer())) as harness:
        harness.process_element1(5, 5)
        harness.process_watermark(9)
        harness.process_element2(1, 10)
        assert harness.output() == [1]
        assert harness.event_time_timers() == []


class Session(KeyedCoProcessFunction):
    """All there is: state shared by both inputs, timers in both time domains."""

    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all"))
        self.by_input = runtime_context.get_map_state(MapStateDescriptor("by input"))

    def _take(self, number, value, ctx):
        service = ctx.timer_service()
        if self.last.value() is not None:
            service.delete_event_time_timer(self.last.value() + 10)
        self.last.update(ctx.timestamp())
        self.all.add(value)
        self.by_input.put(number, (self.by_input.get(number) or 0) + 1)
        service.register_event_time_timer(ctx.timestamp() + 10)
        yield ctx.get_current_key(), number, value

    def process_element1(self, value, ctx):
        return self._take(1, value, ctx)

    def process_element2(self, value, ctx):
        yield SIDE, value
        yield from self._take(2, value, ctx)

    def on_timer(self, timestamp, ctx):
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        assert ctx.timestamp() == timestamp
        counts = tuple(sorted(self.by_input.items()))
        yield ctx.get_current_key(), timestamp, tuple(self.all), counts
        self.all.clear()
        self.last.clear()
        self.by_input.clear()


def model(steps: list[tuple]) -> list[Any]:
    """What `Session` gives, in plain Python. A step is a record or a watermark."""
    results: list[Any] = []
    sessions: dict[Any, list] = {}
    for kind, number, value, time in steps:
        if kind == "watermark":
            due = sorted(
                (records[-1][2] + 10, key)
                for key, records in sessions.items()
                if records[-1][2] + 10 <= time
            )
            for at, key in due:
                records = sessions.pop(key)
                counts: dict[int, int] = defaultdict(int)
                for which, *_ in records:
                    counts[which] += 1
                values = tuple(value for _, value, _ in records)
                results.append((key, at, values, tuple(sorted(counts.items()))))
        else:
            sessions.setdefault(value % 3, []).append((number + 1, value, time))
            results.append((value % 3, number + 1, value))
    return results


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("record"), st.integers(0, 1), st.integers(0, 8), st.integers(0, 40)),
        st.tuples(st.just("watermark"), st.just(0), st.just(0), st.integers(0, 60)),
    ),
    max_size=40,
)
CUTS = st.lists(st.sampled_from(["none", "snapshot", "restore", "abort"]), min_size=5, max_size=5)


@settings(max_examples=50, deadline=None)
@given(STEPS, CUTS)
def test_keyed_co_process_against_a_model(steps, cuts) -> None:
    """With snapshots, restores and aborted epochs in between."""
    watermark = -1
    increasing = []
    for kind, number, value, time in steps:
        if kind == "watermark":
            time = watermark = max(watermark, time)
        else:
            time += watermark + 1
        increasing.append((kind, number, value, time))
    harness = OperatorHarness(Session(), key_by=lambda value: value % 3)
    results: list[Any] = []
    for index, (kind, number, value, time) in enumerate(increasing):
        cut = cuts[index % len(cuts)]
        if cut != "none":
            taken = harness.snapshot()
            results += harness.output()
            harness.clear_output()
            if cut == "restore":
                harness.close()
                harness = harness.restored(taken)
        for attempt in range(2 if cut == "abort" else 1):
            if attempt:
                harness.abort()
            if kind == "watermark":
                harness.process_watermark(time)
            else:
                feed(harness, [(number, value, time)])
    results += harness.output()
    harness.close()
    assert sorted(map(repr, results)) == sorted(map(repr, model(increasing)))


class Alarm(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        ctx.timer_service().register_processing_time_timer(
            ctx.timer_service().current_processing_time() + value
        )

    def process_element2(self, value, ctx):
        ctx.timer_service().delete_processing_time_timer(value)

    def on_timer(self, timestamp, ctx):
        yield ctx.time_domain(), ctx.get_current_key(), timestamp


def test_processing_time_timers() -> None:
    with OperatorHarness(Alarm(), key_by=lambda value: 7, processing_time=100) as harness:
        feed(harness, [(0, 5, None), (0, 9, None), (1, 105, None)])
        assert harness.next_wakeup() == 109
        harness.set_processing_time(200)
        assert harness.output() == [(TimeDomain.PROCESSING_TIME, 7, 109)]


class Closed(Numbered):
    closed = False

    def close(self):
        self.closed = True


def test_a_function_on_keyed_streams_is_closed() -> None:
    function = Closed()
    with OperatorHarness(function, key_by=abs) as harness:
        feed(harness, [(0, 1, None)])
        assert not function.closed
    assert function.closed


class Last(KeyedCoProcessFunction):
    """Nothing but the abstract methods."""

    def process_element1(self, value, ctx):
        return None

    def process_element2(self, value, ctx):
        return None


def test_on_timer_is_optional() -> None:
    assert Last().on_timer(5, None) is None


class Total(CoMapFunction, CheckpointedFunction):
    """Keyed state and operator state in one function."""

    wrapped = "a name of the user's own"

    def initialize_state(self, context):
        descriptor = ListStateDescriptor("total")
        self.kept = context.get_operator_state_store().get_list_state(descriptor)
        self.total = sum(self.kept)
        store = context.get_keyed_state_store()
        self.count = store.get_state(ValueStateDescriptor("count"))

    def snapshot_state(self, context):
        self.kept.update([self.total])

    def map1(self, value):
        self.total += value
        self.count.update((self.count.value() or 0) + 1)
        return self.total, self.count.value()

    def map2(self, value):
        return self.map1(-value)


def test_operator_state_in_a_keyed_function_of_two_inputs() -> None:
    with OperatorHarness(Total(), key_by=lambda value: value) as harness:
        feed(harness, [(0, 5, None), (1, 3, None)])
        taken = harness.snapshot()
        feed(harness, [(0, 5, None)])
        assert harness.output() == [(5, 1), (2, 1), (7, 2)]
    with harness.restored(taken) as other:
        feed(other, [(0, 3, None)])
        assert other.output() == [(5, 2)]


class Fails(CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        return 1 // value


@pytest.mark.parametrize("keyed", [False, True])
def test_a_failure_shows_the_record(keyed) -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        connected = env.from_collection([0, 1]).connect(env.from_collection([3, 0]))
        if keyed:
            connected = connected.key_by(abs, abs)
        with pytest.raises(UserFunctionError) as failure:
            list(connected.map(Fails()).name("Divide").execute_and_collect())
    assert failure.value.record == "0"
    assert "Divide" in str(failure.value)


class Match(KeyedCoProcessFunction):
    """Pairs records one to one, whichever comes first: what waits is in state."""

    def open(self, runtime_context):
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting"))

    def _meet(self, side, value):
        waiting = list(self.waiting)
        if waiting and waiting[0][0] != side:
            other = waiting[0][1]
            self.waiting.update(waiting[1:])
            return [(value, other) if side == 0 else (other, value)]
        self.waiting.add((side, value))
        return []

    def process_element1(self, value, ctx):
        return self._meet(0, value)

    def process_element2(self, value, ctx):
        return self._meet(1, value)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 4), max_size=30),
    st.lists(st.integers(0, 4), max_size=30),
    st.sampled_from([1, 3]),
    st.integers(0, 99),
    st.sampled_from([Faults(), Faults(0.2, 0.3, 0.2, 0.1)]),
)
def test_both_inputs_meet_by_key_in_whole_jobs(left, right, parallelism, seed, faults) -> None:
    with run_local(3, seed, faults=faults, epoch_records=4, buffer_records=2):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        one = env.from_collection([("l", key, n) for n, key in enumerate(left)])
        two = env.from_collection([("r", key, n) for n, key in enumerate(right)])
        connected = one.connect(two).key_by(1, 1)
        pairs = list(connected.process(Match()).execute_and_collect())
    assert all((one[0], two[0]) == ("l", "r") and one[1] == two[1] for one, two in pairs)
    assert len(pairs) == sum(min(left.count(key), right.count(key)) for key in range(5))
    assert len({one for one, _ in pairs}) == len({two for _, two in pairs}) == len(pairs)
