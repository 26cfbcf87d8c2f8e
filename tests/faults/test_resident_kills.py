"""Kills of workers, executors and drivers of a job on resident tasks of Spark: exact output."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import networkx as nx
import psutil
import pyarrow.parquet
import pytest
import resident_killed
from fault_lives import JOBS, environment
from fault_spark import python_workers, reap
from standalone_cluster import HOSTS, StandaloneCluster, executor_settings
from told_driver import ToldDriver

from millrace.common import RowKind

pytestmark = [pytest.mark.fault, pytest.mark.spark]

TESTS = Path(__file__).parents[1]
RESULT_KEYS = 7
LOCAL = {"spark.master": "local[3,1000]"}
LONGEST_PAUSE_S = 1.5
"""Seconds at most from an event that is waited for to the kill."""
SHARE_AT_ONCE = 0.25
"""Share of kills that do not wait until the job has recovered from the one before."""


class KilledPipeline(ABC):
    """The job of `resident_killed` in drivers that run one after the other."""

    pipeline: str

    def __init__(self, directory: Path, count: int) -> None:
        self.directory = directory
        self.count = count
        self.settings = dict(LOCAL)

    def start(self) -> ToldDriver:
        """A driver that resumes what is there."""
        services = [str(TESTS / "services"), str(TESTS / "connectors" / "kafka")]
        paths = os.pathsep.join([*services, os.environ.get("PYTHONPATH", "")])
        variables = environment()
        variables["PYTHONPATH"] = os.pathsep.join([variables["PYTHONPATH"], paths]).strip(":")
        settings = self.settings
        if not settings["spark.master"].startswith("local"):
            settings = {**executor_settings(variables), **settings}
        program = [sys.executable, str(JOBS / "resident_killed.py"), self.pipeline]
        arguments = [str(self.directory), str(self.count), json.dumps(settings), *self.topics()]
        return ToldDriver([*program, *arguments], self.directory, variables)

    def topics(self) -> list[str]:
        """Further arguments of the job."""
        return []

    def set_free(self) -> None:
        """Let the job run as fast as it can."""
        (self.directory / "free").touch()

    @abstractmethod
    def check(self) -> None:
        """Compare the whole output with the expected rows."""


class ParquetPipeline(KilledPipeline):
    """Windows to Parquet files."""

    pipeline = "parquet"

    def check(self) -> None:
        files = [
            path for path in (self.directory / "out").iterdir() if not path.name.startswith(".")
        ]
        rows: Counter[tuple[int, ...]] = Counter()
        for path in files:
            columns = pyarrow.parquet.read_table(path).to_pydict()
            rows.update(zip(*columns.values(), strict=True))
        expected = resident_killed.expected_rows(self.count)
        lost, doubled = expected - rows, rows - expected
        assert (lost, doubled) == (Counter(), Counter())


class KafkaPipeline(KilledPipeline):
    """Kafka to Kafka, exactly once."""

    pipeline = "kafka"

    def __init__(self, directory: Path, count: int, servers: str) -> None:
        from kafka_topics import Topics

        super().__init__(directory, count)
        self._topics = Topics(servers)
        self._source = self._topics.create(partitions=2)
        self._sink = self._topics.create(partitions=2)
        for partition in range(2):
            words = [f"word-{i % RESULT_KEYS}" for i in range(count) if i % 2 == partition]
            self._topics.send(self._source, words, partition)

    def topics(self) -> list[str]:
        return [self._topics.bootstrap_servers, self._source, self._sink]

    def check(self) -> None:
        """Each word's results are there once, in order."""
        last: Counter[str] = Counter()
        for value in self._topics.values(self._sink):
            word, _, number = value.partition(":")
            last[word] += 1
            assert last[word] == int(number), "results are lost, doubled or out of order"
        assert last == Counter(f"word-{i % RESULT_KEYS}" for i in range(self.count))


class GraphPipeline(KilledPipeline):
    """Components and degrees of a graph whose edges come and go."""

    pipeline = "graph"

    def check(self) -> None:
        rows: Counter[tuple[int, ...]] = Counter()
        for path in (self.directory / "out").iterdir():
            if not path.name.startswith("."):
                table = pyarrow.parquet.read_table(path).to_pydict()
                for *row, change in zip(*table.values(), strict=True):
                    rows[tuple(row)] += change
        left = {row: number for row, number in rows.items() if number}
        assert left == graph_results(self.count)


def graph_results(count: int) -> Counter[tuple[int, ...]]:
    """Rows that all changes of the graph leave, according to NetworkX."""
    edges: Counter[tuple[int, int]] = Counter()
    for number in range(count):
        change = resident_killed.edge_change(number)
        edge = change[0], change[1]
        if change.get_row_kind() is RowKind.INSERT:
            edges[edge] += 1
        elif edges[edge]:
            edges[edge] -= 1
    graph = nx.MultiGraph(edges.elements())
    parts = nx.connected_components(graph)
    rows = [(0, vertex, min(part)) for part in parts for vertex in part]
    return Counter(rows + [(1, vertex, degree) for vertex, degree in graph.degree])


