"""PyFlink's side of the benchmark: one workload, one mode, one size per process.

    python pyflink_peer.py WORKLOAD MODE N [--timestamps table|assigner]
                           [--sink filter|discard] [--bundle-ms MS] [--check]

MODE is ``thread`` (Python embedded in the task manager's JVM) or ``process`` (Python workers of
their own, fed through Beam's Fn API). Prints one JSON line; ``seconds`` is the time ``execute``
takes. The workloads are defined in ``benchmarks/workloads.md``; run this with the interpreter
that ``setup.sh`` prepared.
"""

from __future__ import annotations

import os
import sysconfig

# Without this PyFlink's local default runs all Python workers inside this client: one GIL.
os.environ.setdefault("_python_worker_execution_mode", "process")
# The interpreter embedded in the JVM (thread mode) does not know it belongs to this environment.
os.environ["PYTHONPATH"] = sysconfig.get_path("purelib")

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from pyflink.common import Configuration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors import NumberSequenceSource, Sink
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from pyflink.java_gateway import get_gateway
from pyflink.table import Schema, StreamTableEnvironment

PARALLELISM = 2
PRIME = 2_654_435_761
COUNT_KEYS = 100_000
ACCESS_KEYS = 1_000_000
WINDOW_KEYS = 10_000
WORDS_PER_LINE = 8
LINES = tuple(
    " ".join(f"word{(line * WORDS_PER_LINE + j) * 7919 % 1000:03d}" for j in range(WORDS_PER_LINE))
    for line in range(1000)
)
PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])
WORD_COUNT = Types.TUPLE([Types.STRING(), Types.LONG()])


# --- the environment -------------------------------------------------------------------------


def environment(mode: str, bundle_ms: int, backend: str) -> StreamExecutionEnvironment:
    config = Configuration()
    config.set_string("state.backend.type", backend)
    config.set_string("python.executable", sys.executable)
    config.set_string("python.execution-mode", mode)
    config.set_string("python.fn-execution.bundle.size", "100000")
    config.set_string("python.fn-execution.bundle.time", str(bundle_ms))
    config.set_string("python.state.cache-size", "200000")
    config.set_string("python.operator-chaining.enabled", "true")
    config.set_string("pipeline.object-reuse", "true")
    config.set_string("rest.port", "0")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(PARALLELISM)
    return env


def numbers(env: StreamExecutionEnvironment, n: int) -> DataStream:
    """0 .. n-1, made in the JVM: subtask 0 the first half, subtask 1 the second, each in order."""
    return env.from_source(
        NumberSequenceSource(0, n - 1), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )


# --- (a) keyed running count -----------------------------------------------------------------


