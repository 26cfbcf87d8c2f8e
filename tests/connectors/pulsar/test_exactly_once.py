"""Pulsar to keyed state to Pulsar: each result is there once and in order, whatever dies."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pulsar
import pytest
from killed_job import KilledJob, executors, kill_a_worker
from pulsar_job import build
from resumed_job import SMALL_EPOCHS, lasting
from wall_clock import WallClock

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

HERE = Path(__file__).parent
WORDS = 7
CRASH_POINTS = (
    "after-acks",
    "during-metadata",
    "after-metadata",
    "before-sink-commit",
    "before-pulsar-flush",
    "after-pulsar-flush",
)

pytestmark = [pytest.mark.connectors, pytest.mark.fault]


class Pipeline(KilledJob):
    """The job of `pulsar_job`, in one process after the other, each killed somewhere."""

    script = HERE / "pulsar_job.py"
    poll_s = 0.1

    def __init__(
        self, topics: Any, directory: Path, count: int, where: str, together: bool
    ) -> None:
        super().__init__(directory)
        self.server = topics.server
        self.where = where
        self.parallelism = 2
        self.expected = sorted(f"word-{i % WORDS}:{i // WORDS + 1}" for i in range(count))
        self.together = together
        self.seen = 0
        self.source, self.sink = topics.create(2), topics.create(1 if together else 2)
        # has the broker keep all results
        topics.client.subscribe(
            self.sink.name, "check", initial_position=pulsar.InitialPosition.Earliest
        ).close()
        for partition in range(2):
            mine = [f"word-{i % WORDS}" for i in range(count) if i % 2 == partition]
            self.source.send(mine, partition)

    def arguments(self) -> list[str]:
        names = [self.server.url, self.server.admin_url, self.source.name, self.sink.name]
        return [*names, str(self.directory / "checkpoints"), *self.how()]

    def how(self) -> list[str]:
        """The last arguments."""
        return [self.where, str(self.parallelism), *(["together"] if self.together else [])]

    def results(self) -> int:
        """As the broker counts them since it was started, or did when it last answered in time: no
        topic is read for that."""
        place = f"persistent/public/default/{self.sink.name}/partitioned-stats"
        with suppress(OSError):
            self.seen = int(self.server.ask("GET", place)["msgInCounter"])
        return self.seen

    def check(self) -> None:
        """Finish, and look at the results."""
        assert self.run() == 0, self.log
        self.look()

    def look(self) -> None:
        """Each result is there once, those of a word in their order."""
        found = [message.data().decode() for message in self.sink.read()]
        assert sorted(found) == self.expected
        last: dict[str, int] = {}
        for value in found:
            word, _, number = value.partition(":")
            assert last.get(word, 0) + 1 == int(number), "the results of a word are out of order"
            last[word] = int(number)


Make = Callable[..., Pipeline]


@pytest.fixture
def pipeline(topics: Any, tmp_path: Path) -> Make:
    def make(count: int, where: str = "local", together: bool = False) -> Pipeline:
        return Pipeline(topics, tmp_path, count, where, together)

    return make


@executors
@pytest.mark.parametrize("together", [False, True], ids=["alone", "together"])
def test_the_driver_is_killed_around_commits(pipeline: Make, together: bool, executor: str) -> None:
    points = (
        "before-pulsar-flush:2",
        "after-pulsar-flush:1",
        "after-metadata:2",
        "after-pulsar-flush:3",
    )
    job = pipeline({"epochs": 6_000, "resident": lasting(points)}[executor], together=together)
    job.executor = executor
    for point in points:
        assert job.run(point) == -signal.SIGKILL, job.log
    job.check()


def test_the_broker_is_restarted_below_a_running_job(pipeline: Make) -> None:
    job = pipeline(8_000)
    driver = job.start()
    job.wait_for(driver, 500)
    job.server.restart()
    assert driver.wait(job.patience_s) == 0, job.log
    job.check()


def test_it_goes_on_from_savepoints_with_other_parallelisms(topics: Any, tmp_path: Path) -> None:
    """With 2, 4 and 1 subtasks, each run from where the one before was stopped."""
    job = Pipeline(topics, tmp_path, 3_000, "local", together=False)
    places = (job.server.url, job.server.admin_url, job.source.name, job.sink.name)
    savepoint = None
    for parallelism in (2, 4, 1):
        settings = {**SMALL_EPOCHS, "execution.checkpointing.interval": "1 ms"}
        if savepoint is not None:
            settings["execution.state-recovery.path"] = savepoint
        checkpoints = str(tmp_path / f"checkpoints-{parallelism}")
        with run_local(clock=WallClock(), checkpoint_dir=checkpoints):
            env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
            env.set_parallelism(parallelism)
            build(env, *places, together=False)
            if parallelism == 1:
                env.execute("from-savepoints")
                break
            some = threading.Event()
            env.launcher.listeners.append(lambda job, some=some: job.epochs > 5 and some.set())
            client = env.execute_async("from-savepoints")
            assert some.wait(60), client.get_job_status().result()
            savepoint = client.stop_with_savepoint(False, str(tmp_path)).result(60)
            client.get_job_execution_result().result(60)
            assert 0 < job.results() < 3_000
    job.look()


@pytest.mark.spark
def test_drivers_and_workers_are_killed_on_spark_and_it_is_rescaled(pipeline: Make) -> None:
    job = pipeline(3_000, "spark")
    driver = job.start("after-pulsar-flush:6")
    job.wait_for(driver, 80)
    kill_a_worker(driver, random.Random(1))
    assert driver.wait(job.patience_s) == -signal.SIGKILL, job.log
    job.parallelism = 4
    assert job.run("before-pulsar-flush:3") == -signal.SIGKILL, job.log
    job.check()


# -- at length -------------------------------------------------------------------------


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(3))
def test_twenty_deaths(seed: int, pipeline: Make) -> None:
    """The driver dies at chosen places and at any time, in turn with restarts of the broker."""
    rng, job = random.Random(seed), pipeline(20_000, together=seed == 1)
    for death in range(20):
        if death % 5 != 4:
            job.run(f"{rng.choice(CRASH_POINTS)}:{rng.randint(1, 9)}")
            continue
        driver = job.start()
        job.wait_for(driver, job.results() + rng.randint(1, 400))
        job.server.restart()
        job.wait_for(driver, rng.randint(1, 400))
        driver.kill()
        driver.wait()
    job.check()


@pytest.mark.torture
@pytest.mark.spark
def test_twenty_deaths_on_spark(pipeline: Make) -> None:
    """The driver dies, in turn with workers and the broker, at 2 and 4 subtasks."""
    rng, job = random.Random(5), pipeline(20_000, "spark")
    for death in range(20):
        job.parallelism = 2 if death < 10 else 4
        driver = job.start()
        seen = job.results()
        job.wait_for(driver, seen + rng.randint(1, 300))
        if death % 2 and driver.poll() is None:
            kill_a_worker(driver, rng)
            job.wait_for(driver, seen + 500)
        elif death % 10 == 4:
            job.server.restart()
            job.wait_for(driver, 300)
        driver.kill()
        driver.wait()
    job.check()
