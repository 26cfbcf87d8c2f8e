"""How long a record takes from its source into a committed epoch, at 1,000 records a second."""

from __future__ import annotations

from statistics import median
from typing import Any

from bar import Data, Row, Section, quantile, summary, table
from job_process import run_ours

TITLE = "Latency"
BARS_MS = (150, 300)


def measure(quick: bool) -> Data:
    seconds = 5 if quick else 35
    warm_up = 4 if quick else 10
    data = run_ours("paced.py", "--seconds", seconds, "--warm-up", warm_up)
    return {**data, "seconds": seconds}


def section(data: Data) -> Section:
    due, stamp = data["since_due_ms"], data["since_stamp_ms"]
    p50, p99 = median(due), quantile(due, 0.99)
    row = Row(
        "latency at 1,000 records/s, p50 / p99",
        "150 / 300 ms",
        f"{p50:.0f} / {p99:.0f} ms",
        p50 <= BARS_MS[0] and p99 <= BARS_MS[1],
    )
    lines = [["since it was due", *_figures(due)], ["since the source made it", *_figures(stamp)]]
    text = (
        f"{len(due):,} records in {data['seconds']} s after a warm-up, parallelism 2, `key_by` and "
        "a keyed process function, a durable checkpoint in every epoch; seen in "
        "`execute_and_collect`. A record that falls due while an epoch runs is made by the next "
        "one; the verdict counts that waiting. Epochs: " + summary(data["epoch_ms"]) + "."
    )
    return Section([row], [text, table(["ms", "p50", "p90", "p99", "worst"], lines)])


def _figures(values: list[float]) -> list[Any]:
    points = [median(values), *(quantile(values, q) for q in (0.9, 0.99)), max(values)]
    return [f"{point:.0f}" for point in points]
