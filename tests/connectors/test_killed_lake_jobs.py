"""Numbers to keyed state to tables of Delta Lake and Iceberg: each result is there once, wherever
the driver is killed."""

from __future__ import annotations

import random
import signal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from killed_job import KilledJob, executors_at_length
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError
from resumed_job import lasting

from .lake_job import WORDS, catalog

CRASH_POINTS = (
    "after-acks",
    "during-metadata",
    "after-metadata",
    "before-sink-commit",
    "before-table-commit",
    "after-table-commit",
)

pytestmark = pytest.mark.fault
both = pytest.mark.parametrize("kind", ["delta", "iceberg"])


class LakeJob(KilledJob):
    """The job of `lake_job`, in one process after the other, each killed somewhere."""

    script = Path(__file__).parent / "lake_job.py"
    poll_s = 0.1

    def __init__(self, directory: Path, numbers: int, kind: str) -> None:
        super().__init__(directory)
        self.numbers = numbers
        self.kind = kind

    def arguments(self) -> list[str]:
        return [str(self.numbers), str(self.directory), self.kind]

    def rows(self, name: str) -> list[tuple[str, int]]:
        """What readers see of a table."""
        found: Any
        try:
            if self.kind == "delta":
                found = DeltaTable(self.directory / "tables" / name).to_pyarrow_table()
            else:
                tables = load_catalog(**catalog(self.directory))
                found = tables.load_table(f"shop.{name}").scan().to_arrow()
        except (TableNotFoundError, NoSuchTableError):
            return []
        return sorted((row["word"], row["n"]) for row in found.to_pylist())

    def results(self) -> int:
        return len(self.rows("log"))

    def die(self, trap: str) -> None:
        assert self.run(trap) == -signal.SIGKILL, self.log

    def check(self) -> None:
        """Finish, and look at the results."""
        assert self.run() == 0, self.log
        expected = [(f"word-{i % WORDS}", i // WORDS + 1) for i in range(self.numbers)]
        assert self.rows("log") == sorted(expected)
        assert self.rows("counts") == sorted(dict(expected).items())


@pytest.mark.turns(7)
@executors_at_length
@both
def test_killed_around_commits(kind: str, executor: str, tmp_path: Path) -> None:
    """The two tables take turns, so both are caught before and after their commits."""
    traps = ("before-table-commit:2", "after-table-commit:1", "after-table-commit:5")
    count = {"epochs": 1_600, "resident": lasting(traps)}[executor]
    job = LakeJob(tmp_path, count, kind)
    job.executor = executor
    for trap in traps:
        job.die(trap)
    seen = job.results()
    assert 0 < seen < count, "the job has died in its midst"
    job.check()


@pytest.mark.torture
@both
@pytest.mark.parametrize("seed", range(2))
def test_ten_deaths(seed: int, kind: str, tmp_path: Path) -> None:
    """At chosen places and at any time."""
    rng, job = random.Random(seed), LakeJob(tmp_path, 8_000, kind)
    for death in range(10):
        if death % 2 == 0:
            job.die(f"{rng.choice(CRASH_POINTS)}:{rng.randint(1, 6)}")
            continue
        driver = job.start()
        job.wait_for(driver, job.results() + rng.randint(1, 400))
        assert driver.poll() is None, job.log
        driver.kill()
        driver.wait()
    job.check()
