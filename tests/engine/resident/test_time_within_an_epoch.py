"""Within one epoch of resident tasks, time goes on and results leave."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millrace.cep import CEP, Pattern
from millrace.common import Configuration, WatermarkStrategy
from millrace.common.functions.batch_functions import BatchProcessFunction
from millrace.common.source import (
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.state.column_descriptors import ValueColumnDescriptor
from millrace.common.time.amounts import Duration
from millrace.common.types.batch import ColumnBatch
from millrace.datastream import DataStream, MapFunction, StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.resident.tasks import ResidentSettings
from millrace.testing import CollectingSink
from millrace.testing.resident_tasks import local_resident_executor

LONG = 60_000
"""Milliseconds between two barriers: the job is one epoch."""


@pytest.fixture(autouse=True)
def resident() -> Iterator[None]:
    before = JobLauncher.current()
    settings = ResidentSettings(barrier_interval=LONG)
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(2, settings)))
    yield
    JobLauncher.install(before)


PAUSE_MS = 10
"""Milliseconds from the time at which a number is processed to the next number."""
processed: list[int] = []
"""Times at which numbers were processed, in ms since the epoch of Unix."""


class Paused(SplitSource[Any]):
    """The numbers from 0, all of one key, each some time after the one before is processed."""

    def __init__(self, count: int | None) -> None:
        self.count = count

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([SourceSplit("numbers")])

    def create_split_reader(
        self, split: SourceSplit, position: Any, context: ReaderContext
    ) -> SplitReader[Any]:
        processed.clear()
        return PausedReader(self.count)


class PausedReader(SplitReader[Any]):
    def __init__(self, count: int | None) -> None:
        self.count, self.next = count, 0

    def read(self, max_records: int) -> ColumnBatch:
        waits = len(processed) < self.next
        if waits or (processed and time.time() * 1000 < processed[-1] + PAUSE_MS):
            return batch_of([])
        self.next += 1
        return batch_of([self.next - 1])

    def position(self) -> int:
        return self.next

    def finished(self) -> bool:
        return self.next == self.count

    def next_wakeup(self, now: int) -> int:
        return now + 1


def batch_of(numbers: list[int]) -> ColumnBatch:
    columns = {
        "key": pa.array(["k"] * len(numbers), pa.string()),
        "n": pa.array(numbers, pa.int64()),
    }
    return ColumnBatch(pa.record_batch(columns), form="row")


def numbers(count: int | None) -> DataStream[Any]:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    source, no_watermarks = Paused(count), WatermarkStrategy.no_watermarks()
    return env.set_parallelism(1).from_source(source, no_watermarks, "numbers")


class Remembered(BatchProcessFunction):
    """Adds to each number the one before it, if that is not older than 2 ms."""

    def states(self) -> list[ValueColumnDescriptor]:
        return [ValueColumnDescriptor("last", pa.int64(), Duration.of_millis(2))]

    def process_batch(self, batch: pa.RecordBatch, ctx: Any) -> pa.RecordBatch:
        known = ctx.state("last").get()
        ctx.state("last").put(batch["n"])
        processed.append(int(time.time() * 1000))
        return pa.record_batch({"n": batch["n"], "known": known})


class Noted(MapFunction[Any, Any]):
    """Notes the time at which a number is processed."""

    def map(self, value: Any) -> Any:
        processed.append(int(time.time() * 1000))
        return value


def test_columns_of_state_expire_by_the_clock() -> None:
    found = numbers(8).key_by("key").process_batch(Remembered()).execute_and_collect()
    assert {row["n"]: row["known"] for row in found} == dict.fromkeys(range(8))


def test_matches_of_ordered_events_leave_within_the_epoch(tmp_path: Path) -> None:
    """In processing time, a comparator orders the events of an instant, not of the epoch."""
    marker = tmp_path / "match"
    pattern = Pattern.begin("first").next("second")
    keyed = numbers(None).map(tuple).key_by(lambda row: row[0])
    matches = CEP.pattern(keyed, pattern, lambda a, b: a[1] - b[1]).in_processing_time()
    found = matches.select(lambda match: match["second"][0])
    keyed.map(Noted()).sink_to(CollectingSink())
    found.map(lambda value: marker.write_text("found")).sink_to(CollectingSink())
    client = keyed.get_execution_environment().execute_async("matches")
    try:
        until = time.monotonic() + 30
        while not marker.exists():
            assert time.monotonic() < until
            time.sleep(0.01)
    finally:
        client.cancel().result()
