"""Runs of functions that count and send a message, of which two benchmarks take the medians."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, table
from job_process import run_ours

RUNS = 3
MESSAGES = 8_000


def measured(rounds: tuple[int, int], runs: int, *options: str) -> Data:
    """Runs of a job, after each other."""
    arguments = "--messages", MESSAGES, "--rounds", *rounds, *options
    return {"runs": [run_ours("statefun_counts.py", *arguments) for _ in range(runs)]}


def rated(data: Data, name: str, bar: int, text: str) -> Section:
    """Invocations per second against the bar."""
    runs = data["runs"]
    rate = median(run["invocations"] / run["seconds"] for run in runs)
    cpu = median(run["function_cpu_us"] for run in runs)
    row = Row(name, f"{bar:,}", f"{rate:,.0f}", rate >= bar)
    lines = [[f"{run['invocations']:,}", f"{run['few']:.2f}", f"{run['many']:.2f}"] for run in runs]
    details = [text, table(["invocations between", "s with few rounds", "s with many"], lines)]
    if cpu:
        details.append(f"The functions' process took {cpu:.0f} µs of a processor per invocation.")
    return Section([row], details)
