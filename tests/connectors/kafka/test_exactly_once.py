"""Kafka to keyed state to Kafka: a read-committed consumer sees each result once, whatever dies."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kafka_broker import KafkaBroker, KafkaCluster
from killed_job import KilledJob, executors, executors_at_length, kill_a_worker
from resumed_job import lasting
from running import fixture_of

HERE = Path(__file__).parent
KEYS = 7
CRASH_POINTS = (
    "after-acks",
    "transaction-begun",
    "during-metadata",
    "after-metadata",
    "before-sink-commit",
    "before-transaction-commit",
    "after-transaction-commit",
)

pytestmark = pytest.mark.fault


class Pipeline(KilledJob):
    """The job of `kafka_job`, in one process after the other, each killed somewhere."""

    script = HERE / "kafka_job.py"

    def __init__(
        self, topics: Any, directory: Path, count: int, where: str = "local", history: int = 0
    ) -> None:
        super().__init__(directory)
        self.topics = topics
        self.where = where
        self.expected = sorted(f"word-{i % KEYS}:{i // KEYS + 1}" for i in range(count))
        copies = min(3, len(topics.bootstrap_servers.split(",")))
        self.source = topics.create(partitions=2, copies=copies)
        self.sink = topics.create(partitions=2, copies=copies)
        for partition in range(2):
            mine = [f"word-{i % KEYS}" for i in range(count) if i % 2 == partition]
            topics.send(self.source, mine, partition)
            if history:  # so many records of each partition are in files, too
                text = "".join(f"{word}\n" for word in mine[:history])
                self.history.mkdir(exist_ok=True)
                self.history.joinpath(f"{partition}-{history}").write_text(text)

    @property
    def history(self) -> Path:
        return self.directory / "history"

    def arguments(self) -> list[str]:
        servers = self.topics.bootstrap_servers
        checkpoints = str(self.directory / "checkpoints")
        arguments = [servers, self.source, self.sink, checkpoints, self.where]
        return [*arguments, str(self.history)] if self.history.exists() else arguments

    def results(self) -> int:
        return len(self.topics.values(self.sink))

    def check(self) -> None:
        """Finish, and look at the results."""
        assert self.run() == 0, self.log
        assert sorted(self.topics.values(self.sink)) == self.expected
        last: dict[str, int] = {}
        for value in self.topics.values(self.sink):
            word, _, number = value.partition(":")
            assert last.get(word, 0) + 1 == int(number), "the results of a word are out of order"
            last[word] = int(number)


Make = Callable[..., Pipeline]


@pytest.fixture
def pipeline(topics: Any, tmp_path: Path) -> Make:
    def make(count: int = 600, where: str = "local", history: int = 0) -> Pipeline:
        return Pipeline(topics, tmp_path, count, where, history)

    return make


@executors_at_length
def test_the_driver_is_killed_around_transactions(pipeline: Make, executor: str) -> None:
    points = (
        "transaction-begun:1",
        "before-transaction-commit:1",
        "during-metadata:1",
        "after-transaction-commit:1",
        "after-metadata:2",
        "transaction-begun:3",
        "after-transaction-commit:2",
    )
    job = pipeline({"epochs": 10_000, "resident": lasting(points)}[executor])
    job.executor = executor
    for point in points:
        assert job.run(point) == -signal.SIGKILL, job.log
    job.check()


@pytest.mark.turns(5)
def test_checkpoints_fail_after_their_transactions_have_begun(pipeline: Make) -> None:
    """The job goes on, or dies with the next checkpoint. A transaction fails, too, as soon as it
    has begun."""
    job = pipeline(6_000)
    full = "transaction-begun:1:raise,during-metadata:2:raise,during-metadata:5:raise"
    assert job.run(f"{full},during-metadata:6") == -signal.SIGKILL, job.log
    assert (job.directory / "log").read_text().count("checkpoint failed") == 2
    assert job.run(full) == 0, job.log
    job.check()


@pytest.mark.turns(5)
def test_the_broker_is_restarted(kafka_broker: KafkaBroker, pipeline: Make) -> None:
    job = pipeline(4_000)
    driver = job.start()
    job.wait_for(driver, 300)
    kafka_broker.restart_node(0)
    assert driver.wait(job.patience_s) == 0, job.log
    job.check()


@pytest.mark.turns(5)
def test_the_driver_is_killed_around_the_switch_from_history(pipeline: Make) -> None:
    """Four epochs of files, then the topic behind what the files have."""
    job = pipeline(800, history=150)
    for point in ("after-acks:4", "during-metadata:1", "after-metadata:1", "before-sink-commit:1"):
        assert job.run(point) == -signal.SIGKILL, job.log
    job.check()


@pytest.mark.turns(7)
@pytest.mark.spark
def test_drivers_and_workers_are_killed_on_spark(pipeline: Make) -> None:
    job = pipeline(1_600, "spark")
    driver = job.start("after-transaction-commit:3")
    job.wait_for(driver, 80)
    kill_a_worker(driver, random.Random(1))
    assert driver.wait(job.patience_s) == -signal.SIGKILL, job.log
    job.check()


# -- at length -------------------------------------------------------------------------


@pytest.mark.torture
@executors
@pytest.mark.parametrize("seed", range(5))
def test_twenty_deaths_of_the_driver(seed: int, executor: str, pipeline: Make) -> None:
    rng, job = random.Random(seed), pipeline({"epochs": 8_000, "resident": 40_000}[executor])
    job.executor = executor
    for _ in range(20):
        job.run(f"{rng.choice(CRASH_POINTS)}:{rng.randint(1, 4)}")
    job.check()


@pytest.mark.torture
def test_twenty_deaths_around_the_switch(pipeline: Make) -> None:
    rng, job = random.Random(7), pipeline(6_000, history=1_500)
    for _ in range(20):
        job.run(f"{rng.choice(CRASH_POINTS)}:{rng.randint(1, 6)}")
    job.check()


@pytest.mark.torture
@pytest.mark.spark
@pytest.mark.parametrize("history", [0, 5_000])
def test_twenty_deaths_on_spark(pipeline: Make, history: int) -> None:
    """The driver dies, in turn with workers."""
    rng, job = random.Random(5), pipeline(20_000, "spark", history)
    for death in range(20):
        driver = job.start()
        seen = job.results()
        job.wait_for(driver, seen + rng.randint(1, 300))
        if death % 2 and driver.poll() is None:
            kill_a_worker(driver, rng)
            job.wait_for(driver, seen + 500)
        driver.kill()
        driver.wait()
    job.check()


cluster = fixture_of(KafkaCluster, "module")


@pytest.mark.torture
def test_twenty_deaths_of_brokers(cluster: KafkaCluster, topics: Any, tmp_path: Path) -> None:
    """One of three at a time; the driver dies now and then, too."""
    rng = random.Random(6)
    job = Pipeline(type(topics)(cluster.bootstrap_servers), tmp_path, 60_000)
    driver = job.start()
    for death in range(20):
        job.wait_for(driver, job.results() + rng.randint(1, 500))
        cluster.restart_node(rng.randrange(3))
        if death % 5 == 4 or driver.poll() is not None:
            driver.kill()
            driver.wait()
            driver = job.start()
    driver.wait(job.patience_s)
    job.check()
