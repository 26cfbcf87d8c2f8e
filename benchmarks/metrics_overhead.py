"""What it costs that somebody looks: details, reporters, scrapes and latency markers."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Overhead of metrics"
BAR = 0.03
SEEN = ("bare", "details", "scraped")
ROUNDS = 5
SMALL, LARGE = 2_000_000, 16_000_000


def measure(quick: bool) -> Data:
    sizes = (SMALL // 20, LARGE // 20) if quick else (SMALL, LARGE)
    rates: dict[str, list[float]] = {seen: [] for seen in SEEN}
    scrapes = 0
    for round in range(1 if quick else ROUNDS):
        # each goes first in turn, for the machine is not the same all the time
        for seen in (*SEEN[round % 3 :], *SEEN[: round % 3]):
            small, large = (run_ours("measured.py", seen, n) for n in sizes)
            spent = large["seconds"] - small["seconds"]
            rates[seen].append((sizes[1] - sizes[0]) / max(spent, 1e-9))
            scrapes += large["scrapes"]
    return {"rates": rates, "scrapes": scrapes}


def section(data: Data) -> Section:
    rates = {seen: median(of) for seen, of in data["rates"].items()}
    lost = {seen: 1 - rates[seen] / rates["bare"] for seen in SEEN}
    row = Row(
        "keyed count with details, Prometheus scraped each second, a log and latency markers",
        f"at most {BAR:.0%} slower",
        f"{lost['scraped']:.1%}",
        lost["scraped"] <= BAR,
    )
    lines = [[seen, f"{rates[seen]:,.0f}/s", f"{lost[seen]:.1%}"] for seen in SEEN]
    return Section(
        [row],
        [
            table(["", "records", "slower by"], lines),
            f"Median of {len(data['rates']['bare'])} rounds, in which the three take turns; "
            f"{data['scrapes']} scrapes. The figures themselves are worked out in all of them.",
        ],
    )
