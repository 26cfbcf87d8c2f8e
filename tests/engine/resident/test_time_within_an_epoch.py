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
from millrace.common.state.column_descriptors import ValueColumnDescriptor
from millrace.common.time.amounts import Duration
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
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


def numbers(count: int | None) -> DataStream[Any]:
    """One key and the numbers from 0, some 20 ms apart."""
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    source: DataGeneratorSource[Any] = DataGeneratorSource(
        count=count,
        columns=lambda at: pa.record_batch({"key": ["k"] * len(at), "n": list(at)}),
        rate_limiter_strategy=RateLimiterStrategy.per_second(50),
        splits=1,
    )
    return env.set_parallelism(1).from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


class Remembered(BatchProcessFunction):
    """Adds to each number the one before it, if that is not older than 2 ms."""

    def states(self) -> list[ValueColumnDescriptor]:
        return [ValueColumnDescriptor("last", pa.int64(), Duration.of_millis(2))]

    def process_batch(self, batch: pa.RecordBatch, ctx: Any) -> pa.RecordBatch:
        known = ctx.state("last").get()
        ctx.state("last").put(batch["n"])
        return pa.record_batch({"n": batch["n"], "known": known})


def test_columns_of_state_expire_by_the_clock() -> None:
    found = numbers(8).key_by("key").process_batch(Remembered()).execute_and_collect()
    known = {row["n"]: row["known"] for row in found}
    assert len(known) == 8
    assert None in {known[n] for n in range(1, 8)}


def test_matches_of_ordered_events_leave_within_the_epoch(tmp_path: Path) -> None:
    """In processing time, a comparator orders the events of an instant, not of the epoch."""
    marker = tmp_path / "match"
    pattern = Pattern.begin("first").next("second")
    keyed = numbers(None).map(tuple).key_by(lambda row: row[0])
    matches = CEP.pattern(keyed, pattern, lambda a, b: a[1] - b[1]).in_processing_time()
    found = matches.select(lambda match: match["second"][0])
    found.map(lambda value: marker.write_text("found")).sink_to(CollectingSink())
    client = keyed.get_execution_environment().execute_async("matches")
    try:
        until = time.monotonic() + 30
        while not marker.exists():
            assert time.monotonic() < until
            time.sleep(0.01)
    finally:
        client.cancel().result()
