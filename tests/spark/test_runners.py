"""The same programs through every runner: what Flink promises, each of them must give.

Each runner runs all the programs as one job, in which they do not touch each other. Arrival order
across channels is not promised, so results are compared as multisets; of late data only that it is
neither lost nor doubled.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any

import cloudpickle
import numpy as np
import pytest

from millrace.cep import CEP, Pattern
from millrace.common import Configuration, Duration, Row, Time, Types, WatermarkStrategy
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.datastream import (
    AggregateFunction,
    AsyncDataStream,
    DataStream,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.testing import Faults, run_local

# workers cannot import a test module
cloudpickle.register_pickle_by_value(sys.modules[__name__])

Env = StreamExecutionEnvironment
ODD = OutputTag("odd")
END = 10**9
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
LATE = OutputTag("late")
LINES = ["to be or not to be", "that is the question", "", "to sleep to dream"]
EVENTS = [("abc"[n % 3], (n * 7) % 60, n) for n in range(45)]
"""(key, event time, serial): times go up and down by up to 60."""


def words(env: Env) -> DataStream:
    return env.from_collection(LINES).flat_map(str.split)


def timed(env: Env, out_of_order: int) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(out_of_order))
    return env.from_collection(EVENTS).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda value, record_timestamp: value[1])
    )


class Stats(AggregateFunction):
    def create_accumulator(self):
        return [0, 0]

    def add(self, value, accumulator):
        accumulator[0] += 1
        accumulator[1] += value[2]
        return accumulator

    def get_result(self, accumulator):
        return tuple(accumulator)

    def merge(self, acc_a, acc_b):
        raise AssertionError


class Label(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().start, next(iter(elements))


class Serials(ProcessWindowFunction):
    def process(self, key, context, elements):
        for _, _, serial in elements:
            yield serial


class Everything(KeyedProcessFunction):
    """All kinds of state, and a timer at the end of the stream."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.serials = runtime_context.get_list_state(ListStateDescriptor("serials"))
        self.times = runtime_context.get_map_state(MapStateDescriptor("times"))
        self.highest = runtime_context.get_reducing_state(ReducingStateDescriptor("max", max))
        self.stats = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("stats", Stats())
        )

    def process_element(self, value, ctx):
        _, time, serial = value
        self.count.update((self.count.value() or 0) + 1)
        self.serials.add(serial)
        self.times.put(time, serial)
        self.highest.add(serial)
        self.stats.add(value)
        ctx.timer_service().register_event_time_timer(END)
        if serial % 2:
            yield ODD, serial

    def on_timer(self, timestamp, ctx):
        yield (
            ctx.get_current_key(),
            self.count.value(),
            tuple(self.serials),
            tuple(sorted(self.times.items())),
            self.highest.get(),
            self.stats.get(),
        )


class Yielding(KeyedProcessFunction):
    """Yields the very list that is in its state."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value, ctx):
        seen = self.seen.value() or []
        seen.append(value[2])
        self.seen.update(seen)
        yield seen


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        if value % 2:
            yield ODD, value
        else:
            yield value


class Pairwise(FlatMapFunction):
    """A flat map with keyed state: sums of two."""

    def open(self, runtime_context):
        self.first = runtime_context.get_state(ValueStateDescriptor("first"))

    def flat_map(self, value):
        first = self.first.value()
        self.first.update(value if first is None else None)
        return [] if first is None else [first + value]


class Enriched(KeyedCoProcessFunction):
    """In the end, all serials of a key with the name that the other stream gave it."""

    def open(self, runtime_context):
        self.serials = runtime_context.get_list_state(ListStateDescriptor("serials"))
        self.name = runtime_context.get_state(ValueStateDescriptor("name"))

    def process_element1(self, value, ctx):
        self.serials.add(value[2])
        ctx.timer_service().register_event_time_timer(END)

    def process_element2(self, value, ctx):
        self.name.update(value[1])

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.name.value(), tuple(self.serials)


class Ruled(KeyedBroadcastProcessFunction):
    """In the end, the sums of all keys by every rule; a rule may add to what all keys have."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value, ctx):
        self.total.update((self.total.value() or 0) + value[2])
        ctx.timer_service().register_event_time_timer(END)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(*value)
        ctx.apply_to_keyed_state(
            ValueStateDescriptor("total"), lambda key, state: state.update(state.value() + 0)
        )

    def on_timer(self, timestamp, ctx):
        for name, factor in ctx.get_broadcast_state(RULES).items():
            yield ctx.get_current_key(), name, self.total.value() * factor