class CountPerKey(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(
        self, value: int, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[int, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


def keyed_count(env: StreamExecutionEnvironment, n: int, timestamps: str) -> DataStream:
    keyed = numbers(env, n).key_by(lambda i: i * PRIME % COUNT_KEYS, key_type=Types.LONG())
    return keyed.process(CountPerKey(), PAIR)


def expected_keyed_count(n: int) -> Counter[Any]:
    totals = Counter(i * PRIME % COUNT_KEYS for i in range(n))
    return Counter((key, seen + 1) for key, total in totals.items() for seen in range(total))


# --- (k) keyed running count on rocksdb, a million keys ---------------------------------------


def rocksdb_access(env: StreamExecutionEnvironment, n: int, timestamps: str) -> DataStream:
    keyed = numbers(env, n).key_by(lambda i: i * PRIME % ACCESS_KEYS, key_type=Types.LONG())
    return keyed.process(CountPerKey(), PAIR)


def expected_rocksdb_access(n: int) -> Counter[Any]:
    totals = Counter(i * PRIME % ACCESS_KEYS for i in range(n))
    return Counter((key, seen + 1) for key, total in totals.items() for seen in range(total))


# --- (b) word count --------------------------------------------------------------------------


def words(i: int) -> Iterator[tuple[str, int]]:
    for word in LINES[i % len(LINES)].split():
        yield word, 1


def word_count(env: StreamExecutionEnvironment, n: int, timestamps: str) -> DataStream:
    pairs = numbers(env, n).flat_map(words, WORD_COUNT)
    keyed = pairs.key_by(lambda pair: pair[0], key_type=Types.STRING())
    return keyed.reduce(lambda a, b: (a[0], a[1] + b[1]))


def expected_word_count(n: int) -> Counter[Any]:
    totals = Counter(word for i in range(n) for word, _ in words(i))
    return Counter((word, seen + 1) for word, total in totals.items() for seen in range(total))


# --- (c) tumbling window ---------------------------------------------------------------------


class CountAndSum(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value % 1000

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class CountAndSumOfRow(CountAndSum):
    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value[0] % 1000


class HalfClock(TimestampAssigner):
    """50 records a millisecond in each half of the sequence, so both readers keep in step."""

    def __init__(self, n: int) -> None:
        self.half = n // 2

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value % self.half // 50


def timed_by_assigner(env: StreamExecutionEnvironment, n: int) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(HalfClock(n))
    return numbers(env, n).assign_timestamps_and_watermarks(strategy)


def timed_by_table(env: StreamExecutionEnvironment, n: int) -> DataStream:
    """The same timestamps computed in the JVM, which saves a round trip through Python."""
    schema = (
        Schema.new_builder()
        .column_by_expression("ts", f"TO_TIMESTAMP_LTZ(MOD(f0, {n // 2}) / 50, 3)")
        .watermark("ts", "ts - INTERVAL '0.001' SECOND")
        .build()
    )
    tables = StreamTableEnvironment.create(env)
    return tables.to_data_stream(tables.from_data_stream(numbers(env, n), schema))


def tumbling_window(env: StreamExecutionEnvironment, n: int, timestamps: str) -> DataStream:
    if timestamps == "table":
        keyed = timed_by_table(env, n).key_by(
            lambda row: row[0] * PRIME % WINDOW_KEYS, key_type=Types.LONG()
        )
        aggregate: CountAndSum = CountAndSumOfRow()
    else:
        keyed = timed_by_assigner(env, n).key_by(
            lambda i: i * PRIME % WINDOW_KEYS, key_type=Types.LONG()
        )
        aggregate = CountAndSum()
    return keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).aggregate(
        aggregate, accumulator_type=PAIR, output_type=PAIR
    )


def expected_tumbling_window(n: int) -> Counter[Any]:
    windows: dict[tuple[int, int], tuple[int, int]] = {}
    for i in range(n):
        window = (i * PRIME % WINDOW_KEYS, i % (n // 2) // 50 // 1000)
        count, total = windows.get(window, (0, 0))
        windows[window] = count + 1, total + i % 1000
    return Counter(windows.values())


# --- (d) stateless chain ---------------------------------------------------------------------


def map_filter(env: StreamExecutionEnvironment, n: int, timestamps: str) -> DataStream:
    return (
        numbers(env, n)
        .map(lambda i: i * 3 + 1, Types.LONG())
        .filter(lambda i: i % 10 != 0)
        .map(lambda i: i ^ 0x5555, Types.LONG())
        .map(lambda i: i - 7, Types.LONG())
        .filter(lambda i: i % 4 != 0)
        .map(lambda i: i // 2, Types.LONG())
    )


def expected_map_filter(n: int) -> Counter[Any]:
    tripled = (i * 3 + 1 for i in range(n))
    mixed = ((i ^ 0x5555) - 7 for i in tripled if i % 10 != 0)
    return Counter(i // 2 for i in mixed if i % 4 != 0)


# --- (e) sliding window, (f) session window --------------------------------------------------


class SlowHalfClock(HalfClock):
    """5 records a millisecond in each half: a key of 10,000 comes once a second."""

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value % self.half // 5


def slowly(env: StreamExecutionEnvironment, n: int) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        SlowHalfClock(n)
    )
    return numbers(env, n).assign_timestamps_and_watermarks(strategy)


def add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return a[0], a[1] + b[1]


def sliding_window(env: StreamExecutionEnvironment, n: int, timestamps: str) -> DataStream:
    pairs = slowly(env, n).map(lambda i: (i * PRIME % WINDOW_KEYS, i % 1000), PAIR)
    windows = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(1))
    return pairs.key_by(lambda pair: pair[0], key_type=Types.LONG()).window(windows).reduce(add)


def expected_sliding_window(n: int) -> Counter[Any]:
    sums: Counter[tuple[int, int]] = Counter()
    for i in range(n):
        key, second = i * PRIME % WINDOW_KEYS, i % (n // 2) // 5 // 1000
        for start in range(second - 9, second + 1):
            sums[key, start] += i % 1000
    return Counter((key, total) for (key, _), total in sums.items())


def session_key(i: int) -> int:
    """Ten records of a key in a row, then none for ten seconds."""
    return i // 10 * PRIME % WINDOW_KEYS


def session_window(env: StreamExecutionEnvironment, n: int, timestamps: str) -> DataStream:
    keyed = slowly(env, n).key_by(session_key, key_type=Types.LONG())
    return keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(1))).aggregate(
        CountAndSum(), accumulator_type=PAIR, output_type=PAIR
    )


def expected_session_window(n: int) -> Counter[Any]:
    times: dict[int, list[tuple[int, int]]] = {}
    for i in range(n):
        times.setdefault(session_key(i), []).append((i % (n // 2) // 5, i % 1000))
    sessions: Counter[Any] = Counter()
    for events in times.values():
        last, count, total = None, 0, 0
        for time_, value in sorted(events):
            if last is not None and time_ > last + 1000:
                sessions[count, total] += 1
                count = total = 0
            last, count, total = time_, count + 1, total + value
        sessions[count, total] += 1
    return sessions


# --- (g) interval join: PyFlink has none, so as its users write it ---------------------------


class IntervalJoin(KeyedCoProcessFunction):
    """Buffers each side by time, looks the other side up, and forgets with timers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.buffers = [
            runtime_context.get_map_state(
                MapStateDescriptor(name, Types.LONG(), Types.LIST(Types.LONG()))
            )
            for name in ("left", "right")
        ]

    def keep(self, side: int, value: int, ctx: Any) -> Iterator[int]:
        """Keep a record; gives the matching ones of the other side."""
        own, other = self.buffers[side], self.buffers[1 - side]
        time_ = ctx.timestamp()
        own.put(time_, [*(own.get(time_) or []), value])
        ctx.timer_service().register_event_time_timer(time_ + 500)
        for at, values in other.items():
            if abs(at - time_) <= 500:
                yield from values

    def process_element1(self, value: int, ctx: Any) -> Iterator[tuple[int, int]]:
        for other in self.keep(0, value, ctx):
            yield value, other

    def process_element2(self, value: int, ctx: Any) -> Iterator[tuple[int, int]]:
        for other in self.keep(1, value, ctx):
            yield other, value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[int, int]]:
        for buffer in self.buffers:
            if buffer.contains(timestamp - 500):
                buffer.remove(timestamp - 500)
        yield from ()


def interval_join(env: StreamExecutionEnvironment, n: int, timestamps: str) -> DataStream:
    connected = slowly(env, n).connect(slowly(env, n))
    keyed = connected.key_by(
        lambda i: i * PRIME % WINDOW_KEYS, lambda i: i * PRIME % WINDOW_KEYS, Types.LONG()
    )
    return keyed.process(IntervalJoin(), PAIR)


def expected_interval_join(n: int) -> Counter[Any]:
    by_key: dict[int, list[tuple[int, int]]] = {}
    for i in range(n):
        by_key.setdefault(i * PRIME % WINDOW_KEYS, []).append((i % (n // 2) // 5, i))
    return Counter(
        (i, j)
        for events in by_key.values()
        for left, i in events
        for right, j in events
        if abs(right - left) <= 500
    )


# --- (h) keyed broadcast process -------------------------------------------------------------

LIMITS = MapStateDescriptor("limits", Types.LONG(), Types.LONG())


class AboveLimit(KeyedBroadcastProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[tuple[int, int]]:
        limit = ctx.get_broadcast_state(LIMITS).get(value % 100)
        if limit is None or value % 1000 >= limit:
            yield ctx.get_current_key(), value

    def process_broadcast_element(self, value: tuple[int, int], ctx: Any) -> None:
        ctx.get_broadcast_state(LIMITS).put(value[0], value[1])


def broadcast_rules(env: StreamExecutionEnvironment, n: int, timestamps: str) -> DataStream:
    rules = env.from_collection([(rule, rule * 10) for rule in range(100)], PAIR)
    keyed = numbers(env, n).key_by(lambda i: i * PRIME % WINDOW_KEYS, key_type=Types.LONG())
    return keyed.connect(rules.broadcast(LIMITS)).process(AboveLimit(), PAIR)


def expected_broadcast_rules(n: int) -> Counter[Any]:
    """If all rules come first, which PyFlink does not promise."""
    above = (i for i in range(n) if i % 1000 >= i % 100 * 10)
    return Counter((i * PRIME % WINDOW_KEYS, i) for i in above)


# --- running ---------------------------------------------------------------------------------

Workload = Callable[[StreamExecutionEnvironment, int, str], DataStream]
WORKLOADS: dict[str, tuple[Workload, Callable[[int], Counter[Any]], int]] = {
    "keyed_count": (keyed_count, expected_keyed_count, 1),
    "word_count": (word_count, expected_word_count, WORDS_PER_LINE),
    "tumbling_window": (tumbling_window, expected_tumbling_window, 1),
    "map_filter": (map_filter, expected_map_filter, 1),
    "sliding_window": (sliding_window, expected_sliding_window, 1),
    "session_window": (session_window, expected_session_window, 1),
    "interval_join": (interval_join, expected_interval_join, 2),
    "broadcast_rules": (broadcast_rules, expected_broadcast_rules, 1),
    "rocksdb_access": (rocksdb_access, expected_rocksdb_access, 1),
}


def discard(stream: DataStream, sink: str) -> None:
    if sink == "filter":
        # Chained behind the last operator: the results never leave Python.
        stream = stream.filter(lambda _: False)
    j_package = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2
    stream.sink_to(Sink(j_package.DiscardingSink()))


def plain(value: Any) -> Any:
    return value if isinstance(value, int) else tuple(value)


def check(stream: DataStream, expected: Counter[Any]) -> dict[str, Any]:
    with stream.execute_and_collect() as results:
        seen = Counter(plain(value) for value in results)
    if seen != expected:
        missing, extra = list((expected - seen).items()), list((seen - expected).items())
        raise SystemExit(f"wrong results: missing {missing[:5]}, not expected {extra[:5]}")
    return {"checked": sum(seen.values())}


def timed_execute(env: StreamExecutionEnvironment) -> float:
    start = time.perf_counter()
    env.execute()
    return time.perf_counter() - start


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("mode", choices=("thread", "process"))
    parser.add_argument("n", type=int)
    parser.add_argument("--timestamps", choices=("table", "assigner"), default="assigner")
    parser.add_argument("--sink", choices=("filter", "discard"), default="discard")
    parser.add_argument("--bundle-ms", type=int, default=1000)
    parser.add_argument("--check", action="store_true", help="compare the results, do not time")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    build, expected, records_per_number = WORKLOADS[args.workload]
    backend = "rocksdb" if args.workload == "rocksdb_access" else "hashmap"
    env = environment(args.mode, args.bundle_ms, backend)
    stream = build(env, args.n, args.timestamps)
    report: dict[str, Any] = {"workload": args.workload, "mode": args.mode, "n": args.n}
    if args.check:
        report |= check(stream, expected(args.n))
    else:
        discard(stream, args.sink)
        report["seconds"] = round(timed_execute(env), 3)
    report["records"] = args.n * records_per_number
    print(json.dumps(report))


if __name__ == "__main__":
    main()
