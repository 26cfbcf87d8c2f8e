"""A keyed exchange of three columns from end to end: divide, encode, Spark's shuffle, decode."""

from __future__ import annotations

from typing import Any

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Columns through a keyed exchange"
BAR = 8_000_000
"""Rows per second of processor time."""
TARGETS = (2, 8, 32)
EPOCHS = 12


def measure(quick: bool) -> Data:
    runs = run_ours("columns_exchanged.py", 2 if quick else EPOCHS, *TARGETS, timeout=300)
    return {"runs": runs}


def _cpu(run: dict[str, Any]) -> float:
    """Without the just-in-time compiler, which is at work for the first minutes only."""
    return float(run["cpu"]["python"] + run["cpu"]["jvm"])


def section(data: Data) -> Section:
    runs = data["runs"]
    rates = {targets: run["rows"] / _cpu(run) for targets, run in runs.items()}
    row = Row(
        "keyed exchange of an int64 key, a float64 and a short text, 2 to 32 targets, per core",
        f"{BAR / 1e6:.0f}M rows/s",
        ", ".join(f"{rate / 1e6:.1f}M/s to {targets}" for targets, rate in rates.items()),
        min(rates.values()) >= BAR,
    )
    lines = [
        [
            targets,
            f"{run['rows'] / run['seconds'] / 1e6:.1f}M",
            *(f"{run['cpu'].get(part, 0) / run['rows'] * 1e9:.0f}" for part in _PARTS),
            f"{rates[targets] / 1e6:.1f}M",
        ]
        for targets, run in runs.items()
    ]
    header = ["targets", "rows/s", "ns/row in Python", "in the JVM", "compiler", "rows/s and core"]
    text = (
        "Epochs of 4 million rows, read, divided, shuffled and decoded, after the first three. "
        "A core is the processor time of driver, JVM and workers together, without that of the "
        "JVM's just-in-time compiler."
    )
    return Section([row], [text, table(header, lines)])


_PARTS = ("python", "jvm", "compiler")
