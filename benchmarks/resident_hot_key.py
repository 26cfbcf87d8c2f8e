"""Whether a slow operator with a hot key holds up barriers, checkpoints and the end of a job."""

from __future__ import annotations

from statistics import median
from typing import Any

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Resident tasks: a slow operator with a hot key"
LIMIT_S = 2.0


def measure(quick: bool) -> Data:
    return run_ours("resident_hot_key.py", "--seconds", 8 if quick else 60)


def section(data: Data) -> Section:
    seconds: dict[str, list[float]] = {
        "barrier": [ms / 1000 for ms in data["barrier_ms"]],
        "checkpoint": [*(ms / 1000 for ms in data["checkpoint_ms"]), data["checkpoint_s"]],
        "savepoint": [data["savepoint_s"]],
        "stop with savepoint": [data["stop_s"]],
    }
    rows = [
        Row(
            f"{name} behind an operator of 10 ms a record, 90 % of 1,000 records/s on one key",
            f"under {LIMIT_S:g} s",
            f"{max(times):.2f} s at most",
            max(times) < LIMIT_S,
        )
        for name, times in seconds.items()
        if name != "savepoint"
    ]
    lines: list[list[Any]] = [
        [name, len(times), f"{median(times):.2f}", f"{max(times):.2f}"]
        for name, times in seconds.items()
    ]
    text = (
        "Parallelism 2, a checkpoint each second, default options. A barrier's time is from its "
        "start to the last acknowledgement; that of the others is from the request, or the "
        f"trigger, to the end. The job read {data['records']:,} records."
    )
    return Section(rows, [text, table(["s", "number", "median", "worst"], lines)])
