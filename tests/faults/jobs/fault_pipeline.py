"""The job that the fault tests run: exchanges, keyed state, timers, windows, patterns, file sinks.

Its source reads differently whenever it is read again: other nonces, other batch sizes. Only the
split positions are honest. So an epoch put together from two readings shows: an index is lost or
doubled, or two sinks disagree about its nonce. Can be run as a job file::

    millrace run fault_pipeline.py OUT NUMBERS [PARALLELISM [SPLITS [PAUSE_MS]]]
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from millrace.cep import CEP, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from millrace.common.config.configuration import Configuration
from millrace.common.source import (
    ReaderContext,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.types.batch import RowBatch
from millrace.common.window.session_windows import EventTimeSessionWindows
from millrace.common.window.window_assigner import TumblingEventTimeWindows
from millrace.connectors.bucket_assigner import BucketAssigner
from millrace.connectors.file_sink import FileSink
from millrace.connectors.index_range import IndexRangeSplit, index_range_splits
from millrace.connectors.rolling_policy import RollingPolicy
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.filesystem.registry import file_system_of
from millrace.formats.json import JsonLinesEncoder

JOB_NAME = "faults"
KEYS = 61
WINDOW = 50
PAUSE = 0.2
"""How probable it is that a reader has nothing to give for the rest of an epoch."""
PACED_RECORDS = 10
"""Records at most that a reader with pauses reads at a time."""
END_OF_TIME = 1 << 50
PATIENCE = 100
"""So long a number waits for its follower."""
GAP = 20
"""After so long without a number a session ends."""
SINKS = ("raw", "tallied", "windowed", "sessions", "followed")

Value = tuple[int, int, int]
"""(index, nonce, event time)."""


class RestlessNumbers(SplitSource[Value]):
    """The numbers from 0 to ``count``; a second reading of a position gives other nonces.

    Args:
        pause_ms: milliseconds between two reads of a split. On resident tasks no epoch has a limit
            of records, and without pauses the job is over after a few.
    """

    def __init__(self, count: int, splits: int, pause_ms: int = 0) -> None:
        self.splits = index_range_splits(0, count, splits)
        self.pause_ms = pause_ms

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator(self.splits)

    def create_split_reader(
        self, split: IndexRangeSplit, position: Any, context: ReaderContext
    ) -> RestlessReader:
        return RestlessReader(split, position, self.pause_ms)


class RestlessReader(SplitReader[Value]):
    def __init__(self, split: IndexRangeSplit, position: int | None, pause_ms: int) -> None:
        self.split = split
        self.next = split.start if position is None else position
        self.random = random.SystemRandom()
        self.pause_ms = pause_ms
        self.rests_until = 0
        """Time before which nothing is read, in ms since the epoch of Unix."""

    def read(self, max_records: int) -> RowBatch[Value]:
        if self.pause_ms:
            now = time.time_ns() // 1_000_000
            if now < self.rests_until:
                return RowBatch([])
            self.rests_until = now + self.pause_ms
            max_records = min(max_records, PACED_RECORDS)
        if self.random.random() < PAUSE:
            return RowBatch([])
        most = self.random.randint((max_records + 1) // 2, max_records)
        start, self.next = self.next, min(self.split.end, self.next + most)
        draw = self.random.getrandbits
        return RowBatch([(i, draw(40), i - self.split.start) for i in range(start, self.next)])

    def position(self) -> int:
        return self.next

    def finished(self) -> bool:
        return self.next >= self.split.end

    def next_wakeup(self, now: int) -> int:
        return max(now, self.rests_until)


class Tally(KeyedProcessFunction):
    """Counts per key in three kinds of state, and tells the end result when time ends."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        self.parities = runtime_context.get_map_state(MapStateDescriptor("parities"))
        self.indexes = runtime_context.get_list_state(ListStateDescriptor("indexes"))

    def process_element(self, value: Value, ctx: Any) -> Any:
        total = (self.total.value() or 0) + 1
        self.total.update(total)
        parity = value[0] % 2
        self.parities.put(parity, (self.parities.get(parity) or 0) + 1)
        self.indexes.add(value[0])
        ctx.timer_service().register_event_time_timer(END_OF_TIME)
        yield ["seen", value[0], value[1], ctx.get_current_key(), total]

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        parities = [self.parities.get(parity) or 0 for parity in (0, 1)]
        yield ["final", ctx.get_current_key(), self.total.value(), parities, sorted(self.indexes)]