Make = Callable[[str, int], KilledPipeline]


@pytest.fixture
def make(tmp_path: Path, request: pytest.FixtureRequest) -> Make:
    """Makes a pipeline by its name, for so many records."""

    def pipeline(name: str, count: int) -> KilledPipeline:
        if name == "parquet":
            return ParquetPipeline(tmp_path, count)
        if name == "graph":
            return GraphPipeline(tmp_path, count)
        broker: Any = request.getfixturevalue("kafka_broker")
        return KafkaPipeline(tmp_path, count, broker.bootstrap_servers)

    return pipeline


class Kills:
    """Kills at random moments, which the seed decides."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def wait(self, driver: ToldDriver) -> None:
        """Wait for a moment: usually some epochs after the last kill, and then some time."""
        if self.count == 0 or self.random.random() >= SHARE_AT_ONCE:
            driver.wait_for_epochs(self.random.randint(1, 20))
        time.sleep(self.random.uniform(0, LONGEST_PAUSE_S))

    def kill(self, driver: ToldDriver, victims: Callable[[], list[psutil.Process]]) -> None:
        """Kill one of the victims as soon as there are some."""
        before = self.count

        def is_killed() -> bool:
            for process in victims():
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGKILL)
                    self.count += 1
                    return True
            return False

        driver.wait_for(is_killed, f"process for kill {before + 1}")

    def shuffled(self, processes: list[psutil.Process]) -> list[psutil.Process]:
        self.random.shuffle(processes)
        return processes


def finish(pipeline: KilledPipeline, driver: ToldDriver) -> None:
    pipeline.set_free()
    assert driver.wait() == 0, driver.tail()
    pipeline.check()


def kill_workers(pipeline: KilledPipeline, kills: int, seed: int) -> None:
    moments, driver = Kills(seed), pipeline.start()
    try:
        while moments.count < kills:
            moments.wait(driver)
            moments.kill(driver, lambda: moments.shuffled(python_workers(driver.descendants())))
        finish(pipeline, driver)
    finally:
        driver.close()


def kill_executors(
    pipeline: KilledPipeline, cluster: StandaloneCluster, kills: int, seed: int
) -> None:
    pipeline.settings = {"spark.master": cluster.url, "spark.task.maxFailures": "1000000"}

    def executors() -> list[psutil.Process]:
        running = [process for host in range(len(HOSTS)) for process in cluster.executors(host)]
        return moments.shuffled(running)

    moments, driver = Kills(seed), pipeline.start()
    try:
        while moments.count < kills:
            moments.wait(driver)
            moments.kill(driver, executors)
        finish(pipeline, driver)
    finally:
        driver.close()


def kill_drivers(pipeline: KilledPipeline, kills: int, seed: int) -> None:
    """Half of the kills strike the JVM of the driver, too; otherwise it has to notice."""
    moments, orphans = Kills(seed), list[psutil.Process]()
    while moments.count < kills:
        driver = pipeline.start()
        try:
            moments.wait(driver)
            below = driver.descendants()
            with_machine = moments.random.random() < 0.5
            moments.kill(driver, lambda driver=driver: [driver.process])  # type: ignore[misc]
            for process in below if with_machine else []:
                with suppress(psutil.NoSuchProcess):
                    if process.name() == "java":
                        process.kill()
            orphans += below
            assert driver.wait() == -signal.SIGKILL, driver.tail()
        finally:
            driver.close()
    last = pipeline.start()
    try:
        finish(pipeline, last)
    finally:
        last.close()
    assert reap(orphans) == []


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    cluster = StandaloneCluster(tmp_path)
    try:
        cluster.start_workers()
        yield cluster
    finally:
        cluster.close()


def test_workers_are_killed(make: Make) -> None:
    kill_workers(make("parquet", 8_000), kills=2, seed=1)


# -- at length -------------------------------------------------------------------------

KILLS = 20
COUNTS = {"parquet": 400_000, "graph": 400_000, "kafka": 200_000}
"""Records that last for all kills. Until the last kill, an epoch reads a few numbers, and at most
2,000 records a second are read from Kafka."""
PIPELINES = pytest.mark.parametrize("pipeline", COUNTS)


@pytest.mark.torture
@PIPELINES
def test_twenty_kills_of_workers(pipeline: str, make: Make) -> None:
    kill_workers(make(pipeline, COUNTS[pipeline]), KILLS, seed=2)


@pytest.mark.torture
@PIPELINES
def test_twenty_kills_of_executors(pipeline: str, make: Make, cluster: StandaloneCluster) -> None:
    kill_executors(make(pipeline, COUNTS[pipeline]), cluster, KILLS, seed=3)


@pytest.mark.torture
@PIPELINES
def test_twenty_kills_of_drivers(pipeline: str, make: Make) -> None:
    kill_drivers(make(pipeline, COUNTS[pipeline]), KILLS, seed=4)
