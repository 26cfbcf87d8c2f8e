"""Longest pause by checkpoints of functions with many addresses and a backlog."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, quantile, table
from job_process import run_ours

TITLE = "Stateful Functions: checkpoints"
PAUSE_MS = 200.0


def measure(quick: bool) -> Data:
    addresses, backlog, seconds = (20_000, 5_000, 5) if quick else (1_000_000, 100_000, 60)
    sizes = "--addresses", addresses, "--backlog", backlog
    run = run_ours("statefun_large.py", *sizes, "--seconds", seconds, timeout=1800)
    return {**run, "addresses": addresses, "backlog": backlog}


def section(data: Data) -> Section:
    delays = data["delays_ms"]
    worst = max(delays)
    row = Row(
        f"{data['addresses']:,} addresses with state, backlog of {data['backlog']:,}, a checkpoint "
        "each second: longest pause",
        f"{PAUSE_MS:g} ms",
        f"{worst:.0f} ms",
        worst <= PAUSE_MS,
    )
    text = (
        "Embedded functions, two subtasks. 1,000 messages/s to random addresses; the time counts "
        "from when a message was due until it is handled. The messages of the backlog wait for "
        "slow functions, which handle and send on about 2,000 of them a second."
    )
    points = [f"{median(delays):.1f}", f"{quantile(delays, 0.99):.1f}", f"{worst:.1f}"]
    line = [f"{len(delays):,}", data["checkpoints"], f"{data['seconds']:.0f}", *points]
    header = ["messages", "checkpoints", "seconds", "p50 ms", "p99 ms", "worst ms"]
    return Section([row], [text, table(header, [line])])
