"""How many events a second 1,000 dynamic rules can look at."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Dynamic rules"
BAR = 10_000
SIZES, QUICK = (110_000, 310_000), (30_000, 50_000)
ROUNDS = 3


def measure(quick: bool) -> Data:
    sizes = QUICK if quick else SIZES
    rounds = [
        [run_ours("dynamic_rules.py", size) for size in sizes]
        for _ in range(1 if quick else ROUNDS)
    ]
    return {"rounds": rounds}


def _rate(small: Data, large: Data) -> float:
    return float(large["records"] - small["records"]) / (large["seconds"] - small["seconds"])


def section(data: Data) -> Section:
    rates = [_rate(*pair) for pair in data["rounds"] if pair[1]["seconds"] > pair[0]["seconds"]]
    bar = "1,000 dynamic rules of two steps, 10,000 keys, 10 rules begin with each event"
    required = f"{BAR:,} events/s"
    if not rates:
        return Section([Row(bar, required, "too noisy for a rate", None)])
    rate = median(rates)
    text = (
        "JSON rules from a stream, `followed_by` within 5 s, an event of each key in a second: "
        "about 50 partial matches of a key are alive, half a million in all. Parallelism 2, a "
        "durable checkpoint in every epoch; the rate is from two sizes."
    )
    lines = [
        [
            " and ".join(f"{run['records']:,}" for run in pair),
            ", ".join(f"{run['seconds']:.1f}" for run in pair),
            f"{_rate(*pair):,.0f}",
        ]
        for pair in data["rounds"]
    ]
    details = [text, table(["events", "seconds", "events/s"], lines)]
    return Section([Row(bar, required, f"{rate:,.0f} events/s", rate >= BAR)], details)
