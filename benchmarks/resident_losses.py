"""How soon records flow again when a worker, an executor or the driver is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import IO, Any

from bar import Data, Row, Section, table
from job_process import JOBS, LOGS, MeasurementError, end_group, our_environment, run_ours
from standalone_cluster import StandaloneCluster

TITLE = "Resident tasks: losses"
KEYS = 1_000_000
LIMIT_S = 3.0
PATIENCE = 600.0
BEFORE_KILL = 5.0
"""Seconds at the rate before the driver is killed."""


def measure(quick: bool) -> Data:
    keys, kills = (20_000, 2) if quick else (KEYS, 5)
    common = ("--keys", keys, "--kills", kills, "--between", 8 if quick else 15)
    data: Data = {"keys": keys}
    data["worker"] = run_ours("resident_losses.py", *common, "--kill", "worker", timeout=1800)
    with StandaloneCluster(hosts=2, cores=1) as cluster:
        place = ("--master", cluster.master, "--cores", 2)
        data["executor"] = run_ours(
            "resident_losses.py", *common, "--kill", "executor", *place, timeout=1800
        )
    data["driver"] = [_driver(keys) for _ in range(1 if quick else 3)]
    return data


def _driver(keys: int) -> Data:
    """Seconds from a driver's start to the first record, without and with a state to resume."""
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch:
        fresh, large = Path(scratch) / "fresh", Path(scratch) / "large"
        with _started(fresh, 1000) as (started, _):
            first = _first_write(fresh, started) - started
        with _started(large, keys) as (_, output):
            if not output.readline().startswith(b'{"loaded"'):
                raise MeasurementError("the state was not made (see resident_losses.log)")
            time.sleep(BEFORE_KILL)
        for path in (large / "times").iterdir():
            path.unlink()
        with _started(large, keys, "--resume") as (started, _):
            again = _first_write(large, started) - started
    return {"fresh": round(first, 3), "resumed": round(again, 3)}


@contextmanager
def _started(directory: Path, keys: int, *options: str) -> Iterator[tuple[float, IO[bytes]]]:
    """A driver, with the time of its start and its output. It is killed at the end."""
    directory.mkdir(exist_ok=True)
    command = [sys.executable, str(JOBS / "resident_losses.py"), "--endless", *options]
    command += ["--keys", str(keys), "--checkpoint-dir", str(directory)]
    LOGS.mkdir(parents=True, exist_ok=True)
    with (LOGS / "resident_losses.log").open("ab") as errors:
        started = time.time()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, env=our_environment(),
            start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            yield started, process.stdout
        finally:
            end_group(process)
            process.stdout.close()


def _first_write(directory: Path, started: float) -> float:
    while time.time() < started + PATIENCE:
        written = [path for path in directory.glob("times/*") if path.stat().st_size]
        if written:
            return time.time()
        time.sleep(0.01)
    raise MeasurementError(f"no record within {PATIENCE:.0f} s (see resident_losses.log)")


def section(data: Data) -> Section:
    keys = f"{data['keys']:,} keys"
    worker = [kill["back"] for kill in data["worker"]["kills"]]
    executor = [kill["back"] - kill["registered"] for kill in data["executor"]["kills"]]
    driver = [run["resumed"] - run["fresh"] for run in data["driver"]]
    rows = [
        _row(f"records flow again after a worker's death at {keys}", worker),
        _row("after an executor's death, from the registration of its replacement", executor),
        _row("after the driver's death, beyond the start of a job without state", driver),
    ]
    lines = [
        [name, len(times), *(f"{value:.2f}" for value in (min(times), median(times), max(times)))]
        for name, times in (
            ("worker: kill to records of all subtasks", worker),
            ("executor: kill to registration", [k["registered"] for k in _kills(data, "executor")]),
            ("executor: registration to records of all subtasks", executor),
            ("driver: start to first record, without state", [r["fresh"] for r in data["driver"]]),
            ("driver: start to first record, resumed", [r["resumed"] for r in data["driver"]]),
        )
    ]
    survivors = json.dumps([kill["survived"] for kill in _kills(data, "worker")])
    text = (
        "Keyed state of two subtasks in memory, 1,000 records/s, a checkpoint each second. Workers "
        "are killed on `local[2]`, executors on a standalone cluster of two hosts with a slot "
        f"each. The process of the other subtask survived a worker's death: {survivors}."
    )
    return Section(rows, [text, table(["s", "kills", "least", "median", "most"], lines)])


def _kills(data: Data, what: str) -> list[dict[str, Any]]:
    kills: list[dict[str, Any]] = data[what]["kills"]
    return kills


def _row(name: str, seconds: list[float]) -> Row:
    middle = median(seconds)
    return Row(name, f"{LIMIT_S:g} s", f"{middle:.1f} s", middle <= LIMIT_S)
