"""The row jobs against an earlier commit of this repository, so that speed cannot leak away unseen.

The commit is checked out into a temporary directory. Both take turns, each pair of runs in the
other order than the pair before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bar import Data, Row, Section, table
from job_process import BENCHMARKS, JOBS, MeasurementError, run

TITLE = "Row jobs against a pinned commit"
PINNED = "5c6706e5ee48d6466cd770072b7e31ed520efade"
"""The last commit before columns, connectors and SQL came."""
SIZES = {"keyed_count": 8_000_000, "word_count": 1_000_000}
PAIRS = 5
LEAST_RATE = 1.15
MOST_CPU = 0.87
REPOSITORY = BENCHMARKS.parent
UNITS = ("seconds", "cpu", "python", "jvm", "compiler")


def measure(quick: bool) -> Data:
    pairs = 1 if quick else PAIRS
    runs: dict[str, dict[str, list[Data]]] = {job: {"old": [], "new": []} for job in SIZES}
    with pinned_tree(PINNED) as tree:
        trees = {"old": tree, "new": REPOSITORY}
        for number in range(pairs):
            for job, size in SIZES.items():
                for side in sorted(trees, reverse=bool(number % 2)):
                    report = run_job(trees[side], job, size // 40 if quick else size)
                    runs[job][side].append({**report, "load": os.getloadavg()[0]})
    return {"pinned": PINNED[:8], "runs": runs}


@contextmanager
def pinned_tree(commit: str) -> Iterator[Path]:
    """A work tree of the commit.

    Raises:
        MeasurementError: this is no clone that has the commit.
    """
    with tempfile.TemporaryDirectory(prefix="millrace-pinned-") as scratch:
        tree = Path(scratch) / "tree"
        _git("worktree", "add", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*arguments: str) -> None:
    command = ["git", "-C", str(REPOSITORY), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MeasurementError(f"git {' '.join(arguments)}: {done.stderr.strip()}")


def run_job(tree: Path, job: str, size: int) -> Data:
    """Run a row job with the package of a work tree."""
    places = (tree / "src", tree / "benchmarks" / "jobs")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as scratch:
        command = [sys.executable, JOBS / "row_job.py", tree, job, size]
        return run([*command, "--checkpoint-dir", scratch], environment)


def section(data: Data) -> Section:
    rows, lines = [], []
    for job, sides in data["runs"].items():
        name, old, new = job.replace("_", " "), sides["old"], sides["new"]
        pairs = list(zip(old, new, strict=True))
        rate = median(one["seconds"] / other["seconds"] for one, other in pairs)
        cpu = median(other["cpu"] / one["cpu"] for one, other in pairs)
        quick, sparing = rate >= LEAST_RATE, cpu <= MOST_CPU
        rows += [
            Row(f"rate of the {name}", f"{LEAST_RATE} times", f"{rate:.2f} times", quick),
            Row(f"processor time of the {name}", f"{MOST_CPU} times", f"{cpu:.2f} times", sparing),
        ]
        lines += [_line(name, data["pinned"], old), _line(name, "this commit", new)]
    header = ["job", "commit", "s", "CPU s", "Python", "JVM", "its compiler", "ns of CPU", "load"]
    text = (
        f"Row jobs of `jobs/workload.py` on Spark (`local[2]`) against commit {data['pinned']}: "
        f"medians of {len(old)} alternating pairs, and of the ratios of each pair. Processor time "
        "includes the driver, the JVM and the workers; `ns of CPU` is per record. A smaller run in "
        "the same application comes first and does not count. The load is the machine's load "
        "average at the end of a run."
    )
    return Section(rows, [text, table(header, lines)])


def _line(name: str, commit: str, runs: list[Data]) -> list[str]:
    figures = [f"{median(run[unit] for run in runs):.1f}" for unit in UNITS]
    each = median(run["cpu"] / run["records"] for run in runs) * 1e9
    loads = [run["load"] for run in runs]
    return [name, commit, *figures, f"{each:.0f}", f"{min(loads):.1f} to {max(loads):.1f}"]
