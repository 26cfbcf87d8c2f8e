"""How long after its end the rows of a window of SQL are seen, at 1,000 events a second."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, quantile
from job_process import run_ours

TITLE = "SQL latency"
BAR_MS = 300


def measure(quick: bool) -> Data:
    seconds, warm_up = (5, 4) if quick else (60, 10)
    data = run_ours("sql_top_windows.py", "--seconds", seconds, "--warm-up", warm_up)
    return {**data, "seconds": seconds}


def section(data: Data) -> Section:
    late = data["late_ms"]
    p99 = quantile(late, 0.99)
    row = Row(
        "SQL: filter into a window Top-N at 1,000 events/s, p99 after the end of a window",
        f"{BAR_MS} ms",
        f"{p99:.0f} ms (p50 {median(late):.0f} ms)",
        p99 <= BAR_MS,
    )
    text = (
        f"{len(late)} windows of a second, two subtasks, a durable checkpoint in every epoch; from "
        "the end of a window by the clock, which its events are stamped with, to its first row in "
        "`collect`: waiting for the next epoch counts."
    )
    return Section([row], [text])
