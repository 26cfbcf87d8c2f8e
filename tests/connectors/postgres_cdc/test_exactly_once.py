"""A table is rebuilt exactly from what was read and what changed, whatever dies meanwhile."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from captured_database import CapturedDatabase, Churn, RebuiltTable
from killed_job import KilledJob, executors, executors_at_length, kill_a_worker

from millrace.common import RowKind

HERE = Path(__file__).parent

pytestmark = pytest.mark.fault


class Capture(KilledJob):
    """The job of `cdc_job`, in one process after the other, while the table changes."""

    script = HERE / "cdc_job.py"
    patience_s = 300.0
    poll_s = 0.5

    def __init__(
        self,
        database: CapturedDatabase,
        directory: Path,
        rows: int,
        where: str,
        pause: float = 0.002,
    ) -> None:
        super().__init__(directory)
        self.database = database
        self.where = where
        database.run("create table t (id int primary key, name text, amount numeric)")
        database.run("alter table t replica identity full")
        database.run(f"insert into t select i, 'first', 1 from generate_series(1, {rows}) i")
        self._ids = 2 * rows
        self.changes = 0
        """Committed so far."""
        self.before_snapshot: int | None = None
        """How many of them there were when the slot was first seen: no chunk has been read yet, or
        only just. None: it was not seen."""
        self.before_stream: int | None = None
        """Likewise when the log was first seen to be read: all chunks have been read."""
        self._pause = pause
        """Seconds between transactions."""
        self._until = "stream"
        self._drivers: list[subprocess.Popen[bytes]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._change)

    def _change(self) -> None:
        """Goes on when the server is back."""
        seed = 0
        while not self._stop.is_set():
            seed += 1
            try:
                churn = Churn(self.database, "t", seed, self._ids, few="id %% 20 = 7")
                watched = self.database.connect()
                counted = 0
                try:
                    while not self._stop.is_set():
                        churn.transaction()
                        self.changes += churn.changes - counted
                        counted = churn.changes
                        self._watch(watched)
                        time.sleep(self._pause)
                finally:
                    watched.close()
                    churn.close()
            except psycopg.OperationalError:
                time.sleep(0.05)

    def _watch(self, sql: psycopg.Connection[Any]) -> None:
        if self.before_stream is not None:
            return
        query = "select active from pg_replication_slots where slot_name = %s"
        slot = sql.execute(query, (self.database.slot,)).fetchone()
        if slot is not None and self.before_snapshot is None:
            self.before_snapshot = self.changes
        if slot is not None and slot[0]:
            self.before_stream = self.changes

    @property
    def captured_changes(self) -> int:
        """How many changes were made after the slot had been seen."""
        return 0 if self.before_snapshot is None else self.changes - self.before_snapshot

    def __enter__(self) -> Capture:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_changing()
        for driver in self._drivers:
            driver.kill()
            driver.wait()

    def stop_changing(self) -> None:
        self._stop.set()
        self._thread.join()

    def arguments(self) -> list[str]:
        url = self.database.server.url(self.database.name)
        return [url, self.database.slot, str(self.directory), self.where, self._until]

    def results(self) -> int:
        return sum(1 for _ in self.lines())

    def start(self, trap: str = "") -> subprocess.Popen[bytes]:
        driver = super().start(trap)
        self._drivers.append(driver)
        return driver

    def run_on(self, more: int = 1) -> subprocess.Popen[bytes]:
        """A driver that has written so many more lines, and runs on."""
        driver = self.start()
        self.wait_for(driver, self.results() + more)
        assert driver.poll() is None, self.log
        return driver

    def lines(self) -> Iterator[list[object]]:
        """What readers of the directory see."""
        for path in (self.directory / "changes").glob("part-*"):
            yield from map(json.loads, path.read_text().splitlines())

    def check(self) -> int:
        """Read the rest; the table must be the same. How many changes there were."""
        self.stop_changing()
        self._until = "end"
        assert self.run() == 0, self.log
        found = sorted(self.lines(), key=lambda line: (line[2][0], line[0]))  # type: ignore[index]
        table, numbers = RebuiltTable(), dict[int, int]()
        for number, kind, (key, name, amount) in found:  # type: ignore[misc]
            numbers[key] = numbers.get(key, 0) + 1
            assert number == numbers[key], f"{key}: change {number} comes as {numbers[key]}"
            table.apply(RowKind(kind), (key, name, Decimal(amount)))
        rows = self.database.connect().execute("select * from t").fetchall()
        assert sorted(table.rows.values()) == sorted(rows)
        return len(found)


@pytest.mark.turns(7)
@executors_at_length
def test_driver_and_server_are_killed(
    executor: str, database: CapturedDatabase, tmp_path: Path
) -> None:
    with Capture(database, tmp_path, 2_000, "local") as job:
        job.executor = executor
        assert job.run("after-metadata:1") == -signal.SIGKILL, job.log
        assert job.run("during-metadata:3") == -signal.SIGKILL, job.log
        driver = job.run_on()
        database.server.restart()
        time.sleep(1.0)
        assert driver.poll() is None, job.log
        driver.kill()
        driver.wait()
        assert job.check() > 2_000


@pytest.mark.torture
@pytest.mark.spark
@executors
def test_drivers_and_workers_are_killed_on_spark(
    executor: str, database: CapturedDatabase, tmp_path: Path
) -> None:
    rng = random.Random(1)
    with Capture(database, tmp_path, 2_000, "spark") as job:
        job.executor = executor
        driver = job.run_on()
        kill_a_worker(driver, rng)
        time.sleep(1.0)
        assert driver.poll() is None, job.log
        driver.kill()
        driver.wait()
        assert job.check() > 2_000


@pytest.mark.torture
@executors
@pytest.mark.parametrize("where", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_100_000_changes(
    database: CapturedDatabase, tmp_path: Path, where: str, executor: str
) -> None:
    rng = random.Random(7)
    points = ("after-acks", "during-metadata", "after-metadata")
    with Capture(database, tmp_path, 20_000, where) as job:
        job.executor = executor
        for round_ in range(20):
            if round_ % 3 == 0:
                assert job.run(f"{rng.choice(points)}:{rng.randint(1, 6)}") == -signal.SIGKILL, (
                    job.log
                )
                continue
            driver = job.run_on(rng.randint(1, 3_000))
            if round_ % 3 == 1:
                database.server.restart()
            elif where == "spark":
                kill_a_worker(driver, rng)
            time.sleep(1.0)
            assert driver.poll() is None, job.log
            driver.kill()
            driver.wait()
        while job.captured_changes < 100_000:
            job.run_on(20_000).kill()
        lines = job.check()  # that the table is rebuilt exactly
        assert job.captured_changes >= 100_000, "all of them made after the snapshot had begun"
        assert job.before_snapshot is not None
        assert job.before_stream is not None
        assert job.before_stream - job.before_snapshot > 100, "some of them while it was read"
        assert job.changes - job.before_stream > 50_000, "most of them after that"
        assert lines > job.captured_changes, "an update is two lines, and rows were there before"
