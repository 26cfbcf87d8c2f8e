"""Nexmark on resident tasks against the executor of epochs, in turns."""

from __future__ import annotations

import sys
from statistics import geometric_mean

from bar import Data, Row, Section, table
from nexmark_suite import QUERIES
from sql_engines import nexmark_seconds, rate_of

TITLE = "Resident tasks: Nexmark against epochs"
EXECUTORS = ("epochs", "resident")
ROUNDS = 1
EVENTS = {
    **dict.fromkeys(("q0", "q2", "q8", "q10"), 24_000_000),
    **dict.fromkeys(("q1", "q11", "q12", "q14"), 13_000_000),
    **dict.fromkeys(("q3", "q4", "q5", "q17", "q21", "q22"), 9_000_000),
    **dict.fromkeys(("q7", "q9", "q15", "q18", "q19", "q20"), 3_000_000),
    "q16": 2_000_000,
    "q23": 1_000_000,
}
"""As many as take the executor of epochs about four seconds: the differences between shorter runs
are those of starting."""
TIMEOUT = 1800.0
LEAST_RATE = 1.0


def measure(quick: bool) -> Data:
    sizes = {name: _sizes(EVENTS[name], quick) for name in QUERIES if name in EVENTS}
    runs: dict[str, dict[str, list[list[float] | str]]] = {
        name: {executor: [] for executor in EXECUTORS} for name in sizes
    }
    for number in range(1 if quick else ROUNDS):
        for name, each in sizes.items():
            for executor in sorted(EXECUTORS, reverse=bool(number % 2)):
                seconds = _run(name, each, executor)
                runs[name][executor].append(seconds)
                print(name, executor, seconds, file=sys.stderr, flush=True)
    return {"sizes": sizes, "runs": runs}


def _sizes(events: int, quick: bool) -> list[int]:
    """A run that warms the processes, then those between which the rate is measured, twice."""
    events = events // 50 if quick else events
    return [events // 3, *2 * [events // 3, events]]


def _run(name: str, sizes: list[int], executor: str) -> list[float] | str:
    """Least seconds of a third and of the whole of a query in one process, or the reason of a
    failure."""
    seconds = nexmark_seconds(name, sizes, executor, TIMEOUT)
    if isinstance(seconds, str):
        return seconds
    return [min(seconds[1::2]), min(seconds[2::2])]


def section(data: Data) -> Section:
    ratios: dict[str, float] = {}
    lines, failed = [], []
    for name, sides in data["runs"].items():
        rates = {}
        for executor, runs in sides.items():
            failed += [f"{name} on {executor}: {run}" for run in runs if isinstance(run, str)]
            done = [run for run in runs if not isinstance(run, str)]
            if len(done) == len(runs):
                least = [min(of_size) for of_size in zip(*done, strict=True)]
                rates[executor] = rate_of(data["sizes"][name][1:3], least)
        shown = [rates.get(executor) for executor in EXECUTORS]
        if all(shown):
            ratios[name] = rates["resident"] / rates["epochs"]
        ratio = f"{ratios[name]:.2f}" if name in ratios else ""
        lines.append([name, *("failed" if r is None else f"{r:,.0f}" for r in shown), ratio])
    text = (
        "Events per second on Spark (`local[2]`), parallelism 2, epochs of about two seconds, each "
        "with a checkpoint: from a run with a third of the events to one with all, the better of "
        "two each, after a run that warms the same processes."
        + (" Failed: " + "; ".join(failed) + "." if failed else "")
    )
    shown_table = table(["query", "epochs", "resident", "ratio"], lines)
    required = f"{LEAST_RATE:.0f} times the epochs'"
    if not ratios:
        return Section([Row("Nexmark on resident tasks", required, "nothing", None)], [text])
    mean = geometric_mean(ratios.values())
    worst = min(ratios, key=lambda name: ratios[name])
    is_whole = len(ratios) == len(data["runs"])
    rows = [
        Row(
            f"Nexmark on resident tasks, {len(ratios)} queries, geometric mean",
            required,
            f"{mean:.2f} times",
            is_whole and mean >= LEAST_RATE,
        ),
        Row(
            "Nexmark on resident tasks, slowest query",
            required,
            f"{worst}: {ratios[worst]:.2f} times",
            is_whole and ratios[worst] >= LEAST_RATE,
        ),
    ]
    return Section(rows, [text, shown_table])
