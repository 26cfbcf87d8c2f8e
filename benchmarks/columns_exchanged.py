"""A keyed exchange of three columns from end to end: divide, encode, Spark's shuffle, decode."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Columns through a keyed exchange"
BAR = 8_000_000
"""Rows per second and core."""
CORES = 2
TARGETS = (2, 8, 32)
SMALL, LARGE = 10_000_000, 110_000_000
ROUNDS = 3


def measure(quick: bool) -> Data:
    share = 10 if quick else 1
    seconds: dict[str, list[list[float]]] = {str(targets): [] for targets in TARGETS}
    for _ in range(1 if quick else ROUNDS):
        for targets in TARGETS:
            runs = [
                run_ours("columns_exchanged.py", rows // share, targets) for rows in (SMALL, LARGE)
            ]
            seconds[str(targets)].append([run["seconds"] for run in runs])
    return {"share": share, "seconds": seconds}


def _rates(rounds: list[list[float]], share: int) -> list[float]:
    """Rows per second and core, from the difference between the two sizes."""
    rows = (LARGE - SMALL) / share
    return [rows / (slow - quick) / CORES for quick, slow in rounds if slow > 1.25 * quick]


def section(data: Data) -> Section:
    share = data["share"]
    rates = {targets: _rates(rounds, share) for targets, rounds in data["seconds"].items()}
    if not all(rates.values()):
        return Section([Row("columns through a keyed exchange", "8M/s", "too noisy", None)])
    middle = {targets: median(found) for targets, found in rates.items()}
    slowest = min(middle.values())
    row = Row(
        "keyed exchange of an int64 key, a float64 and a short text, 2 to 32 targets, per core",
        f"{BAR / 1e6:.0f}M rows/s",
        ", ".join(f"{rate / 1e6:.1f}M/s to {targets}" for targets, rate in middle.items()),
        slowest >= BAR,
    )
    lines = [
        [
            targets,
            "; ".join(f"{a:.1f}, {b:.1f}" for a, b in data["seconds"][targets]),
            ", ".join(f"{rate / 1e6:.1f}M" for rate in found),
        ]
        for targets, found in rates.items()
    ]
    header = ["targets", f"seconds for {SMALL // share:,} and {LARGE // share:,} rows", "rows/s"]
    return Section([row], [table(header, lines)])