class Session(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, tuple(sorted(serial for _, _, serial in elements))


async def lookup(value):
    await asyncio.sleep(0.001)
    return [(value, "found")] * (value % 3)


def doubled(batch):
    import pyarrow as pa
    import pyarrow.compute as pc

    return pa.RecordBatch.from_arrays([pc.multiply(batch["value"], 2)], ["value"])


def divisible_by_four(batch):
    import pyarrow.compute as pc

    return batch.filter(pc.equal(pc.bit_wise_and(batch["value"], 3), 0))


def word_count(env: Env) -> DataStream:
    return words(env).map(lambda word: (word, 1)).key_by(0).sum(1)


def state_and_timers(env: Env) -> DataStream:
    made = env.from_collection(EVENTS).key_by(0).process(Everything())
    return made.union(made.get_side_output(ODD))


def rows(env: Env) -> DataStream:
    records = [Row(name=key, x=serial) for key, _, serial in EVENTS]
    return env.from_collection(records).key_by("name").max_by("x").map(tuple)


def tumbling(env: Env) -> DataStream:
    keyed = timed(env, 60).key_by(lambda value: value[0])
    return keyed.window(TumblingEventTimeWindows.of(20)).aggregate(Stats(), Label())


def sliding(env: Env) -> DataStream:
    keyed = timed(env, 60).map(lambda v: (v[0], v[2])).key_by(0)
    return keyed.window(SlidingEventTimeWindows.of(20, 10)).reduce(lambda a, b: (a[0], a[1] + b[1]))


def late(env: Env) -> DataStream:
    windowed = timed(env, 5).key_by(0).window(TumblingEventTimeWindows.of(10))
    fired = windowed.side_output_late_data(LATE).process(Serials())
    return fired.union(fired.get_side_output(LATE).map(lambda value: value[2]))


def partitionings(env: Env) -> DataStream:
    source = env.from_collection(range(20))
    one = source.rebalance().map(lambda v: ("rebalance", v)).disable_chaining()
    return one.union(
        source.shuffle().map(lambda v: ("shuffle", v)),
        source.rebalance().map(abs).forward().map(lambda v: ("forward", v)),
        source.broadcast().map(lambda v: ("broadcast", v)).set_parallelism(2),
    )


def side_outputs(env: Env) -> DataStream:
    split = env.from_collection(range(20)).rebalance().process(Split())
    odd = split.get_side_output(ODD).key_by(lambda v: v % 4).reduce(max)
    return split.union(odd.filter(lambda v: v > 100))


def two_keys(env: Env) -> DataStream:
    counts = word_count(env)
    return counts.key_by(1).process(First())


class First(KeyedProcessFunction):
    def open(self, runtime_context):
        self.known = runtime_context.get_state(ValueStateDescriptor("known"))

    def process_element(self, value, ctx):
        if not self.known.value():
            self.known.update(True)
            yield ctx.get_current_key()


def odd_types(env: Env) -> DataStream:
    values = [np.float64(1.5), np.int8(3), bytearray(b"x"), {"a": {1}}, None, (), 2**70, "é"]
    return (
        env.from_collection(values)
        .rebalance()
        .map(lambda v: (v, 1))
        .key_by(1)
        .reduce(lambda a, b: b)
        .key_by(lambda v: type(v[0]).__name__)
        .map(lambda v: (type(v[0]).__name__, repr(v[0])))
    )


def sequence(env: Env) -> DataStream:
    source = NumberSequenceSource(1, 100)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    return stream.key_by(lambda v: v % 7).flat_map(Pairwise())


def lists_of_state(env: Env) -> DataStream:
    return env.from_collection(EVENTS).key_by(0).process(Yielding()).map(tuple)


def co_process(env: Env) -> DataStream:
    names = env.from_collection([(key, key.upper()) for key in "abc"])
    return env.from_collection(EVENTS).connect(names).key_by(0, 0).process(Enriched())


def broadcast(env: Env) -> DataStream:
    rules = env.from_collection([("once", 1), ("twice", 2)]).broadcast(RULES)
    return env.from_collection(EVENTS).key_by(0).connect(rules).process(Ruled())


def interval_join(env: Env) -> DataStream:
    left, right = timed(env, 60).key_by(0), timed(env, 60).map(tuple).key_by(0)
    return left.interval_join(right).between(-3, 6).process(lambda a, b: (a[2], b[2]))


def sessions(env: Env) -> DataStream:
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(4))
    return timed(env, 60).key_by(0).window(windows).process(Session())


