"""A loop with 200,000 records under way: how many hops a second, and whether the driver's memory
stays flat."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section
from job_process import run_ours

TITLE = "Loops"
HOPS_PER_SECOND = 300_000
GROWTH = 0.05
SETTLED = 10
"""Epochs until the driver's memory is what it stays."""


def measure(quick: bool) -> Data:
    records, rounds = (20_000, 30) if quick else (200_000, 100)
    data = run_ours("circling.py", "--records", records, "--rounds", rounds)
    return {"records": records, **data}


def section(data: Data) -> Section:
    hops = data["records"] / median(data["seconds"])
    settled = data["driver"][SETTLED:]
    third = max(1, len(settled) // 3)
    growth = median(settled[-third:]) / median(settled[:third]) - 1
    title = f"loop with {data['records']:,} records under way on 2 cores"
    rows = [
        Row(
            f"{title}, hops per second",
            f"{HOPS_PER_SECOND:,}",
            f"{hops:,.0f}",
            hops >= HOPS_PER_SECOND,
        ),
        Row(
            f"{title}, growth of the driver's Python memory",
            f"under {GROWTH:.0%}",
            f"{growth:+.1%}",
            growth < GROWTH,
        ),
    ]
    text = (
        "A hop is a keyed exchange, a function and a filter; every round is an epoch. Growth: the "
        "last third of the epochs against the first."
    )
    return Section(rows, [text])
