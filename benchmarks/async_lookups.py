"""Whether asynchronous look-ups run side by side: 1,000 of 50 ms each."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section
from job_process import run_ours

TITLE = "Asynchronous look-ups"
BAR = 150.0


def measure(quick: bool) -> Data:
    return run_ours("async_lookups.py")


def section(data: Data) -> Section:
    middle = {name: median(times) for name, times in data.items()}
    worst = max(middle.values())
    row = Row(
        "1,000 concurrent look-ups of 50 ms each",
        "150 ms",
        f"{middle['ordered']:.0f} ms ordered, {middle['unordered']:.0f} ms unordered",
        worst <= BAR,
    )
    runs = "; ".join(f"{name}: {', '.join(map(str, times))}" for name, times in data.items())
    return Section([row], [f"Milliseconds, one operator in a harness. {runs}."])
