"""Processor time of a job that has nothing to do."""

from __future__ import annotations

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Resident tasks: an idle job"
EXECUTORS = ("resident", "epochs")
LIMIT = 0.02


def measure(quick: bool) -> Data:
    times = ("--seconds", 8, "--warm-up", 4) if quick else ("--seconds", 120, "--warm-up", 30)
    return {
        executor: run_ours("resident_idle.py", "--executor", executor, *times)
        for executor in EXECUTORS
    }


def section(data: Data) -> Section:
    share = data["resident"]["python"] / data["resident"]["seconds"]
    row = Row(
        "Python processes of an idle job",
        f"under {LIMIT:.0%} of a core",
        f"{share:.1%}",
        share < LIMIT,
    )
    lines = [
        [executor, *(f"{run[kind] / run['seconds']:.1%}" for kind in ("python", "jvm", "compiler"))]
        for executor, run in data.items()
    ]
    seconds = data["resident"]["seconds"]
    text = (
        f"Share of one core within {seconds:.0f} s: source without records, exchange, keyed state "
        "and sink at parallelism 2, default options. The driver and the workers are Python's; the "
        "source's readers do not know when they have records, and are polled."
    )
    return Section([row], [text, table(["executor", "Python", "JVM", "its compiler"], lines)])
