"""Nexmark's queries against Flink's JVM: the same statements over the same events, in one run."""

from __future__ import annotations

from math import exp, log
from typing import Any

from bar import Data, Row, Section, table
from nexmark_suite import QUERIES, tables
from sql_engines import compared, rate_of

TITLE = "Nexmark"
BAR, WORST = 3.0, 0.8
MILLION = 1_000_000
ROUNDS = 3
SMALL = 0.1
"""The first run of a query has this share of the events, so that start-up cancels out."""
EVENTS = {
    **dict.fromkeys(("q0", "q1", "q2", "q10", "q14", "q21", "q22"), 4 * MILLION),
    **dict.fromkeys(("q3", "q5", "q8", "q11", "q12", "q17", "q15"), 2 * MILLION),
    **dict.fromkeys(("q4", "q7", "q9", "q16", "q18", "q19", "q20", "q23"), 600_000),
}
"""As many as take Flink a few seconds."""


def measure(quick: bool) -> Data:
    sizes = {name: _sizes(EVENTS[name], quick) for name in QUERIES if _runs(name)}
    runs = {
        name: [(tables(size), QUERIES[name].text) for size in each] for name, each in sizes.items()
    }
    return {"sizes": sizes, **compared(runs, 1 if quick else ROUNDS)}


def _runs(name: str) -> bool:
    return name in EVENTS


def _sizes(events: int, quick: bool) -> list[int]:
    events = events // 50 if quick else events
    return [int(events * SMALL), events]


def section(data: Data) -> Section:
    lines: list[list[Any]] = []
    ratios = {}
    for name, sizes in data["sizes"].items():
        rates = [rate_of(sizes, data[engine][name]) for engine in ("ours", "flink")]
        ours, flink = rates
        if ours is not None and flink is not None:
            ratios[name] = ours / flink
        ratio = f"{ratios[name]:.2f}" if name in ratios else ""
        lines.append([name, *(_shown(rate) for rate in rates), ratio])
    failed = [
        f"{name} on {engine}: {data[engine][name]}"
        for name in data["sizes"]
        for engine in ("ours", "flink")
        if isinstance(data[engine][name], str)
    ]
    texts = [
        "Events per second, start-up taken off (a run with a tenth of the events); of "
        f"{ROUNDS} rounds, in which the engines take turns, the least time of each run. Ours with "
        "a checkpoint after every epoch of about 2 s; Flink with heap state, object reuse and "
        "mini-batches, without checkpoints. Not measured: q6, which both refuse; q13, for which "
        "Flink's own runtime lacks a table that can be looked up."
        + (" Failed: " + "; ".join(failed) + "." if failed else ""),
        table(["query", "ours", "Flink", "ratio"], lines),
    ]
    if not ratios:
        return Section([Row("Nexmark against Flink", f"{BAR:.0f} times", "nothing", None)], texts)
    mean = exp(sum(map(log, ratios.values())) / len(ratios))
    worst = min(ratios, key=lambda name: ratios[name])
    rows = [
        Row(
            f"Nexmark, {len(ratios)} queries, geometric mean against Flink",
            f"{BAR:.0f} times",
            f"{mean:.2f} times",
            mean >= BAR,
        ),
        Row(
            "Nexmark, slowest query against Flink",
            f"{WORST} times",
            f"{worst}: {ratios[worst]:.2f} times",
            ratios[worst] >= WORST,
        ),
    ]
    return Section(rows, texts)


def _shown(rate: float | None) -> str:
    return "failed" if rate is None else f"{rate / MILLION:.2f}M"
