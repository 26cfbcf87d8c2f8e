"""Runs of functions that count and send a message, of which two benchmarks take the medians."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bar import Data, Row, Section, table
from job_process import run_ours

RUNS = 3
MESSAGES = 8_000


def measured(rounds: tuple[int, int], *options: str) -> Data:
    """A run of our job."""
    return run_ours("statefun_counts.py", "--messages", MESSAGES, "--rounds", *rounds, *options)


def rate_of(runs: Sequence[Data]) -> float:
    """Median of the invocations per second."""
    return median(run["invocations"] / run["seconds"] for run in runs)


def rated(data: Data, name: str, bar: int, text: str) -> Section:
    """Invocations per second against the bar."""
    runs = data["runs"]
    rate = rate_of(runs)
    cpu = median(run["function_cpu_us"] for run in runs)
    row = Row(name, f"{bar:,}", f"{rate:,.0f}", rate >= bar)
    lines = [[f"{run['invocations']:,}", f"{run['few']:.2f}", f"{run['many']:.2f}"] for run in runs]
    details = [text, table(["invocations between", "s with few rounds", "s with many"], lines)]
    if cpu:
        details.append(f"The functions' process took {cpu:.0f} µs of a processor per invocation.")
    return Section([row], details)
