"""Harnesses of operators with two inputs, with broadcast state and with windows."""

from __future__ import annotations

import asyncio

import pytest

from millrace.common import Time, Types
from millrace.common.errors import JobDefinitionError, StateError
from millrace.datastream import (
    AggregateFunction,
    AsyncDataStream,
    CoFlatMapFunction,
    CoMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    OutputTag,
    ProcessWindowFunction,
)
from millrace.datastream.functions import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    MapFunction,
)
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.datastream.window import CountTrigger, TimeWindow, TumblingEventTimeWindows
from millrace.testing import OperatorHarness, StreamRecord, Timer

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.INT())
LATE = OutputTag("late")


class Enrich(KeyedCoProcessFunction):
    """Records of the first input wait for the name of their key for 100 ms."""

    def open(self, runtime_context):
        self.name = runtime_context.get_state(ValueStateDescriptor("name"))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting"))

    def process_element1(self, value, ctx):
        if self.name.value() is not None:
            yield self.name.value(), value
            return
        self.waiting.add(value)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 100)

    def process_element2(self, value, ctx):
        self.name.update(value["name"])
        for waiting in self.waiting:
            yield value["name"], waiting
        self.waiting.clear()

    def on_timer(self, timestamp, ctx):
        for waiting in self.waiting:
            yield "nobody", waiting
        self.waiting.clear()


def enriching() -> OperatorHarness:
    return OperatorHarness(Enrich(), key_by=0, key_by2="id")


def test_two_inputs_share_state_and_timers() -> None:
    harness = enriching()
    harness.process_element1((7, "order"), 10)
    assert harness.state("waiting", 7) == [(7, "order")]
    assert harness.event_time_timers() == [Timer(110, 7)]
    assert harness.processing_time_timers() == []
    harness.process_element2({"id": 7, "name": "Ann"}, 20)
    assert harness.state("name", 7) == "Ann"
    assert harness.state("waiting", 7) is None
    harness.process_element1((7, "again"), 30)
    assert harness.output() == [("Ann", (7, "order")), ("Ann", (7, "again"))]


def test_event_time_is_the_lesser_of_both_inputs() -> None:
    harness = enriching()
    harness.process_element1((7, "order"), 10)
    harness.process_watermark1(500)
    assert (harness.output(), harness.watermarks()) == ([], [])
    harness.process_watermark2(110)
    harness.process_watermark2(120)
    assert harness.records() == [StreamRecord(("nobody", (7, "order")), 110)]
    assert harness.watermarks() == [110, 120]


def test_two_inputs_are_restored() -> None:
    harness = enriching()
    harness.process_element2({"id": 7, "name": "Ann"})
    restored = harness.restored(harness.snapshot())
    restored.process_element1((7, "order"))
    assert restored.output() == [("Ann", (7, "order"))]


def test_co_map_and_co_flat_map() -> None:
    class Both(CoMapFunction):
        def map1(self, value):
            return "first", value

        def map2(self, value):
            return "second", value

    class Flat(CoFlatMapFunction):
        def flat_map1(self, value):
            return [value] * 2

        def flat_map2(self, value):
            return None

    for function, expected in ((Both(), [("first", 1), ("second", 2)]), (Flat(), [1, 1])):
        for key_by in (None, lambda value: value):
            harness = OperatorHarness(function, key_by=key_by)
            harness.process_element1(1)
            harness.process_element2(2)
            assert harness.output() == expected


