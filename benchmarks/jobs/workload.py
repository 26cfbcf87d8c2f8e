"""Our side of the throughput workloads: one workload, one size per process.

    python workload.py WORKLOAD N --checkpoint-dir DIR [--check]

The workloads are defined in ``benchmarks/workloads.md``. Checkpoints every epoch, durably. Prints
one JSON line; ``seconds`` is the time ``execute`` takes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from discarding_sink import DiscardingSink
from patterns import expected_strict, find_strict

from millrace.common import Configuration, Time, Types, WatermarkStrategy
from millrace.common.time.watermark_strategy import TimestampAssigner
from millrace.connectors import NumberSequenceSource
from millrace.datastream import (
    AggregateFunction,
    BatchProcessFunction,
    DataStream,
    EmbeddedRocksDBStateBackend,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import (
    MapStateDescriptor,
    ReducingColumnDescriptor,
    ValueStateDescriptor,
)
from millrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

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


def environment(checkpoint_dir: str) -> StreamExecutionEnvironment:
    config = Configuration()
    config.set_string("execution.checkpointing.dir", checkpoint_dir)
    config.set_string("execution.checkpointing.interval", "0 ms")
    config.set_string("millrace.executor", "epochs")  # as in RESULTS.md
    env = StreamExecutionEnvironment.get_execution_environment(config)
    return env.set_parallelism(PARALLELISM)


def numbers(
    env: StreamExecutionEnvironment, n: int, strategy: WatermarkStrategy[int] | None = None
) -> DataStream[int]:
    """0 .. n-1: subtask 0 the first half, subtask 1 the second, each in order."""
    source = NumberSequenceSource(0, n - 1, splits=PARALLELISM)
    return env.from_source(source, strategy or WatermarkStrategy.no_watermarks(), "numbers")


class CountPerKey(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(
        self, value: int, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[int, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


def keyed_count(env: StreamExecutionEnvironment, n: int) -> DataStream[Any]:
    return numbers(env, n).key_by(lambda i: i * PRIME % COUNT_KEYS).process(CountPerKey())


def expected_keyed_count(n: int) -> Counter[Any]:
    totals = Counter(i * PRIME % COUNT_KEYS for i in range(n))
    return Counter((key, seen + 1) for key, total in totals.items() for seen in range(total))


def with_keys(batch: pa.RecordBatch) -> pa.RecordBatch:
    keys = batch["value"].to_numpy() * PRIME % COUNT_KEYS
    return pa.record_batch({"key": keys})


def count_batch(batch: pa.RecordBatch, ctx: BatchProcessFunction.Context) -> pa.RecordBatch:
    return batch.append_column("count", ctx.state("count").accumulate(1))


def keyed_count_batches(env: StreamExecutionEnvironment, n: int) -> DataStream[Any]:
    keyed = numbers(env, n).map_batches(with_keys).key_by("key")
    state = ReducingColumnDescriptor("count", pa.int64())
    return keyed.process_batch(count_batch, [state], records="tuple")


def rocksdb_access(env: StreamExecutionEnvironment, n: int) -> DataStream[Any]:
    env.set_state_backend(EmbeddedRocksDBStateBackend())
    return numbers(env, n).key_by(lambda i: i * PRIME % ACCESS_KEYS).process(CountPerKey())


def expected_rocksdb_access(n: int) -> Counter[Any]:
    totals = Counter(i * PRIME % ACCESS_KEYS for i in range(n))
    return Counter((key, seen + 1) for key, total in totals.items() for seen in range(total))


def words(i: int) -> Iterator[tuple[str, int]]:
    for word in LINES[i % len(LINES)].split():
        yield word, 1


def word_count(env: StreamExecutionEnvironment, n: int) -> DataStream[Any]:
    keyed = numbers(env, n).flat_map(words).key_by(lambda pair: pair[0])
    return keyed.reduce(lambda a, b: (a[0], a[1] + b[1]))


def expected_word_count(n: int) -> Counter[Any]:
    totals = Counter(word for i in range(n) for word, _ in words(i))
    return Counter((word, seen + 1) for word, total in totals.items() for seen in range(total))


class CountAndSum(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value % 1000

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class HalfClock(TimestampAssigner):
    """50 records a millisecond in each half of the sequence, so both readers keep in step."""

    def __init__(self, n: int) -> None:
        self.half = n // 2

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value % self.half // 50


def tumbling_window(env: StreamExecutionEnvironment, n: int) -> DataStream[Any]:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(HalfClock(n))
    keyed = numbers(env, n, strategy).key_by(lambda i: i * PRIME % WINDOW_KEYS)
    return keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).aggregate(CountAndSum())


def expected_tumbling_window(n: int) -> Counter[Any]:
    windows: dict[tuple[int, int], tuple[int, int]] = {}
    for i in range(n):
        window = (i * PRIME % WINDOW_KEYS, i % (n // 2) // 50 // 1000)
        count, total = windows.get(window, (0, 0))
        windows[window] = count + 1, total + i % 1000
    return Counter(windows.values())


def map_filter(env: StreamExecutionEnvironment, n: int) -> DataStream[Any]:
    return (
        numbers(env, n)
        .map(lambda i: i * 3 + 1)
        .filter(lambda i: i % 10 != 0)
        .map(lambda i: i ^ 0x5555)
        .map(lambda i: i - 7)
        .filter(lambda i: i % 4 != 0)
        .map(lambda i: i // 2)
    )


def expected_map_filter(n: int) -> Counter[Any]:
    tripled = (i * 3 + 1 for i in range(n))
    mixed = ((i ^ 0x5555) - 7 for i in tripled if i % 10 != 0)
    return Counter(i // 2 for i in mixed if i % 4 != 0)


class SlowHalfClock(TimestampAssigner):
    """5 records a millisecond in each half: a key of 10,000 comes once a second."""

    def __init__(self, n: int) -> None:
        self.half = n // 2

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value % self.half // 5


def slowly(n: int) -> WatermarkStrategy[int]:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SlowHalfClock(n))


def add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return a[0], a[1] + b[1]


def sliding_window(env: StreamExecutionEnvironment, n: int) -> DataStream[Any]:
    pairs = numbers(env, n, slowly(n)).map(lambda i: (i * PRIME % WINDOW_KEYS, i % 1000))
    windows = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(1))
    return pairs.key_by(lambda pair: pair[0]).window(windows).share_panes().reduce(add)


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


def session_window(env: StreamExecutionEnvironment, n: int) -> DataStream[Any]:
    keyed = numbers(env, n, slowly(n)).key_by(session_key)
    return keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(1))).aggregate(CountAndSum())


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


def interval_join(env: StreamExecutionEnvironment, n: int) -> DataStream[Any]:
    left = numbers(env, n, slowly(n)).key_by(lambda i: i * PRIME % WINDOW_KEYS)
    right = numbers(env, n, slowly(n)).key_by(lambda i: i * PRIME % WINDOW_KEYS)
    close = left.interval_join(right).between(Time.milliseconds(-500), Time.milliseconds(500))
    return close.process(lambda one, other: (one, other))


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


LIMITS = MapStateDescriptor("limits", Types.LONG(), Types.LONG())


class AboveLimit(KeyedBroadcastProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[tuple[int, int]]:
        limit = ctx.get_broadcast_state(LIMITS).get(value % 100)
        if limit is None or value % 1000 >= limit:
            yield ctx.get_current_key(), value

    def process_broadcast_element(self, value: tuple[int, int], ctx: Any) -> None:
        ctx.get_broadcast_state(LIMITS).put(value[0], value[1])


def broadcast_rules(env: StreamExecutionEnvironment, n: int) -> DataStream[Any]:
    rules = env.from_collection([(rule, rule * 10) for rule in range(100)]).broadcast(LIMITS)
    keyed = numbers(env, n).key_by(lambda i: i * PRIME % WINDOW_KEYS)
    return keyed.connect(rules).process(AboveLimit())


def expected_broadcast_rules(n: int) -> Counter[Any]:
    """The rules come first here, within the first epoch."""
    above = (i for i in range(n) if i % 1000 >= i % 100 * 10)
    return Counter((i * PRIME % WINDOW_KEYS, i) for i in above)


def strict_pattern(env: StreamExecutionEnvironment, n: int) -> DataStream[Any]:
    return find_strict(numbers(env, n, slowly(n)))


def expected_strict_pattern(n: int) -> Counter[Any]:
    return expected_strict(n, lambda i: i % (n // 2) // 5)


Workload = Callable[[StreamExecutionEnvironment, int], DataStream[Any]]
WORKLOADS: dict[str, tuple[Workload, Callable[[int], Counter[Any]], int]] = {
    "keyed_count": (keyed_count, expected_keyed_count, 1),
    "keyed_count_batches": (keyed_count_batches, expected_keyed_count, 1),
    "word_count": (word_count, expected_word_count, WORDS_PER_LINE),
    "tumbling_window": (tumbling_window, expected_tumbling_window, 1),
    "map_filter": (map_filter, expected_map_filter, 1),
    "sliding_window": (sliding_window, expected_sliding_window, 1),
    "session_window": (session_window, expected_session_window, 1),
    "interval_join": (interval_join, expected_interval_join, 2),
    "broadcast_rules": (broadcast_rules, expected_broadcast_rules, 1),
    "rocksdb_access": (rocksdb_access, expected_rocksdb_access, 1),
    "strict_pattern": (strict_pattern, expected_strict_pattern, 1),
}


def check(stream: DataStream[Any], expected: Counter[Any]) -> int:
    with stream.execute_and_collect() as results:
        seen = Counter(results)
    if seen != expected:
        missing, extra = list((expected - seen).items()), list((seen - expected).items())
        raise SystemExit(f"wrong results: missing {missing[:5]}, not expected {extra[:5]}")
    return sum(seen.values())


def timed(env: StreamExecutionEnvironment, stream: DataStream[Any]) -> dict[str, Any]:
    """``epochs``: accepted, each with its checkpoint; ``span``: from the first one's end on."""
    ends: list[float] = []
    env.launcher.listeners.append(lambda progress: ends.append(time.perf_counter()))
    stream.sink_to(DiscardingSink())
    start = time.perf_counter()
    env.execute()
    seconds = time.perf_counter() - start
    return {"seconds": round(seconds, 3), "epochs": len(ends), "span": round(ends[-1] - ends[0], 3)}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("n", type=int)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--check", action="store_true", help="compare the results, do not time")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    build, expected, records_per_number = WORKLOADS[args.workload]
    env = environment(args.checkpoint_dir)
    stream = build(env, args.n)
    report: dict[str, Any] = {"workload": args.workload, "mode": "millrace", "n": args.n}
    if args.check:
        report["checked"] = check(stream, expected(args.n))
    else:
        report |= timed(env, stream)
    report["records"] = args.n * records_per_number
    print(json.dumps(report))


if __name__ == "__main__":
    main()
