"""kill -9 of the driver and of a worker of a SQL job on Spark: its files have each row once."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import sql_pipeline
from fault_spark import SparkDriver, reap

pytestmark = [pytest.mark.fault, pytest.mark.spark]

COUNT = 3_000
EPOCHS = {
    "millrace.epoch.initial-records-per-split": "40",
    "millrace.epoch.max-records-per-split": "40",
}
TRAPS = ("after-acks", "during-metadata", "before-sink-commit", "during-sink-commit")


def driver(directory: Path, trap: str = "", count: int = COUNT) -> SparkDriver:
    return SparkDriver(directory, count, trap, settings=EPOCHS, job="sql_pipeline.py")


def kill_a_worker(running: SparkDriver) -> bool:
    """Kill a Python worker that Spark has forked; False: there is none at the moment."""
    for process in running.descendants():
        with suppress(psutil.Error):
            family = [process, *process.parents()[:1]]
            if all("pyspark.daemon" in " ".join(each.cmdline()) for each in family):
                process.kill()
                return True
    return False


def die_and_resume(directory: Path, traps: list[str], count: int = COUNT) -> None:
    orphans: list[psutil.Process] = []
    for trap in traps:
        dying = driver(directory, trap, count)
        dying.wait_for(lambda dying=dying: dying.newest_checkpoint() > 0)  # type: ignore[misc]
        orphans += dying.descendants()
        assert dying.wait() == -signal.SIGKILL, f"{trap}: {dying.log}"
    last = driver(directory, count=count)
    reached = last.newest_checkpoint()
    last.wait_for(lambda: last.newest_checkpoint() > reached)
    killed = last.wait_for(lambda: kill_a_worker(last))
    assert last.wait() == 0, last.log
    assert killed
    sql_pipeline.check_output(directory / "out", count)
    reap(orphans)


def test_driver_and_worker_are_killed(tmp_path: Path) -> None:
    """The driver between the files and their commit, the worker of the run that follows."""
    die_and_resume(tmp_path, ["during-sink-commit:2"])


@pytest.mark.torture
@pytest.mark.parametrize("place", TRAPS)
@pytest.mark.parametrize("at", [1, 2, 5])
def test_killed_everywhere(place: str, at: int, tmp_path: Path) -> None:
    die_and_resume(tmp_path, [f"{place}:{at}", f"{place}:{at + 1}"])