def lookups(env: Env) -> DataStream:
    source = env.from_collection(range(30)).rebalance()
    return AsyncDataStream.unordered_wait(source, lookup, Time.seconds(60), capacity=5)


def iteration(env: Env) -> DataStream:
    loop = env.from_collection([(n, n) for n in range(1, 3)]).iterate()
    less = loop.key_by(0).process(Rounds())
    loop.close_with(less.filter(lambda value: value[1] > 0))
    return less.filter(lambda value: value[1] <= 0)


class Rounds(KeyedProcessFunction):
    """Counts how often a record came round."""

    def open(self, runtime_context):
        self.rounds = runtime_context.get_state(ValueStateDescriptor("rounds"))

    def process_element(self, value, ctx):
        self.rounds.update((self.rounds.value() or 0) + 1)
        key, left = value
        yield (key, left - 1) if left > 1 else (key, -self.rounds.value())


def vectorised(env: Env) -> DataStream:
    batches = env.from_collection(range(40)).rebalance().map_batches(doubled).rebalance()
    keyed = batches.map_batches(divisible_by_four).key_by("value")
    return keyed.map_batches(lambda batch: batch).map(lambda row: row["value"])


def even_then_odd(stream: DataStream) -> DataStream:
    """An even serial and the next odd one, less than 10 later; an even one that has none."""
    pattern = Pattern.begin("even").where(lambda value: value[2] % 2 == 0)
    pattern = pattern.followed_by("odd").where(lambda value: value[2] % 2 == 1).within(10)
    # which of two events of one time comes first would else depend on how they came here
    found = CEP.pattern(stream, pattern, lambda one, other: one[2] - other[2]).select(
        lambda match: (match["even"][0][2], match["odd"][0][2]),
        timed_out_tag=LATE,
        timeout_function=lambda match, time: (match["even"][0][2], time),
    )
    return found.union(found.get_side_output(LATE).map(lambda value: ("over", *value)))


def patterns(env: Env) -> DataStream:
    return even_then_odd(timed(env, 60).key_by(0))


def patterns_without_keys(env: Env) -> DataStream:
    return even_then_odd(timed(env, 60))


def by_key() -> dict[str, list[tuple[str, int, int]]]:
    groups = defaultdict(list)
    for event in EVENTS:
        groups[event[0]].append(event)
    return groups


def all_words() -> list[str]:
    return [word for line in LINES for word in line.split()]


def expected_state() -> list[Any]:
    results: list[Any] = [serial for *_, serial in EVENTS if serial % 2]
    for key, events in by_key().items():
        serials = tuple(serial for *_, serial in events)
        times = tuple(sorted({time: serial for _, time, serial in events}.items()))
        stats = (len(events), sum(serials))
        results.append((key, len(events), serials, times, max(serials), stats))
    return results


def expected_windows(size: int, slide: int) -> dict[tuple[str, int], list[int]]:
    windows = defaultdict(list)
    for key, time, serial in EVENTS:
        start = time - time % slide
        while start > time - size:
            windows[key, start].append(serial)
            start -= slide
    return windows


def expected_tumbling() -> list[Any]:
    windows = expected_windows(20, 20).items()
    return [(key, start, (len(found), sum(found))) for (key, start), found in windows]


