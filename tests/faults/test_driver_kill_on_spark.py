"""kill -9 of `millrace run` on Spark, resumed at once while the old JVM may still be dying."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import fault_pipeline as pipeline
import psutil
import pytest
from fault_spark import SparkDriver, reap

pytestmark = [pytest.mark.fault, pytest.mark.spark]

COUNT = 2000
IN_THE_DRIVER = (
    "after-acks",
    "after-deltas",
    "during-metadata",
    "after-metadata",
    "before-sink-commit",
    "during-sink-commit",
)


def die_and_resume(
    directory: Path, seed: int, deaths: int, executor: str, count: int = COUNT, **settings: str
) -> None:
    rng = random.Random(seed)
    all_places = [*IN_THE_DRIVER, "after a segment", "at random"]
    places = rng.sample(all_places * -(-deaths // len(all_places)), deaths)
    orphans: list[psutil.Process] = []
    for place in places:
        trap = f"{place}:{rng.randint(1, 4)}" if place in IN_THE_DRIVER else ""
        driver = SparkDriver(directory, count, trap, settings=settings, executor=executor)
        driver.wait_for(lambda driver=driver: driver.newest_checkpoint() > 0)  # type: ignore[misc]
        orphans += driver.descendants()
        if place == "after a segment":
            driver.kill_after_a_segment()
        elif place == "at random":
            driver.kill_at_random(seed)
        assert driver.wait() == -signal.SIGKILL, f"{place}: {driver.log}"
    last = SparkDriver(directory, count, settings=settings, executor=executor)
    assert last.wait() == 0, last.log
    assert reap(orphans) == []
    pipeline.check_output(directory / "out", count, 3)


@pytest.mark.turns(2)
def test_killed_and_resumed(executor: str, tmp_path: Path) -> None:
    die_and_resume(tmp_path, seed=11, deaths=1, executor=executor, count=800)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(20))
def test_killed_everywhere_and_resumed(seed: int, executor: str, tmp_path: Path) -> None:
    """Every phase and a random moment, in random order."""
    die_and_resume(tmp_path, seed, deaths=8, executor=executor)


@pytest.mark.torture
def test_killed_twenty_times_with_rocksdb(executor: str, tmp_path: Path) -> None:
    """Databases on disk, sessions, rolling files: the output is that of a run that nobody
    disturbed, and no database stays."""
    settings = {
        "state.backend.type": "rocksdb",
        "state.backend.rocksdb.localdir": str(tmp_path / "databases"),
    }
    die_and_resume(tmp_path, 20, deaths=20, executor=executor, count=4_000, **settings)
    names = [path.name for path in (tmp_path / "databases").glob("*/*")]
    assert len(names) <= 16, names  # of the last run's workers, which the next run deletes
