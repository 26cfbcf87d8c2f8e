"""Numbers to keyed state to tables: each result is there once, whatever dies."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from databases import Database
from killed_job import KilledJob, executors, executors_at_length, kill_a_worker
from postgresql import PostgreSQL
from resumed_job import lasting

HERE = Path(__file__).parent
WORDS = 7
CRASH_POINTS = (
    "after-acks",
    "during-metadata",
    "after-metadata",
    "before-sink-commit",
    "before-jdbc-commit",
    "after-jdbc-commit",
)

pytestmark = pytest.mark.fault


class Pipeline(KilledJob):
    """The job of `jdbc_job`, in one process after the other, each killed somewhere."""

    script = HERE / "jdbc_job.py"
    poll_s = 0.1

    def __init__(self, database: Database, directory: Path, numbers: int, where: str) -> None:
        super().__init__(directory)
        self.database = database
        self.numbers = numbers
        self.where = where
        database.create_counts()
        database.run("CREATE TABLE log (word varchar(40), n bigint)")

    def arguments(self) -> list[str]:
        return [str(self.numbers), str(self.directory / "checkpoints"), self.where]

    def environment(self) -> dict[str, str]:
        return {"DATABASE_URL": self.database.url}

    def results(self) -> int:
        [(count,)] = self.database.rows("SELECT count(*) FROM log")
        return int(count)

    def check(self) -> None:
        """Finish, and look at the results."""
        assert self.run() == 0, self.log
        expected = [(f"word-{i % WORDS}", i // WORDS + 1) for i in range(self.numbers)]
        assert sorted(self.database.rows("SELECT word, n FROM log")) == sorted(expected)
        assert self.database.counts() == dict(expected)
        assert "only-for-the-tests" not in (self.directory / "log").read_text()


Make = Callable[..., Pipeline]


@pytest.fixture
def pipeline(postgresql: PostgreSQL, tmp_path: Path) -> Iterator[Make]:
    database = Database(postgresql.url(postgresql.create_database()))

    def make(numbers: int = 600, where: str = "local") -> Pipeline:
        return Pipeline(database, tmp_path, numbers, where)

    yield make
    database.close()


@pytest.mark.turns(7)
@executors_at_length
def test_driver_and_server_die(postgresql: PostgreSQL, pipeline: Make, executor: str) -> None:
    points = ("before-jdbc-commit:3", "after-jdbc-commit:1", "after-metadata:2")
    job = pipeline({"epochs": 4_000, "resident": lasting(points)}[executor])
    job.executor = executor
    for point in points:
        assert job.run(point) == -signal.SIGKILL, job.log
    driver = job.start()
    job.wait_for(driver, job.results() + 300)
    postgresql.restart()
    assert driver.wait(job.patience_s) == 0, job.log
    job.check()


@pytest.mark.torture
@pytest.mark.spark
def test_drivers_and_workers_are_killed_on_spark(pipeline: Make) -> None:
    job = pipeline(1_000, "spark")
    driver = job.start("after-jdbc-commit:4")
    job.wait_for(driver, 60)
    kill_a_worker(driver, random.Random(1))
    assert driver.wait(job.patience_s) == -signal.SIGKILL, job.log
    job.check()


# -- at length -------------------------------------------------------------------------


@pytest.mark.torture
@executors
@pytest.mark.parametrize("seed", range(3))
def test_twenty_deaths(seed: int, executor: str, postgresql: PostgreSQL, pipeline: Make) -> None:
    """The driver dies at chosen places and at any time, in turn with restarts of the server."""
    rng, job = random.Random(seed), pipeline({"epochs": 12_000, "resident": 60_000}[executor])
    job.executor = executor
    for death in range(20):
        if death % 3 == 0:
            job.run(f"{rng.choice(CRASH_POINTS)}:{rng.randint(1, 9)}")
            continue
        driver = job.start()
        job.wait_for(driver, job.results() + rng.randint(1, 400))
        if death % 3 == 1:
            postgresql.restart()
            job.wait_for(driver, job.results() + 200)
        driver.kill()
        driver.wait()
    job.check()


@pytest.mark.torture
@pytest.mark.spark
def test_twenty_deaths_on_spark(postgresql: PostgreSQL, pipeline: Make) -> None:
    """Workers, the server and the driver die. Twenty starts of Spark are most of its time:
    ten seconds each, a minute on a busy machine."""
    rng, job = random.Random(5), pipeline(8_000, "spark")
    job.patience_s = 900  # new workers import all they need, while everything else starts, too
    for death in range(20):
        driver = job.start()
        seen = job.results()
        job.wait_for(driver, seen + rng.randint(1, 150))
        if death % 3 == 1 and driver.poll() is None:
            kill_a_worker(driver, rng)
            job.wait_for(driver, seen + 250)
        elif death % 3 == 2:
            postgresql.restart()
            job.wait_for(driver, seen + 250)
        driver.kill()
        driver.wait()
    job.check()


@pytest.mark.connectors
def test_mariadb_and_its_driver_die(mariadb: Any, tmp_path: Path) -> None:
    database = Database(mariadb.url(mariadb.create_database()))
    job = Pipeline(database, tmp_path, 4_000, "local")
    assert job.run("before-jdbc-commit:3") == -signal.SIGKILL, job.log
    assert job.run("after-jdbc-commit:2") == -signal.SIGKILL, job.log
    driver = job.start()
    job.wait_for(driver, job.results() + 300)
    mariadb.restart()
    assert driver.wait(job.patience_s) == 0, job.log
    job.check()
    database.close()