def expected_sliding() -> list[Any]:
    return [(key, sum(found)) for (key, _), found in expected_windows(20, 10).items()]


def expected_matches(events: list[tuple[str, int, int]]) -> list[Any]:
    results: list[Any] = []
    ordered = sorted((time, serial) for _, time, serial in events)
    for index, (time, serial) in enumerate(ordered):
        if serial % 2 == 0:
            odd = [s for t, s in ordered[index + 1 :] if s % 2 and t < time + 10]
            results.append((serial, odd[0]) if odd else ("over", serial, time + 10))
    return results


def expected_pairs() -> list[Any]:
    return [
        (left[2], right[2])
        for left in EVENTS
        for right in EVENTS
        if left[0] == right[0] and -3 <= right[1] - left[1] <= 6
    ]


def expected_sessions() -> list[Any]:
    results = []
    for key, events in by_key().items():
        session: list[tuple[int, int]] = []
        for time, serial in [*sorted((time, serial) for _, time, serial in events), (END, -1)]:
            if session and time > session[-1][0] + 4:
                serials = tuple(sorted(serial for _, serial in session))
                results.append((key, session[0][0], session[-1][0] + 4, serials))
                session = []
            session.append((time, serial))
    return results


def expected_partitionings() -> list[Any]:
    ways = ("rebalance", "shuffle", "forward", "broadcast", "broadcast")
    return [(way, value) for way in ways for value in range(20)]


def counts_so_far() -> list[tuple[str, int]]:
    return [(word, n + 1) for word, count in Counter(all_words()).items() for n in range(count)]


def running(key: str) -> list[tuple[int, ...]]:
    serials = [serial for *_, serial in by_key()[key]]
    return [tuple(serials[: n + 1]) for n in range(len(serials))]


def last_types() -> list[Any]:
    shown = [1.5, 3, bytearray(b"x"), {"a": {1}}, None, (), 2**70, "é"]
    names = ["float64", "int8"] + [type(value).__name__ for value in shown[2:]]
    texts = [repr(np.float64(1.5)), repr(np.int8(3)), *map(repr, shown[2:])]
    return list(zip(names, texts, strict=True))


@dataclass(frozen=True)
class Case:
    """A program, and what it gives; in batch mode if that differs (rolling aggregations)."""

    build: Callable[[Env], DataStream]
    expected: Callable[[], list[Any]]
    batch: Callable[[], list[Any]] | None = None


CASES: dict[str, Case] = {
    "words": Case(words, all_words),
    "word count": Case(word_count, counts_so_far, lambda: list(Counter(all_words()).items())),
    "two keys": Case(
        two_keys,
        lambda: list({count for _, count in counts_so_far()}),
        lambda: list(set(Counter(all_words()).values())),
    ),
    "rows": Case(
        rows,
        lambda: [(key, serial) for key, _, serial in EVENTS],
        lambda: [(key, events[-1][2]) for key, events in by_key().items()],
    ),
    "state and timers": Case(state_and_timers, expected_state),
    "lists of state": Case(lists_of_state, lambda: [r for key in "abc" for r in running(key)]),
    "tumbling windows": Case(tumbling, expected_tumbling),
    "sliding windows": Case(sliding, expected_sliding),
    "on time plus late": Case(late, lambda: [serial for *_, serial in EVENTS]),
    "partitionings": Case(partitionings, expected_partitionings),
    "side outputs": Case(side_outputs, lambda: list(range(0, 20, 2))),
    "co-process": Case(
        co_process,
        lambda: [(k, k.upper(), tuple(e[2] for e in events)) for k, events in by_key().items()],
    ),
    "broadcast": Case(
        broadcast,
        lambda: [
            (key, name, factor * sum(event[2] for event in events))
            for key, events in by_key().items()
            for name, factor in (("once", 1), ("twice", 2))
        ],
    ),
    "patterns": Case(
        patterns, lambda: [m for events in by_key().values() for m in expected_matches(events)]
    ),
    "patterns without keys": Case(patterns_without_keys, lambda: expected_matches(EVENTS)),
    "interval join": Case(interval_join, expected_pairs),
    "session windows": Case(sessions, expected_sessions),
    "lookups": Case(lookups, lambda: [(n, "found") for n in range(30) for _ in range(n % 3)]),
    "iteration": Case(iteration, lambda: [(n, -n) for n in range(1, 3)]),
    "vectorised": Case(vectorised, lambda: list(range(0, 80, 4))),
    "number sequence": Case(sequence, lambda: []),
    "odd types": Case(odd_types, last_types, lambda: []),
}


