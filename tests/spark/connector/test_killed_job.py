"""kill -9 of a job from Spark's stream into a Delta table: the table equals the reference."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

import millrace

pytestmark = [pytest.mark.spark, pytest.mark.fault]

JOB = Path(__file__).parent / "spark_job.py"
ROWS = 100
PATIENCE = 240
TRAPS = (
    "after-table:2",
    "after-metadata:2",
    "before-table:1",
    "during-metadata:2",
    "before-sink-commit:2",
    "after-table:1",
    "after-acks:3",
    "after-table:3",
    "after-deltas:2",
    "before-table:2",
)
"""Where the driver dies, one life after the other."""


def start(root: Path, batches: int, trap: str) -> subprocess.Popen[bytes]:
    sources = str(Path(millrace.__file__).parent.parent)
    environment = {
        **os.environ,
        "MILLRACE_CRASH": trap,
        "XDG_STATE_HOME": str(root / "state"),
        "PYTHONPATH": sources,
    }
    words = ["-m", "millrace.cli.main", "run", "--resume", JOB, root, str(batches)]
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=(root / "driver.log").open("ab"),
    )


def results(root: Path) -> Counter[tuple[int, int]]:
    try:
        rows = DeltaTable(root / "table").to_pyarrow_table().to_pylist()
    except TableNotFoundError:
        return Counter()
    return Counter((row["key"], row["count"]) for row in rows)


def live(root: Path, batches: int, trap: str, done: Callable[[], bool]) -> None:
    """One life of the driver, which ends at the trap, or is ended when the job is done."""
    driver = start(root, batches, trap)
    children: list[psutil.Process] = []
    deadline = time.monotonic() + PATIENCE
    try:
        while driver.poll() is None and time.monotonic() < deadline and not done():
            with suppress(psutil.NoSuchProcess):
                children = psutil.Process(driver.pid).children(recursive=True)
            time.sleep(0.2)
        assert trap or done(), (root / "driver.log").read_text()
        assert not trap or driver.poll() == -signal.SIGKILL, (root / "driver.log").read_text()
    finally:
        driver.kill()
        driver.wait()
        for child in children:  # the JVM may still be on its way out
            with suppress(psutil.NoSuchProcess):
                child.kill()


def die_and_resume(root: Path, traps: tuple[str, ...], of_a_life: int = 6) -> None:
    batches = of_a_life * (len(traps) + 1)
    expected = Counter(
        {(key, count): 1 for key in range(10) for count in range(1, batches * ROWS // 10 + 1)}
    )
    for trap in traps:
        live(root, batches, trap, lambda: False)
    live(root, batches, "", lambda: len(results(root)) >= len(expected))
    assert results(root) == expected


@pytest.mark.torture
def test_killed(tmp_path: Path) -> None:
    """Between the table's commit and its note: the most tempting moment to write twice."""
    die_and_resume(tmp_path, TRAPS[:1], of_a_life=3)


@pytest.mark.torture
def test_killed_ten_times(tmp_path: Path) -> None:
    die_and_resume(tmp_path, TRAPS)