class Above(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.best = runtime_context.get_state(ValueStateDescriptor("best"))

    def process_element(self, value, ctx):
        self.best.update(max(value[1], self.best.value() or 0))
        if value[1] > (ctx.get_broadcast_state(LIMITS).get("limit") or 0):
            yield value

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(LIMITS).put("limit", value)
        descriptor = ValueStateDescriptor("best")
        ctx.apply_to_keyed_state(descriptor, lambda key, state: state.update(0))


def test_keyed_broadcast() -> None:
    harness = OperatorHarness(Above(), key_by=0, broadcast_state=[LIMITS])
    harness.process_element(("a", 5))
    harness.process_broadcast_element(10)
    assert harness.state("limits") == {"limit": 10}
    assert harness.state("best", "a") == 0
    assert harness.keys("best") == ["a"]
    harness.process_element(("a", 7))
    harness.process_element(("b", 11))
    assert harness.output() == [("a", 5), ("b", 11)]
    restored = harness.restored(harness.snapshot())
    assert restored.state("limits") == {"limit": 10}


def test_broadcast_without_keys() -> None:
    class Plain(BroadcastProcessFunction):
        def process_element(self, value, ctx):
            yield value, ctx.get_broadcast_state(LIMITS).get("limit")

        def process_broadcast_element(self, value, ctx):
            ctx.get_broadcast_state(LIMITS).put("limit", value)

    harness = OperatorHarness(Plain(), broadcast_state=[LIMITS])
    harness.process_broadcast_element(3)
    harness.process_element("a")
    assert harness.output() == [("a", 3)]


def test_a_broadcast_function_needs_its_descriptors() -> None:
    with pytest.raises(JobDefinitionError, match="broadcast_state="):
        OperatorHarness(Above(), key_by=0)


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class CountFirings(ProcessWindowFunction):
    FIRINGS = ValueStateDescriptor("firings")

    def process(self, key, context, elements):
        firings = context.window_state().get_state(self.FIRINGS)
        firings.update((firings.value() or 0) + 1)
        total = context.global_state().get_state(ValueStateDescriptor("total"))
        total.update((total.value() or 0) + 1)
        yield key, firings.value(), list(elements)

    def clear(self, context):
        context.window_state().get_state(self.FIRINGS).clear()


def test_a_window_with_a_trigger() -> None:
    harness = OperatorHarness(
        lambda stream: (
            stream.key_by(lambda value: value % 2)
            .window(TumblingEventTimeWindows.of(100))
            .trigger(CountTrigger.of(2))
            .side_output_late_data(LATE)
            .process(CountFirings())
        )
    )
    window = TimeWindow(0, 100)
    for value in (1, 2, 3):
        harness.process_element(value, value)
    assert harness.output() == [(1, 1, [1, 3])]
    assert harness.state("firings", 1, window) == 1
    assert harness.state("count", 0, window) == 1
    assert harness.state("count", 1, window) is None
    assert harness.state("total", 1) == 1
    assert harness.event_time_timers() == [Timer(99, 1, window), Timer(99, 0, window)]
    harness.process_watermark(99)
    assert harness.state("firings", 1, window) is None
    harness.process_element(5, 5)
    assert harness.side_output(LATE) == [5]


def test_windows_of_the_fast_kinds() -> None:
    windows = TumblingEventTimeWindows.of(100)
    harness = OperatorHarness(
        lambda stream: stream.key_by(lambda _: 0).window(windows).aggregate(Mean())
    )
    harness.process_element(1, 1)
    restored = harness.restored(harness.snapshot())
    restored.process_element(2, 2)
    restored.process_watermark(99)
    assert restored.records() == [StreamRecord(1.5, 99)]


def test_state_of_every_kind_can_be_seen() -> None:
    class Keep(MapFunction, CheckpointedFunction):
        def initialize_state(self, context):
            store = context.get_operator_state_store()
            self.seen = store.get_list_state(ListStateDescriptor("seen"))

        def snapshot_state(self, context):
            self.seen.add("snapshot")

        def open(self, runtime_context):
            self.mean = runtime_context.get_aggregating_state(
                AggregatingStateDescriptor("mean", Mean())
            )
            self.last = runtime_context.get_map_state(MapStateDescriptor("last"))

        def map(self, value):
            self.mean.add(value[1])
            self.last.put("value", value)
            return self.mean.get()

    harness = OperatorHarness(Keep(), key_by=0)
    harness.process_element(("a", 1))
    harness.process_element(("a", 2))
    harness.snapshot()
    assert harness.state("mean", "a") == (3, 2)
    assert harness.state("last", "a") == {"value": ("a", 2)}
    assert harness.state("seen") == ["snapshot"]


def test_state_that_expires() -> None:
    ttl = StateTtlConfig.new_builder(Time.seconds(1)).build()

    class Keep(MapFunction):
        def open(self, runtime_context):
            value, many = ValueStateDescriptor("value"), ListStateDescriptor("list")
            pairs = MapStateDescriptor("map")
            for descriptor in (value, many, pairs):
                descriptor.enable_time_to_live(ttl)
            self.value = runtime_context.get_state(value)
            self.many = runtime_context.get_list_state(many)
            self.pairs = runtime_context.get_map_state(pairs)

        def map(self, value):
            before = self.value.value()
            self.value.update(value)
            self.many.add(value)
            self.pairs.put("last", value)
            return before

    harness = OperatorHarness(Keep(), key_by=lambda _: 0)
    harness.process_elements([1, 2])
    assert harness.state("value", 0) == 2
    assert harness.state("list", 0) == [1, 2]
    assert harness.state("map", 0) == {"last": 2}
    harness.set_processing_time(1_000)
    harness.process_element(3)
    assert harness.output() == [None, 1, None]


def test_looking_at_state_does_not_change_it() -> None:
    harness = enriching()
    harness.process_element1((7, []), 10)
    harness.state("waiting", 7).append("more")
    harness.state("waiting", 7)[0][1].append("more")
    assert harness.state("waiting", 7) == [(7, [])]


def test_unknown_state_is_an_error_that_names_what_there_is() -> None:
    with pytest.raises(StateError, match="no state 'names'.*name, waiting"):
        enriching().state("names", 7)


def test_processing_time_timers() -> None:
    class Later(KeyedCoProcessFunction):
        def process_element1(self, value, ctx):
            ctx.timer_service().register_processing_time_timer(value)

        def process_element2(self, value, ctx):
            ctx.timer_service().delete_processing_time_timer(value)

        def on_timer(self, timestamp, ctx):
            yield timestamp

    harness = OperatorHarness(Later(), key_by=lambda value: 0)
    for time in (30, 20, 10):
        harness.process_element1(time)
    harness.process_element2(20)
    assert harness.processing_time_timers() == [Timer(10, 0), Timer(30, 0)]
    harness.set_processing_time(15)
    assert harness.output() == [10]
    assert harness.processing_time_timers() == [Timer(30, 0)]


def test_an_interval_join() -> None:
    harness = OperatorHarness(
        lambda stream: (
            stream.key_by(0)
            .interval_join(stream.key_by(0))
            .between(0, 5)
            .process(lambda left, right: (left[1], right[1]))
        )
    )
    harness.process_element1(("a", "left"), 10)
    harness.process_element2(("a", "close"), 15)
    harness.process_element2(("a", "far"), 16)
    assert harness.records() == [StreamRecord(("left", "close"), 15)]
    harness.process_watermark(20)
    assert harness.entries() == 0


def test_asynchronous_requests_end_with_the_epoch_when_drained() -> None:
    async def double(value: int) -> list[int]:
        await asyncio.sleep(0)
        return [value * 2]

    harness = OperatorHarness(
        lambda stream: AsyncDataStream.ordered_wait(stream, double, 60_000, drain=True)
    )
    harness.process_elements([1, 2])
    harness.snapshot()
    assert harness.output() == [2, 4]


def test_accumulators_and_metrics() -> None:
    class Counting(MapFunction):
        def open(self, runtime_context):
            self.seen = runtime_context.get_int_counter("seen")
            group = runtime_context.get_metrics_group()
            self.records = group.add_group("mine").counter("records")
            self.sizes = group.distribution("sizes")
            self.last = 0
            group.gauge("last", lambda: self.last)

        def map(self, value):
            self.seen.add(1)
            self.records.inc(2)
            self.sizes.update(value)
            self.last = value
            return value

    harness = OperatorHarness(Counting())
    harness.process_elements([3, 5])
    assert harness.accumulator("seen") == 2
    assert harness.accumulator("other") is harness.metric("other") is None
    assert harness.metric("mine.records") == harness.metric("mine.records") == 4
    assert harness.metric("last") == 5
    assert harness.metric("sizes") == {"count": 2, "sum": 8, "min": 3, "max": 5}


def test_a_function_that_makes_no_stream_is_refused() -> None:
    with pytest.raises(JobDefinitionError, match="lambda stream"):
        OperatorHarness(lambda stream: 1)  # type: ignore[arg-type, return-value]
