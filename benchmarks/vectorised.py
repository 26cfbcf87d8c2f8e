"""A chain of vectorised functions: ``map_batches`` against ``mapInArrow`` in plain Spark."""

from __future__ import annotations

from statistics import median
from typing import Any

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Vectorised functions"
BAR = 0.8
SIDES = {"millrace": "millrace, `map_batches`", "spark": "Spark, `mapInArrow`"}
SIZES = (5_000_000, 25_000_000)
ROUNDS = 3


def measure(quick: bool) -> Data:
    sizes = tuple(size // 10 for size in SIZES) if quick else SIZES
    rates: dict[str, list[float]] = {side: [] for side in SIDES}
    for _ in range(1 if quick else ROUNDS):
        for side in SIDES:
            small, large = (run_ours("vectorised.py", side, size) for size in sizes)
            rates[side].append(_rate(small, large))
    return {"sizes": sizes, "rates": rates}


def _rate(small: dict[str, Any], large: dict[str, Any]) -> float:
    seconds = max(large["seconds"] - small["seconds"], 1e-3)
    return float(large["records"] - small["records"]) / seconds


def section(data: Data) -> Section:
    middle = {side: median(rates) for side, rates in data["rates"].items()}
    ratio = middle["millrace"] / middle["spark"]
    row = Row(
        "three vectorised functions over Parquet against `mapInArrow`",
        f"{BAR} times",
        f"{ratio:.2f} times ({middle['millrace'] / 1e6:.1f}M/s against "
        f"{middle['spark'] / 1e6:.1f}M/s)",
        ratio >= BAR,
    )
    lines = [
        [title, ", ".join(f"{rate / 1e6:.1f}M" for rate in data["rates"][side])]
        for side, title in SIDES.items()
    ]
    sizes = " and ".join(f"{size:,}" for size in data["sizes"])
    return Section([row], [f"Rows: {sizes}.", table(["engine", "rows/s per round"], lines)])
