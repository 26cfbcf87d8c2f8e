"""How long a record takes through resident tasks: to a sink that writes at once, and until it is
visible in a committed file."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, quantile, table
from job_process import run_ours

TITLE = "Resident tasks: latency"
AT_ONCE = "to a sink that writes at once, a checkpoint each second"
COMMITTED = "until visible in a file, exactly once, a commit each 20 ms"
COMMIT_MS = 20
BARS: dict[str, dict[float, float]] = {
    AT_ONCE: {0.5: 3, 0.99: 10, 0.999: 25},
    COMMITTED: {0.5: 25, 0.99: 50},
}
"""Most milliseconds of each share of the records."""
NAMES = {0.5: "p50", 0.99: "p99", 0.999: "p99.9"}


def measure(quick: bool) -> Data:
    pace = ("--seconds", 5 if quick else 60, "--warm-up", 5 if quick else 20)
    return {
        AT_ONCE: run_ours("resident_paced.py", *pace)["delays_ms"],
        COMMITTED: run_ours("resident_paced.py", *pace, "--commit-ms", COMMIT_MS)["delays_ms"],
    }


def section(data: Data) -> Section:
    rows, lines = [], []
    for name, limits in BARS.items():
        delays = data[name]
        figures = {q: _point(delays, q) for q in limits}
        shares = " / ".join(NAMES[q] for q in limits)
        required = " / ".join(f"{limit:g}" for limit in limits.values())
        measured = " / ".join(f"{figure:.1f}" for figure in figures.values())
        reached = all(figures[q] <= limit for q, limit in limits.items())
        rows.append(Row(f"{name}, {shares}", f"{required} ms", f"{measured} ms", reached))
        points = [f"{_point(delays, q):.1f}" for q in (*NAMES, 1.0)]
        lines.append([name, f"{len(delays):,}", *points])
    text = (
        "1,000 records/s, parallelism 2, `key_by` and a keyed process function over 1,000 keys, "
        "default options. The time counts from when a record was due, so it includes any waiting "
        "of the source. A reader that looks into the directory each 2 ms sees a committed file."
    )
    return Section(rows, [text, table(["ms", "records", *NAMES.values(), "worst"], lines)])


def _point(delays: list[float], q: float) -> float:
    return median(delays) if q == 0.5 else quantile(delays, q)
