"""A chain of vectorised functions: ``map_batches`` against ``mapInArrow`` in plain Spark."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Vectorised functions"
BAR = 0.8
SIDES = {
    "millrace": "millrace, `map_batches` three times",
    "spark": "Spark, `mapInArrow` three times",
    "fused": "Spark, `mapInArrow` once, with all three functions in it",
}
SIZES = {
    "millrace": (10_000_000, 110_000_000),
    "spark": (3_000_000, 13_000_000),
    "fused": (3_000_000, 18_000_000),
}
ROUNDS = 3


def measure(quick: bool) -> Data:
    share = 10 if quick else 1
    seconds: dict[str, list[list[float]]] = {side: [] for side in SIDES}
    for _ in range(1 if quick else ROUNDS):
        for side, sizes in SIZES.items():
            runs = [run_ours("vectorised.py", side, size // share) for size in sizes]
            seconds[side].append([run["seconds"] for run in runs])
    return {"share": share, "seconds": seconds}


def _rates(side: str, data: Data) -> list[float]:
    small, large = SIZES[side]
    rows = (large - small) / data["share"]
    return [rows / (slow - quick) for quick, slow in data["seconds"][side] if slow > 1.25 * quick]


def section(data: Data) -> Section:
    rates = {side: _rates(side, data) for side in SIDES}
    if not all(rates.values()):
        return Section([Row("vectorised functions", f"{BAR} times", "too noisy for a rate", None)])
    middle = {side: median(found) for side, found in rates.items()}
    best = max(middle["spark"], middle["fused"])
    ratio = middle["millrace"] / best
    row = Row(
        "three vectorised functions over Parquet against `mapInArrow`",
        f"{BAR} times",
        f"{ratio:.1f} times ({middle['millrace'] / 1e6:.1f}M/s against {best / 1e6:.1f}M/s)",
        ratio >= BAR,
    )
    lines = [
        [
            title,
            " and ".join(f"{size // data['share']:,}" for size in SIZES[side]),
            "; ".join(f"{a:.1f}, {b:.1f}" for a, b in data["seconds"][side]),
            ", ".join(f"{rate / 1e6:.1f}M" for rate in rates[side]),
        ]
        for side, title in SIDES.items()
    ]
    header = ["engine", "rows", "seconds (small, large) per round", "rows/s"]
    text = (
        "Ours reads the files in the Python workers and keeps the columns there; Spark reads them "
        "in its JVM and sends each batch to Python and back for every `mapInArrow`."
    )
    return Section([row], [text, table(header, lines)])
