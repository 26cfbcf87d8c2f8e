"""Queries and a row job against the commit before values, formats and functions were checked.

Checks of values and of lengths run for every batch; this is what they may cost. Both commits take
turns, each pair of runs in the other order than the pair before.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bar import Data, Row, Section, table
from job_process import JOBS, run
from nexmark_suite import QUERIES, tables
from pinned_commit import REPOSITORY, pinned_tree, run_job
from sql_engines import rate_of

TITLE = "Queries against a pinned commit"
PINNED = "80d11b3f3eaf28aec6d266ee19f2ed761aa778fd"
"""The last commit before each kernel, cast and format was checked."""
MILLION = 1_000_000
EVENTS = {"q5": 2 * MILLION, "q17": 2 * MILLION, "q21": 4 * MILLION}
SMALL = 0.1
"""A first run has this share of the events, so that start-up cancels out."""
WARM_UP = 10_000
JOB, RECORDS = "keyed_count", 8 * MILLION
PAIRS = 3
LEAST_RATE = 0.97


def measure(quick: bool) -> Data:
    sizes = {name: _sizes(events, quick) for name, events in EVENTS.items()}
    records = RECORDS // 40 if quick else RECORDS
    rates: dict[str, dict[str, list[float]]] = {"old": {}, "new": {}}
    with pinned_tree(PINNED) as old, _runs(sizes) as runs:
        trees = {"old": old, "new": REPOSITORY}
        for number in range(1 if quick else PAIRS):
            for side in sorted(trees, reverse=bool(number % 2)):
                report = _run_queries(trees[side], runs, is_new=side == "new")
                found = {name: rate_of(sizes[name], report[name]) for name in EVENTS}
                found[JOB] = records / run_job(trees[side], JOB, records)["seconds"]
                for name, rate in found.items():
                    if rate is not None:
                        rates[side].setdefault(name, []).append(rate)
    return {"pinned": PINNED[:8], "rates": rates}


def _sizes(events: int, quick: bool) -> list[int]:
    events = events // 50 if quick else events
    return [int(events * SMALL), events]


@contextmanager
def _runs(sizes: dict[str, list[int]]) -> Iterator[Path]:
    """The file that ``sql_runs.py`` reads."""
    runs = {"warm-up": [(tables(WARM_UP), QUERIES["q0"].text)]}
    for name, each in sizes.items():
        runs[name] = [(tables(size), QUERIES[name].text) for size in each]
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch:
        file = Path(scratch) / "runs.json"
        file.write_text(json.dumps(runs), encoding="utf-8")
        yield file


def _run_queries(tree: Path, runs: Path, is_new: bool) -> Data:
    """The seconds of each query with the package of a work tree, on epochs: the pinned commit has
    no other executor, and no name for it."""
    jobs = tree / "benchmarks" / "jobs"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (tree / "src", jobs)))}
    script = JOBS / "sql_runs.py" if is_new else jobs / "sql_runs.py"
    executor = ["--executor", "epochs", "--every-epoch"] if is_new else []
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch:
        command = [sys.executable, script, runs, "--checkpoint-dir", scratch, *executor]
        return run(command, environment)


def section(data: Data) -> Section:
    old, new = data["rates"]["old"], data["rates"]["new"]
    rows, lines = [], []
    for name in (*EVENTS, JOB):
        text = name.replace("_", " ")
        if not old.get(name) or not new.get(name):
            rows.append(Row(f"rate of {text}", f"{LEAST_RATE} times", "it failed", None))
            continue
        ratio = median(one / other for one, other in zip(new[name], old[name], strict=False))
        rows.append(
            Row(f"rate of {text}", f"{LEAST_RATE} times", f"{ratio:.2f} times", ratio >= LEAST_RATE)
        )
        rates = [f"{median(side[name]):,.0f}" for side in (old, new)]
        lines.append([text, *rates, f"{ratio:.2f}"])
    said = (
        "Nexmark's queries and the keyed count of `jobs/workload.py` on epochs (`local[2]`) "
        f"against commit {data['pinned']}, which checked neither values nor lengths of columns: "
        "records per second without start-up, medians of alternating runs, and of the ratios of "
        "each pair."
    )
    return Section(rows, [said, table(["query", data["pinned"], "this commit", "ratio"], lines)])
