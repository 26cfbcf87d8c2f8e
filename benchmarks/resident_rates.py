"""Rates of row jobs on resident tasks against the executor of epochs, in turns."""

from __future__ import annotations

import os
import sys
import tempfile
from statistics import median

from bar import Data, Row, Section, table
from job_process import BENCHMARKS, JOBS, our_environment, run

TITLE = "Resident tasks: rates against epochs"
SIZES = {"keyed_count": 8_000_000, "word_count": 1_000_000, "tumbling_window": 8_000_000}
PAIRS = 5
EXECUTORS = ("epochs", "resident")
LEAST_RATE = 1.15


def measure(quick: bool) -> Data:
    runs: dict[str, dict[str, list[Data]]] = {
        job: {executor: [] for executor in EXECUTORS} for job in SIZES
    }
    for number in range(1 if quick else PAIRS):
        for job, size in SIZES.items():
            for executor in sorted(EXECUTORS, reverse=bool(number % 2)):
                report = _run(job, size // 40 if quick else size, executor)
                runs[job][executor].append({**report, "load": os.getloadavg()[0]})
    return {"runs": runs}


def _run(job: str, size: int, executor: str) -> Data:
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch:
        command = [sys.executable, JOBS / "row_job.py", BENCHMARKS.parent, job, size]
        options = ["--executor", executor, "--checkpoint-dir", scratch]
        return run([*command, *options], our_environment())


def section(data: Data) -> Section:
    rows, lines = [], []
    for job, sides in data["runs"].items():
        name = job.replace("_", " ")
        pairs = list(zip(sides["epochs"], sides["resident"], strict=True))
        rate = median(one["seconds"] / other["seconds"] for one, other in pairs)
        required = f"{LEAST_RATE} times the epochs'"
        rows.append(Row(f"rate of the {name}", required, f"{rate:.2f} times", rate >= LEAST_RATE))
        lines += [_line(name, executor, runs) for executor, runs in sides.items()]
    header = ["job", "executor", "s", "records/s", "CPU s", "Python", "JVM", "epochs", "load"]
    count = len(next(iter(data["runs"].values()))["epochs"])
    text = (
        "Row jobs of `jobs/workload.py` on Spark (`local[2]`), a checkpoint each second: medians "
        f"of {count} alternating pairs, and of the ratios of each pair. A smaller run in the same "
        "application comes first and does not count. The start of the resident tasks does."
    )
    return Section(rows, [text, table(header, lines)])


def _line(name: str, executor: str, runs: list[Data]) -> list[str]:
    rate = median(run["records"] / run["seconds"] for run in runs)
    times = [f"{median(run[unit] for run in runs):.1f}" for unit in ("cpu", "python", "jvm")]
    loads = [run["load"] for run in runs]
    return [
        name, executor, f"{median(run['seconds'] for run in runs):.1f}", f"{rate:,.0f}", *times,
        f"{median(run['epochs'] for run in runs):.0f}", f"{min(loads):.1f} to {max(loads):.1f}",
    ]  # fmt: skip
