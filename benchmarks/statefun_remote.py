"""Invocations per second of functions of Flink's Python SDK behind HTTP on loopback."""

from __future__ import annotations

from bar import Data, Section
from statefun_counts_runs import MESSAGES, RUNS, measured, rated

TITLE = "Stateful Functions: remote"
PER_SECOND = 10_000


def measure(quick: bool) -> Data:
    return measured((3, 10) if quick else (10, 50), 1 if quick else RUNS, "--remote")


def section(data: Data) -> Section:
    name = "remote functions, 1,000 addresses, at most 8 messages in a batch: invocations per s"
    text = (
        f"As the embedded ones: {MESSAGES:,} messages go round among 1,000 addresses, on two "
        "subtasks. The functions are in a third process on the same processors, behind a server of "
        "asyncio and httptools."
    )
    return rated(data, name, PER_SECOND, text)
