"""A keyed process function with state and timers, through random epochs, faults and workers."""

from __future__ import annotations

from collections import Counter

from drawn import job_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Duration, WatermarkStrategy
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millrace.testing import Faults, run_local

HOUR = 3_600_000
END = 10**9

VALUES = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 30)), max_size=50)
FAULTS = st.builds(
    Faults,
    lost_epochs=st.sampled_from([0.0, 0.3]),
    lost_workers=st.sampled_from([0.0, 0.5]),
    repeated_tasks=st.sampled_from([0.0, 0.2]),
    lost_buffers=st.sampled_from([0.0, 0.1]),
)


class History(KeyedProcessFunction):
    """Uses three kinds of state and a timer per record; tells everything in the end."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all"))
        self.by_value = runtime_context.get_map_state(MapStateDescriptor("by value"))

    def process_element(self, value, ctx):
        _, number = value
        service = ctx.timer_service()
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.all.add(number)
        self.by_value.put(number, (self.by_value.get(number) or 0) + 1)
        if number % 3:
            service.register_event_time_timer(HOUR + number)
        else:
            service.delete_event_time_timer(HOUR + number + 1)
        service.register_event_time_timer(END)
        yield ctx.get_current_key(), "count", count

    def on_timer(self, timestamp, ctx):
        key = ctx.get_current_key()
        if timestamp < END:
            yield key, "timer", timestamp - HOUR
            return
        yield key, "end", tuple(self.all), tuple(sorted(self.by_value.items()))
        self.all.clear()
        self.by_value.clear()


def model(values) -> Counter:
    """What comes out, in one loop."""
    results: Counter = Counter()
    history: dict[str, list[int]] = {}
    timers: set[tuple[str, int]] = set()
    for key, number in values:
        seen = history.setdefault(key, [])
        seen.append(number)
        results[key, "count", len(seen)] += 1
        if number % 3:
            timers.add((key, number))
        else:
            timers.discard((key, number + 1))
    for key, number in timers:
        results[key, "timer", number] += 1
    for key, seen in history.items():
        results[key, "end", tuple(seen), tuple(sorted(Counter(seen).items()))] += 1
    return results


@settings(max_examples=job_examples(60), deadline=None)
@given(VALUES, FAULTS, st.integers(1, 3), st.integers(1, 3), st.integers(1, 9), st.integers(0, 99))
def test_against_a_naive_model(values, faults, parallelism, workers, epoch_records, seed) -> None:
    with run_local(workers, seed, faults=faults, epoch_records=epoch_records, buffer_records=3):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        stream = env.from_collection(values).key_by(0).process(History())
        assert Counter(stream.execute_and_collect()) == model(values)


class Times(KeyedProcessFunction):
    """A processing-time timer 10 s after each record, unless another comes in between."""

    def open(self, runtime_context):
        self.due = runtime_context.get_state(ValueStateDescriptor("due"))

    def process_element(self, value, ctx):
        service = ctx.timer_service()
        before = self.due.value()
        if before is not None:
            service.delete_processing_time_timer(before)
        due = service.current_processing_time() + 10_000
        self.due.update(due)
        service.register_processing_time_timer(due)

    def on_timer(self, timestamp, ctx):
        self.due.clear()
        yield ctx.get_current_key(), timestamp


@settings(max_examples=job_examples(40), deadline=None)
@given(st.integers(0, 99), FAULTS)
def test_processing_timers_fire_once_whatever_goes_wrong(seed, faults) -> None:
    with run_local(2, seed, faults=faults, epoch_records=3) as cluster:
        cluster.listeners.append(lambda progress: cluster.clock.advance(1_000))
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        # 12 epochs of 3 records: the keys take turns, so a key rests for more than 10 s; a lost
        # epoch runs again after a pause, which is shorter
        values = [key for key in "abcdef" for _ in range(6)]
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
        stream = env.from_collection(values).assign_timestamps_and_watermarks(strategy)
        fired = list(stream.key_by(lambda value: value).process(Times()).execute_and_collect())
    keys = Counter(key for key, _ in fired)
    assert all(count == 1 for count in keys.values())
    assert set("a") <= set(keys)


@settings(max_examples=job_examples(40), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=60),
    st.sampled_from(["key_by", "rebalance then key_by", "forward"]),
    st.integers(1, 9),
    st.integers(0, 99),
    FAULTS,
)
def test_the_order_per_key_and_channel_stays(pairs, way, epoch_records, seed, faults) -> None:
    records = [(key, serial) for serial, (key, _) in enumerate(pairs)]
    with run_local(3, seed, faults=faults, epoch_records=epoch_records, buffer_records=2):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
        source = env.from_collection(records).set_parallelism(1)
        if way == "forward":
            stream = source.map(lambda v: (*v, 0)).set_parallelism(1)
        elif way == "key_by":
            stream = source.key_by(0).process(Tag())
        else:
            stream = source.rebalance().map(Channel()).key_by(0).process(Tag())
        results = list(stream.execute_and_collect())
    assert Counter(r[:2] for r in results) == Counter(records)
    streams: dict = {}
    for result in results:
        channel = result[2] if way.startswith("rebalance") else 0
        streams.setdefault((result[0], channel), []).append(result[1])
    assert all(serials == sorted(serials) for serials in streams.values())


class Channel:
    """Not a function object: notes nothing, so that the record's channel is its serial mod 3."""

    def __call__(self, value):
        return (*value, value[1] % 3)


class Tag(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value if len(value) == 3 else (*value, 0)