OWN_TESTS = ("number sequence", "odd types")


@dataclass(frozen=True)
class Runner:
    """How the programs are run."""

    parallelism: int
    on_spark: bool = False
    batch: bool = False
    tiny: bool = False
    workers: int = 1
    faults: Faults | None = None

    def run(self) -> dict[str, list[Any]]:
        """The results of all the programs, by name."""
        with ExitStack() as stack:
            if not self.on_spark:
                seed = 11 if self.workers > 1 else None
                stack.enter_context(run_local(self.workers, seed, faults=self.faults))
            env = Env.get_execution_environment(Configuration(self.settings()))
            env.set_parallelism(self.parallelism)
            if self.batch:
                env.set_runtime_mode(RuntimeExecutionMode.BATCH)
            found: dict[str, list[Any]] = {name: [] for name in CASES}
            for name, case in CASES.items():
                collecting = case.build(env)._collecting(name)
                results = found[name]
                env.add_result_handler(
                    collecting, lambda values, *_, results=results: results.extend(values)
                )
                env.add_sink_transformation(collecting)
            env.execute(f"programs {self}")
        return found

    def settings(self) -> dict[str, str]:
        if not self.tiny:
            return {}
        records = ("initial-records-per-split", "max-records-per-split")
        epochs = {f"millrace.epoch.{name}": "8" for name in records}
        return {**epochs, "millrace.buffer.records": "3", "millrace.state.inline-limit": "200 b"}


LOCAL = {
    "local": Runner(1),
    "local 2": Runner(2),
    "local mixed": Runner(3, tiny=True, workers=3),
    "local faulty": Runner(
        2, tiny=True, workers=3, faults=Faults(0.1, 0.3, repeated_tasks=0.02, lost_buffers=0.02)
    ),
    "local batch": Runner(2, batch=True),
}
SPARK = {
    "spark 1": Runner(1, on_spark=True),
    "spark 2": Runner(2, on_spark=True),
    "spark 4": Runner(4, on_spark=True),
    "spark tiny": Runner(2, on_spark=True, tiny=True),
    "spark batch": Runner(2, on_spark=True, batch=True),
}
RUNNERS = {**LOCAL, **SPARK}


@cache
def results_of(runner: str) -> dict[str, list[Any]]:
    return RUNNERS[runner].run()


@pytest.fixture(
    params=[*LOCAL, *(pytest.param(name, marks=pytest.mark.spark) for name in SPARK)],
    scope="module",
)
def runner(request: pytest.FixtureRequest) -> str:
    if RUNNERS[request.param].on_spark:
        request.getfixturevalue("spark")
    return str(request.param)


@pytest.mark.turns(7)
@pytest.mark.parametrize("name", [name for name in CASES if name not in OWN_TESTS])
def test_results(runner: str, name: str) -> None:
    case = CASES[name]
    found = results_of(runner)[name]
    batch = RUNNERS[runner].batch and case.batch is not None
    expected = case.batch() if batch and case.batch else case.expected()
    assert Counter(found) == Counter(expected)


def test_values_of_every_type_survive(runner: str) -> None:
    """Between them two exchanges; the reduce in between lets each record through as it is."""
    found = results_of(runner)["odd types"]
    if RUNNERS[runner].batch:
        assert len(found) == 1
        assert set(found) <= set(last_types())
    else:
        assert Counter(found) == Counter(last_types())


def test_pairs_of_a_sequence(runner: str) -> None:
    """Which two records meet depends on arrival order, how many pairs there are does not."""
    found = results_of(runner)["number sequence"]
    assert len(found) == sum(len(range(n, 101, 7)) // 2 for n in range(1, 8))
