"""Loops on resident tasks: hops a second with many records under way, and the time of one hop of a
single record."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Resident tasks: loops"
RECORDS = 200_000
HOPS_PER_SECOND = 900_000
MS_PER_HOP = 1.0
RUNS = 3


def measure(quick: bool) -> Data:
    many = [RECORDS // 10, (5, 20)] if quick else [RECORDS, (10, 50)]
    one = [1, (500, 1500)] if quick else [1, (2_000, 12_000)]
    runs = range(1 if quick else RUNS)
    return {
        "records": many[0],
        "many": [_run(*many) for _ in runs],
        "one": [_run(*one) for _ in runs],
    }


def _run(records: int, rounds: tuple[int, int]) -> Data:
    return run_ours("resident_loops.py", "--records", records, "--rounds", *rounds)


def section(data: Data) -> Section:
    rate = median(run["hops"] / run["seconds"] for run in data["many"])
    delay = median(1000 * run["seconds"] / run["hops"] for run in data["one"])
    rows = [
        Row(
            f"loop with {data['records']:,} records under way, hops per second",
            f"{HOPS_PER_SECOND:,}",
            f"{rate:,.0f}",
            rate >= HOPS_PER_SECOND,
        ),
        Row(
            "one record round and round, a hop",
            f"at most {MS_PER_HOP:g} ms",
            f"{delay:.2f} ms",
            delay <= MS_PER_HOP,
        ),
    ]
    text = (
        "Two subtasks in two processes, default options, a checkpoint each second, the same "
        "settings for both. A hop is a keyed exchange, a function and a filter. Two jobs differ "
        "only in their number of rounds; the figures are of the difference, and medians of "
        f"{len(data['many'])} runs."
    )
    lines = [
        [name, f"{run['hops']:,}", f"{run['few']:.2f}", f"{run['many']:.2f}"]
        for name in ("many", "one")
        for run in data[name]
    ]
    header = ["records under way", "hops between", "s with few rounds", "s with many"]
    return Section(rows, [text, table(header, lines)])
