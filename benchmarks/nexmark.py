"""Nexmark's queries against Flink's JVM, both warm: the same statements over the same events."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from statistics import geometric_mean
from typing import Any

from bar import Data, Row, Section, table
from sql_engines import nexmark_seconds, rate_of

TITLE = "Nexmark"
GOAL, WORST = 2.5, 1.0
MILLION = 1_000_000
WARM_UP = 0.05
"""Share of the events of the run that warms the processes."""
EVENTS = {
    "q0": 90 * MILLION,
    "q1": 75 * MILLION,
    "q2": 200 * MILLION,
    "q3": 48 * MILLION,
    "q4": 9 * MILLION,
    "q5": 48 * MILLION,
    "q7": 12 * MILLION,
    "q8": 66 * MILLION,
    "q9": 7_800_000,
    "q10": 27 * MILLION,
    "q11": 24 * MILLION,
    "q12": 33 * MILLION,
    "q14": 39 * MILLION,
    "q15": 15 * MILLION,
    "q16": 2_600_000,
    "q17": 25_200_000,
    "q18": 12 * MILLION,
    "q19": 15 * MILLION,
    "q20": 8_400_000,
    "q21": 9 * MILLION,
    "q22": 22_800_000,
    "q23": 3_600_000,
}
"""As many as take Flink 18 to 65 seconds."""
ENGINES = ("flink", "resident")
TIMEOUT = 1800.0


def measure(quick: bool) -> Data:
    sizes = {name: _sizes(events, quick) for name, events in EVENTS.items()}
    runs: dict[str, dict[str, list[float] | str]] = {name: {} for name in sizes}
    for number, (name, each) in enumerate(sizes.items()):
        for engine in sorted(ENGINES, reverse=bool(number % 2)):
            runs[name][engine] = _seconds(name, each, engine)
            print(name, engine, runs[name][engine], file=sys.stderr, flush=True)
    return {"sizes": sizes, "runs": runs}


def _sizes(events: int, quick: bool) -> list[int]:
    events = events // 50 if quick else events
    return [int(events * WARM_UP), events // 3, events]


def _seconds(name: str, sizes: list[int], engine: str) -> list[float] | str:
    """Seconds of a third and of the whole of a query, in one process that has run the query before;
    or the reason of a failure."""
    seconds = nexmark_seconds(name, sizes, engine, TIMEOUT)
    return seconds if isinstance(seconds, str) else seconds[1:]


def section(data: Data) -> Section:
    rates = {
        name: {engine: rate_of(data["sizes"][name][1:], of[engine]) for engine in ENGINES}
        for name, of in data["runs"].items()
    }
    ratios = {
        name: of["resident"] / of["flink"]
        for name, of in rates.items()
        if of["resident"] is not None and of["flink"] is not None
    }
    failed = [
        f"{name} on {engine}: {seconds}"
        for name, of in data["runs"].items()
        for engine, seconds in of.items()
        if isinstance(seconds, str)
    ]
    text = (
        "Events per second, both warm: each engine runs a query in a process of its own, three "
        "times, with a twentieth, a third and all of the events, as many as take Flink 18 to 65 "
        "seconds; the rate is that from a third to all. Ours on Spark (`local[2]`), parallelism 2, "
        "with a checkpoint each two seconds; Flink with parallelism 2, heap state, object reuse "
        "and mini-batches, without checkpoints. `resident_nexmark` compares with the executor of "
        "epochs. Not measured: q6, which both refuse; q13, for "
        "which Flink's own runtime lacks a table that can be looked up."
        + (" Failed: " + "; ".join(failed) + "." if failed else "")
    )
    lines: list[list[Any]] = [
        [
            name,
            f"{data['sizes'][name][2] / MILLION:g}M",
            *(_shown(of[engine]) for engine in ENGINES),
            f"{ratios[name]:.2f}" if name in ratios else "",
        ]
        for name, of in rates.items()
    ]
    heads = ["query", "events", "Flink", "resident tasks", "ratio"]
    return Section(_rows(ratios, len(rates)), [text, table(heads, lines)])


def _rows(ratios: Mapping[str, float], queries: int) -> list[Row]:
    """The rows of the table, from the ratios of the queries that ran on both."""
    if not ratios:
        return [Row("Nexmark against Flink", f"{GOAL} times", "nothing", None)]
    is_whole = len(ratios) == queries
    mean = geometric_mean(ratios.values())
    worst = min(ratios, key=lambda name: ratios[name])
    return [
        Row(
            f"Nexmark, {len(ratios)} queries, geometric mean against Flink, both warm (goal)",
            f"{GOAL} times",
            f"{mean:.2f} times",
            is_whole and mean >= GOAL,
        ),
        Row(
            "Nexmark, slowest query against Flink, both warm (goal)",
            f"{WORST} times",
            f"{worst}: {ratios[worst]:.2f} times",
            is_whole and ratios[worst] >= WORST,
        ),
    ]


def _shown(rate: float | None) -> str:
    return "failed" if rate is None else f"{rate / MILLION:.2f}M"
