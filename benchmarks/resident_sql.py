"""How long SQL takes on resident tasks: from the end of a window to its rows, and from an event to
the change that it makes."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, quantile, table
from job_process import run_ours

TITLE = "Resident tasks: SQL"
BARS: dict[str, tuple[str, dict[float, float]]] = {
    "top-n": ("SQL, filter into a window Top-N: time after the end of a window", {0.99: 30}),
    "group-by": ("SQL, GROUP BY: input to changelog", {0.5: 10, 0.99: 30}),
}
"""Names of queries, with the most milliseconds for each share of the rows."""
NAMES = {0.5: "p50", 0.99: "p99", 0.999: "p99.9"}


def measure(quick: bool) -> Data:
    pace = ("--seconds", 5 if quick else 60, "--warm-up", 5 if quick else 20)
    return {
        query: run_ours("resident_sql.py", "--query", query, *pace)["delays_ms"] for query in BARS
    }


def section(data: Data) -> Section:
    rows, lines = [], []
    for query, (name, limits) in BARS.items():
        delays = data[query]
        figures = {q: _point(delays, q) for q in limits}
        shares = " / ".join(NAMES[q] for q in limits)
        required = " / ".join(f"{limit:g}" for limit in limits.values())
        measured = " / ".join(f"{figure:.1f}" for figure in figures.values())
        reached = all(figures[q] <= limit for q, limit in limits.items())
        bar = f"resident tasks: {name}, {shares}"
        rows.append(Row(bar, f"{required} ms", f"{measured} ms", reached))
        points = [f"{_point(delays, q):.1f}" for q in (*NAMES, 1.0)]
        lines.append([name, f"{len(delays):,}", *points])
    text = (
        "1,000 events/s, parallelism 2, default options, a checkpoint each second, a sink that "
        "writes at once. The window Top-N has the three most frequent of 1,000 keys in windows of "
        "a second; the GROUP BY counts by 1,000 keys, and its time counts from when an event was "
        "due, so it includes any waiting of the source."
    )
    return Section(rows, [text, table(["ms", "rows", *NAMES.values(), "worst"], lines)])


def _point(delays: list[float], q: float) -> float:
    return median(delays) if q == 0.5 else quantile(delays, q)
