"""How long a message takes between two embedded functions on different subtasks."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, quantile, table
from job_process import run_ours

TITLE = "Stateful Functions: ping-pong"
P50_MS, P99_MS = 2.0, 8.0


def measure(quick: bool) -> Data:
    return run_ours("statefun_ping_pong.py", "--hops", 2_000 if quick else 50_000)


def section(data: Data) -> Section:
    delays = data["delays_ms"]
    p50, p99 = median(delays), quantile(delays, 0.99)
    row = Row(
        "ping-pong of two embedded functions on different subtasks, a hop, p50 / p99",
        f"{P50_MS:g} / {P99_MS:g} ms",
        f"{p50:.2f} / {p99:.2f} ms",
        p50 <= P50_MS and p99 <= P99_MS,
    )
    text = (
        "One message, two processes, default options, a checkpoint each second. The time counts "
        "from the send in one function to the beginning of the other's invocation."
    )
    line = [f"{len(delays):,}", f"{p50:.2f}", f"{p99:.2f}", f"{max(delays):.2f}"]
    return Section([row], [text, table(["hops", "p50 ms", "p99 ms", "worst ms"], [line])])
