"""Jobs on resident tasks that share the slots of one Spark application."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Semaphore, Thread
from typing import Any

import pytest
from pyspark import SparkContext

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.common.errors import JobExecutionError
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.engine.job_details import JobDetails
from millrace.spark.connector import SparkCheckpoint, SparkSink
from millrace.spark.resident import spark_starter
from millrace.spark.resident.free_slots import all_slots, busy_slots, require_free_slots
from millrace.spark.session import create_context
from millrace.testing import CollectingSink

pytestmark = pytest.mark.spark


def environment(executor: str, parallelism: int, **settings: str) -> StreamExecutionEnvironment:
    config = Configuration(
        {
            "millrace.executor": executor,
            "execution.runtime-mode": "STREAMING",
            "millrace.resident.barrier-interval": "50 ms",
            **settings,
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(config)
    return env.set_parallelism(parallelism)


def counts(env: StreamExecutionEnvironment) -> Counter[tuple[int, int]]:
    numbers = env.from_collection(range(60)).map(lambda n: (n % 3, 1))
    return Counter(numbers.key_by(lambda pair: pair[0]).sum(1).execute_and_collect())


COUNTS = Counter((key, count) for key in range(3) for count in range(1, 21))


@pytest.fixture
def slots(spark: Any) -> int:
    """All slots of the application: two, or as many as one has that another test made."""
    context = create_context("jobs", parallelism=2, master="local[2,4]")
    slots = all_slots(context)
    assert slots >= 2, f"these tests need two slots, and {context.master} has {slots}"
    return slots


@pytest.fixture
def endless(slots: int) -> Iterator[EmbeddedJobClient]:
    """A job on resident tasks that runs, and holds one of the slots."""
    env, accepted = environment("resident", 1), Semaphore(0)

    def accept(details: JobDetails) -> None:
        accepted.release()

    env.launcher.listeners.append(accept)
    rate = RateLimiterStrategy.per_second(200)
    source = DataGeneratorSource(lambda i: i, rate_limiter_strategy=rate, splits=1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.sink_to(CollectingSink())
    client = env.execute_async("endless")
    assert accepted.acquire(timeout=60)
    env.launcher.listeners.remove(accept)
    yield client
    client.cancel().result()


@pytest.mark.turns(7)
@pytest.mark.parametrize(("executor", "waiting"), [("resident", 0), ("epochs", 1)])
def test_a_second_job_runs_beside_the_first(
    executor: str, waiting: int, slots: int, endless: EmbeddedJobClient
) -> None:
    """With epochs, one more subtask than there are free slots waits for its turn."""
    before = endless.progress().epochs
    assert counts(environment(executor, slots - 1 + waiting)) == COUNTS
    assert endless.progress().epochs >= before


def test_a_second_job_with_too_few_slots_is_refused_at_once(
    slots: int, endless: EmbeddedJobClient
) -> None:
    told = rf"needs {slots} slots.*has {slots}, 1 of them busy: {slots - 1} free"
    with pytest.raises(JobExecutionError, match=told):
        counts(environment("resident", slots))
    assert counts(environment("resident", slots - 1)) == COUNTS


def wait_for(file: str) -> None:
    while not Path(file).exists():
        time.sleep(0.01)


def test_a_job_waits_for_slots_of_tasks_that_end(
    slots: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as those of a job that was cancelled a moment before."""
    context, file = SparkContext.getOrCreate(), tmp_path / "over"
    tasks = context.parallelize(range(slots), slots)
    others = Thread(target=lambda: tasks.foreach(lambda _: wait_for(str(file))))
    others.start()
    while busy_slots(context) < slots:
        time.sleep(0.01)
    waits: list[float] = []

    def end_tasks(context: SparkContext, tasks: int, patience: float, may_wait: Any) -> None:
        assert patience > 0
        waits.append(patience)
        file.touch()
        require_free_slots(context, tasks, patience=60)

    monkeypatch.setattr(spark_starter, "require_free_slots", end_tasks)
    try:
        assert counts(environment("resident", slots)) == COUNTS
        assert len(waits) == 1
    finally:
        file.touch()
        others.join()


written: list[tuple[int, ...]] = []


def append(frame: Any, checkpoint: SparkCheckpoint) -> None:
    written.extend(tuple(row) for row in frame.collect())


def test_a_sink_that_runs_spark_jobs_gets_a_slot_of_its_own(slots: int) -> None:
    """Although the parallelism is the number of all slots."""
    written.clear()
    env = environment("resident", slots, **{"execution.checkpointing.interval": "100 ms"})
    pairs = env.from_collection(range(50)).map(
        lambda n: (n, n * n), Types.ROW_NAMED(["n", "square"], [Types.LONG(), Types.LONG()])
    )
    pairs.sink_to(SparkSink(append)).name("lake")
    env.execute("lake")
    assert sorted(written) == [(n, n * n) for n in range(50)]


def test_without_such_a_slot_the_sink_is_refused_by_name(slots: int) -> None:
    env = environment("resident", slots, **{"millrace.spark.tasks": str(slots)})
    env.from_collection([1]).sink_to(SparkSink(append)).name("lake")
    with pytest.raises(JobExecutionError, match=r"the sink 'lake' runs Spark jobs"):
        env.execute("lake")