class Followed(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Tells which number followed, or that none did."""

    def process_match(self, match: Any, ctx: Any) -> Any:
        yield [*match["first"][0][:2], *match["second"][0][:2]]

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        yield list(match["first"][0][:2])


FOLLOWED = (
    Pattern.begin("first")
    .where(lambda value: value[0] % 3 == 0)
    .followed_by("second")
    .where(lambda value: value[0] % 3 == 1)
    .within(PATIENCE)
)


def key_of(value: Value) -> int:
    return value[0] % KEYS


def by_index(a: Value, b: Value) -> int:
    return a[0] - b[0]


def unchanged(value: Value) -> Value:
    return value


def build(
    env: StreamExecutionEnvironment,
    out: str,
    count: int,
    splits: int,
    between: Any = unchanged,
    pause_ms: int = 0,
) -> None:
    """Build the job; ``between`` is a map function in the middle of it."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value[2]
    )
    source = RestlessNumbers(count, splits, pause_ms)
    numbers = env.from_source(source, strategy, "numbers").uid("numbers")
    numbers.map(list).sink_to(sink(out, "raw", RollingPolicy.default_rolling_policy(4000)))
    tallied = numbers.rebalance().map(between).name("between").key_by(key_of).process(Tally())
    at_checkpoints = RollingPolicy.on_checkpoint_rolling_policy()
    tallied.name("tally").sink_to(sink(out, "tallied", at_checkpoints))
    windowed = (
        numbers.map(lambda value: (key_of(value), value[0], 1, value[2] // WINDOW))
        .key_by(lambda value: value[0])
        .window(TumblingEventTimeWindows.of(WINDOW))
        .reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2], a[3]))
    )
    windowed.map(list).sink_to(sink(out, "windowed", RollingPolicy.default_rolling_policy()))
    sessions = (
        numbers.map(lambda value: (key_of(value), value[0], 1))
        .key_by(lambda value: value[0])
        .window(EventTimeSessionWindows.with_gap(GAP))
        .reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]))
    )
    sessions.map(list).sink_to(sink(out, "sessions", at_checkpoints))
    pattern = CEP.pattern(numbers.key_by(key_of), FOLLOWED, by_index)
    pattern.process(Followed()).sink_to(sink(out, "followed", at_checkpoints))


