"""Algorithms on a large R-MAT graph, against GraphX and igraph."""

from __future__ import annotations

import sys
import tempfile
from math import exp, log
from pathlib import Path
from typing import Any

from bar import Data, Row, Section, table
from job_process import JOBS, MeasurementError, our_environment, run

TITLE = "Graphs: the library on an R-MAT graph"
SIDES = {"ours": "2g", "graphx": "10g", "igraph": "2g"}
"""Memory of the JVM of each side."""
NAMES = {
    "page_rank": "PageRank, 20 rounds",
    "components": "connected components",
    "labels": "label propagation, 5 rounds",
    "triangles": "triangles of each vertex",
}
LEAST_RATIO = 1.0
LEAST_MEAN = 2.0
MOST_MEMORY = 6.0
RUNS = 2
"""Runs of each algorithm in its process; the second one counts."""
TIMEOUT = 500.0
"""Seconds for all runs of an algorithm. A side that exceeds it needs at least its share for one."""
_TOO_LONG = f"took more than {TIMEOUT:.0f} s"


def measure(quick: bool) -> Data:
    scale, edges = (13, 60_000) if quick else (20, 8_000_000)
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as directory:
        environment = our_environment()
        graph = run([sys.executable, JOBS / "rmat.py", directory, scale, edges], environment)
        sides = {side: _run(Path(directory), side, quick) for side in SIDES}
    return {"graph": graph, "sides": sides}


def _run(directory: Path, side: str, quick: bool) -> dict[str, Any]:
    """Each algorithm in a process of its own, so that one that takes too long costs no other."""
    side_report: dict[str, Any] = {"seconds": {}, "results": {}, "failed": {}, "memory": 0}
    script = JOBS / "graph_algorithms.py"
    for name in NAMES:
        options: list[object] = ["--side", side, "--only", name, "--runs", RUNS]
        options += ["--memory", "1g" if quick else SIDES[side]]
        try:
            report = run([sys.executable, script, directory, *options], our_environment(), TIMEOUT)
        except MeasurementError as error:
            side_report["failed"][name] = str(error)
            if str(error).endswith(_TOO_LONG):
                side_report["seconds"][name] = TIMEOUT / RUNS
                side_report["failed"][name] = _TOO_LONG
            continue
        for part in ("seconds", "results", "failed"):
            side_report[part].update(report[part])
        side_report["memory"] = max(side_report["memory"], report["memory"])
        print(f"  {side}: {name} {report['seconds'].get(name, 0.0):.1f} s", flush=True)
    return side_report


def section(data: Data) -> Section:
    sides = data["sides"]
    ratios = {}
    lines = []
    for name, title in NAMES.items():
        seconds = {side: report["seconds"].get(name) for side, report in sides.items()}
        if seconds["ours"] and seconds["graphx"]:
            ratios[name] = seconds["graphx"] / seconds["ours"]
        cells = [_cell(seconds[side], sides[side], name) for side in SIDES]
        lines.append([title, *cells, f"{ratios[name]:.1f}" if name in ratios else ""])
    memory = {side: report["memory"] / 2**30 for side, report in sides.items()}
    lines.append(["memory of all processes", *(f"{memory[side]:.1f} GiB" for side in SIDES), ""])
    rows = [
        Row(
            f"graphs: {NAMES[name]}, against GraphX",
            f"{LEAST_RATIO:.0f} times as fast",
            f"{ratio:.1f} times",
            ratio >= LEAST_RATIO,
        )
        for name, ratio in ratios.items()
    ]
    rows.append(_mean(ratios))
    rows.append(
        Row(
            "graphs: memory of all processes",
            f"under {MOST_MEMORY:.0f} GiB",
            f"{memory['ours']:.1f} GiB",
            memory["ours"] < MOST_MEMORY,
        )
    )
    return Section(rows, [_text(data), table(["", *SIDES, "ratio"], lines)])


def _mean(ratios: dict[str, float]) -> Row:
    title = "graphs: geometric mean against GraphX"
    required = f"{LEAST_MEAN:.0f} times as fast"
    if len(ratios) < len(NAMES):
        return Row(title, required, f"only {len(ratios)} of {len(NAMES)} compared", None)
    mean = exp(sum(map(log, ratios.values())) / len(ratios))
    return Row(title, required, f"{mean:.1f} times", mean >= LEAST_MEAN)


def _cell(seconds: float | None, report: dict[str, Any], name: str) -> str:
    failure = report["failed"].get(name)
    if failure == _TOO_LONG and seconds is not None:
        return f"more than {seconds:.0f} s"
    if seconds is None:
        return "failed: " + (failure or "not run")[:60]
    return f"{seconds:.1f} s"


def _text(data: Data) -> str:
    results = {
        name: [data["sides"][side]["results"].get(name) for side in SIDES]
        for name in ("components", "triangles")
    }
    equal = all(len(set(numbers) - {None}) <= 1 for numbers in results.values())
    return (
        f"R-MAT, {data['graph']['vertices']:,} vertices, {data['graph']['edges']:,} edges, Spark "
        "`local[2]`; each time begins with the edges in a file of Parquet and ends with an "
        "aggregate of the result, in the second run of a process of its own. GraphX stands for "
        "GraphFrames, whose jar was not to be had: GraphFrames calls it for PageRank, label "
        "propagation and, if asked to, components; for triangles it has joins of "
        "DataFrames. igraph has one core, iterates PageRank and label propagation until they "
        "converge, and shares no graph among tasks. Numbers of components and triangles are "
        + ("equal" if equal else f"**not equal**: {results}")
        + " on all sides that ended."
    )
