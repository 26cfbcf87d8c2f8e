"""Graph streams: components of edges that are added, and removed again, and shortest paths."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, quantile, table
from job_process import run_ours

TITLE = "Graph streams"
SIZES = {"components": 3_000_000, "mixed": 1_000_000, "paths": 1_000_000}
RATES = {"components": 100_000, "mixed": 20_000}
"""Least changes per second."""
LONGEST_MS = 100
NAMES = {
    "components": "graph stream: components, additions only",
    "mixed": "graph stream: components, a tenth removed again",
    "paths": "graph stream: shortest paths, median delay of a change",
}


def measure(quick: bool) -> Data:
    return {
        job: run_ours("graph_stream.py", "--job", job, "--edges", size // 50 if quick else size)
        for job, size in SIZES.items()
    }


def section(data: Data) -> Section:
    rows, lines = [], []
    for job, least in RATES.items():
        found = data[job]
        rate = found["edges"] / found["seconds"]
        rows.append(Row(NAMES[job], f"{least:,} changes/s", f"{rate:,.0f}", rate >= least))
        lines.append([job, f"{found['edges']:,}", f"{found['seconds']:.1f}", f"{found['rows']:,}"])
    delays = data["paths"]["delays"]
    middle = median(delays)
    rows.append(Row(NAMES["paths"], f"{LONGEST_MS} ms", f"{middle:.1f} ms", middle <= LONGEST_MS))
    text = (
        "R-MAT edges among about 100,000 vertices on resident tasks (`local[2]`), parallelism 2, a "
        "checkpoint each second, as fast as they go; the start of the tasks counts. One generator "
        "makes the edges: in columns if they are only added, else as rows. Shortest paths: the "
        "last 1,000 of further edges, 10 ms apart, in a graph of "
        f"{data['paths']['edges']:,}; the time from the edge to the new distance at a sink, p99 "
        f"{quantile(delays, 0.99):.1f} ms."
    )
    return Section(rows, [text, table(["job", "changes", "s", "rows of results"], lines)])
