"""kill -9 of the driver and of a worker of a SQL job on Spark: its files have each row once."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import sql_pipeline
import sql_times_pipeline
from fault_spark import SparkDriver, python_workers, reap

pytestmark = [pytest.mark.fault, pytest.mark.spark]

TIMES = "sql_times_pipeline.py"
JOBS = {"sql_pipeline.py": sql_pipeline, TIMES: sql_times_pipeline}
COUNT = 3_000
RATES = {"epochs": [], "resident": ["1000"]}
"""Argument of the job per executor: records per second, so that there are many epochs on both."""
EPOCHS = {
    "millrace.epoch.initial-records-per-split": "40",
    "millrace.epoch.max-records-per-split": "40",
}
TRAPS = ("after-acks", "during-metadata", "before-sink-commit", "during-sink-commit")


def driver(directory: Path, job: str, executor: str, count: int, trap: str = "") -> SparkDriver:
    return SparkDriver(
        directory,
        count,
        trap,
        settings=EPOCHS if executor == "epochs" else None,
        job=job,
        executor=executor,
        arguments=RATES[executor],
    )


def kill_a_worker(running: SparkDriver) -> bool:
    """Kill a Python worker that Spark has forked; False: there is none at the moment."""
    for process in python_workers(running.descendants()):
        with suppress(psutil.Error):
            process.kill()
            return True
    return False


def die_and_resume(
    directory: Path, job: str, traps: list[str], executor: str, count: int = COUNT
) -> None:
    orphans: list[psutil.Process] = []
    for trap in traps:
        dying = driver(directory, job, executor, count, trap)
        dying.wait_for(lambda dying=dying: dying.newest_checkpoint() > 0)  # type: ignore[misc]
        orphans += dying.descendants()
        assert dying.wait() == -signal.SIGKILL, f"{trap}: {dying.log}"
    last = driver(directory, job, executor, count)
    reached = last.newest_checkpoint()
    last.wait_for(lambda: last.newest_checkpoint() > reached)
    killed = last.wait_for(lambda: kill_a_worker(last))
    assert last.wait() == 0, last.log
    assert killed
    JOBS[job].check_output(directory / "out", count)
    reap(orphans)


@pytest.mark.turns(7)
@pytest.mark.parametrize(
    ("job", "count"),
    [("sql_pipeline.py", COUNT), pytest.param(TIMES, 1_000, marks=pytest.mark.torture)],
)
def test_driver_and_worker_are_killed(job: str, count: int, executor: str, tmp_path: Path) -> None:
    """The driver between the files and their commit, the worker of the run that follows."""
    die_and_resume(tmp_path, job, ["during-sink-commit:2"], executor, count)


@pytest.mark.torture
@pytest.mark.parametrize("place", TRAPS)
@pytest.mark.parametrize("at", [1, 2, 5])
@pytest.mark.parametrize("job", JOBS)
def test_killed_everywhere(job: str, place: str, at: int, executor: str, tmp_path: Path) -> None:
    die_and_resume(tmp_path, job, [f"{place}:{at}", f"{place}:{at + 1}"], executor)
