"""Invocations per second of functions of Flink's Python SDK in the workers."""

from __future__ import annotations

from bar import Data, Section
from statefun_counts_runs import MESSAGES, RUNS, measured, rated

TITLE = "Stateful Functions: embedded"
PER_SECOND = 60_000


def measure(quick: bool) -> Data:
    rounds, runs = ((5, 30), 1) if quick else ((20, 220), RUNS)
    return {"runs": [measured(rounds) for _ in range(runs)]}


def section(data: Data) -> Section:
    name = "embedded functions, an integer read and written and a message sent: invocations per s"
    text = (
        f"Two subtasks, default options, a checkpoint each second; {MESSAGES:,} messages go round "
        "among 1,000 addresses, at most 8 in a batch, half of them to the other subtask. Two jobs "
        "differ only in their number of rounds; the figure is of the difference, median of "
        f"{len(data['runs'])} runs."
    )
    return rated(data, name, PER_SECOND, text)
