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
    spent: dict[str, dict[str, list[float]]] = {seen: {"seconds": [], "cpu": []} for seen in SEEN}
    scrapes = 0
    for round in range(1 if quick else ROUNDS):
        # each goes first in turn, for the machine is not the same all the time
        for seen in (*SEEN[round % 3 :], *SEEN[: round % 3]):
            small, large = (run_ours("measured.py", seen, n) for n in sizes)
            for unit, values in spent[seen].items():
                values.append(large[unit] - small[unit])
            scrapes += large["scrapes"]
    return {"spent": spent, "records": sizes[1] - sizes[0], "scrapes": scrapes}


def section(data: Data) -> Section:
    records, spent = data["records"], data["spent"]
    cpu = {seen: median(of["cpu"]) for seen, of in spent.items()}
    more = {seen: cpu[seen] / cpu["bare"] - 1 for seen in SEEN}
    row = Row(
        "keyed count with details, Prometheus scraped each second, a log and latency markers",
        f"at most {BAR:.0%} more CPU",
        f"{more['scraped']:.1%}",
        more["scraped"] <= BAR,
    )
    lines = [
        [
            seen,
            f"{cpu[seen] / records * 1e9:,.0f} ns",
            f"{more[seen]:.1%}",
            f"{records / median(spent[seen]['seconds']):,.0f}/s",
            f"{records / max(spent[seen]['seconds']):,.0f} to "
            f"{records / min(spent[seen]['seconds']):,.0f}/s",
        ]
        for seen in SEEN
    ]
    return Section(
        [row],
        [
            table(["", "CPU per record", "more", "records", "from, to"], lines),
            f"Median of {len(spent['bare']['cpu'])} rounds, in which the three take turns; "
            f"{data['scrapes']} scrapes. Processor time, for the clock differs between equal runs "
            "by more than what is looked for. The figures themselves are worked out in all of "
            "them.",
        ],
    )