def sink(out: str, name: str, policy: RollingPolicy) -> FileSink:
    return (
        FileSink.for_row_format(os.path.join(out, name), JsonLinesEncoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(policy)
        .build()
    )


def visible(out: str | Path, name: str) -> list[list[Any]]:
    """What a reader of a sink's directory sees."""
    directory = os.path.join(out, name)
    files = file_system_of(directory)
    paths = sorted(file.location for file in files.list(directory))
    whole = [path for path in paths if not os.path.basename(path).startswith(".")]
    return [json.loads(line) for path in whole for line in files.read(path).splitlines()]


def check_output(out: str | Path, count: int, splits: int) -> None:
    """Raises AssertionError unless the sinks hold what a plain loop computes, record for record."""
    raw = visible(out, "raw")
    nonces = check_once([(row[0], row[1]) for row in raw], count, "raw")
    tallied = visible(out, "tallied")
    seen = [row for row in tallied if row[0] == "seen"]
    assert check_once([(row[1], row[2]) for row in seen], count, "tallied") == nonces
    totals: dict[int, list[int]] = {}
    for _, index, _, key, total in seen:
        assert key == index % KEYS
        totals.setdefault(key, []).append(total)
    indexes = {key: list(range(key, count, KEYS)) for key in range(min(KEYS, count))}
    expected = {key: list(range(1, len(of_key) + 1)) for key, of_key in indexes.items()}
    assert {key: sorted(of_key) for key, of_key in totals.items()} == expected
    finals = sorted(row[1:] for row in tallied if row[0] == "final")
    assert finals == [
        [key, len(of_key), [sum(i % 2 == p for i in of_key) for p in (0, 1)], of_key]
        for key, of_key in indexes.items()
    ]
    assert len(tallied) == len(seen) + len(finals)
    assert Counter(map(tuple, visible(out, "windowed"))) == expected_windows(count, splits)
    assert Counter(map(tuple, visible(out, "sessions"))) == expected_sessions(count, splits)
    followed = visible(out, "followed")
    for row in followed:
        for index, nonce in zip(row[::2], row[1::2], strict=True):
            assert nonces[index] == nonce
    assert Counter(tuple(row[::2]) for row in followed) == expected_followers(count, splits)


def check_once(rows: list[tuple[int, int]], count: int, name: str) -> dict[int, int]:
    """The nonces by index; AssertionError unless every index is there once."""
    times = Counter(index for index, _ in rows)
    doubled = sorted(index for index, n in times.items() if n > 1)
    lost = sorted(set(range(count)) - times.keys())
    assert not doubled, f"{name}: {len(doubled)} doubled: {doubled[:10]}"
    assert not lost, f"{name}: {len(lost)} lost: {lost[:10]}"
    assert len(times) == count
    return dict(rows)


def expected_windows(count: int, splits: int) -> Counter[tuple[int, int, int, int]]:
    windows: dict[tuple[int, int], list[int]] = {}
    for split in index_range_splits(0, count, splits):
        for i in range(split.start, split.end):
            windows.setdefault((i % KEYS, (i - split.start) // WINDOW), []).append(i)
    return Counter((key, sum(of), len(of), window) for (key, window), of in windows.items())


def expected_sessions(count: int, splits: int) -> Counter[tuple[int, int, int]]:
    """Per session of each key: its key, the sum of its numbers, how many they are."""
    times = times_of(count, splits)
    sessions: list[list[int]] = []
    for key in range(min(KEYS, count)):
        before = None
        for i in sorted(range(key, count, KEYS), key=times.__getitem__):
            if before is None or times[i] > before + GAP:
                sessions.append([])
            sessions[-1].append(i)
            before = times[i]
    return Counter((of[0] % KEYS, sum(of), len(of)) for of in sessions)


def times_of(count: int, splits: int) -> dict[int, int]:
    """The event times of the numbers."""
    return {
        i: i - split.start
        for split in index_range_splits(0, count, splits)
        for i in range(split.start, split.end)
    }


def expected_followers(count: int, splits: int) -> Counter[tuple[int, ...]]:
    """Each first number with its follower, or alone."""
    times = times_of(count, splits)
    found: Counter[tuple[int, ...]] = Counter()
    for key in range(KEYS):
        order = sorted(range(key, count, KEYS), key=lambda i: (times[i], i))
        for place, first in enumerate(order):
            if first % 3 == 0:
                seconds = (i for i in order[place:] if i % 3 == 1)
                soon = [i for i in seconds if times[i] < times[first] + PATIENCE][:1]
                found[first, *soon] += 1
    return found


def small_epochs(
    checkpoints: str | Path, interval: int = 0, records: int = 15, inline_limit: int = 400
) -> Configuration:
    """Settings that make many epochs, many checkpoints and many segments of little data."""
    return Configuration(
        {
            "execution.checkpointing.dir": str(checkpoints),
            "execution.checkpointing.interval": f"{interval} ms",
            "millrace.epoch.initial-records-per-split": records,
            # on a busy machine epochs would become smaller and smaller
            "millrace.epoch.target-duration": "10 min",
            "millrace.epoch.max-records-per-split": records,
            "millrace.buffer.records": 16,
            "millrace.state.inline-limit": f"{inline_limit} b",
        }
    )


def main(
    out: str, count: str, parallelism: str = "2", splits: str = "3", pause_ms: str = "0"
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(int(parallelism))
    build(env, out, int(count), int(splits), pause_ms=int(pause_ms))
    env.execute(JOB_NAME)


if __name__ == "__main__":
    main(*sys.argv[1:])
