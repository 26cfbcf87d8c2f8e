"""Records per second on the workloads of ``workloads.md``, ours against the peers'.

Every run is a process of its own. A rate comes from two sizes, so that start-up cancels out. The
engines take turns: one run of each size for each engine, three times over. Of each peer's modes all
are tried in the first round, and only the best goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bar import Data, Row, Section, table
from engines import (
    FLINK,
    FLINK_SQL,
    OURS,
    SPARK,
    Engine,
    Series,
    best_of,
    flink,
    ours,
    structured_streaming,
)
from peers_python import package_version

ROUNDS = 3
TABLE = ("--timestamps", "table")


@dataclass(frozen=True)
class Workload:
    """Who runs it, and by how many times we are to be faster."""

    key: str
    letter: str
    engines: tuple[Engine, ...]
    bars: dict[str, float] = field(default_factory=dict)
    rounds: int = ROUNDS
    note: str = ""

    @property
    def title(self) -> str:
        return f"({self.letter}) {self.key.replace('_', ' ')}"


WORKLOADS = [
    Workload(
        "keyed_count",
        "a",
        (
            ours(4_000_000, 16_000_000),
            flink("thread", (200_000, 500_000)),
            flink("process", (300_000, 800_000)),
            structured_streaming(100_000, (200_000, 300_000)),
            structured_streaming(200_000, (200_000, 400_000)),
        ),
        {FLINK: 40, SPARK: 100},
    ),
    Workload(
        "keyed_count_batches",
        "m",
        (ours(8_000_000, 40_000_000),),
        note=(
            "(a) by `process_batch`, state in columns. PyFlink has none; the bar is Flink's "
            "DataStream in Java on (a), 5.3M/s."
        ),
    ),
    Workload(
        "word_count",
        "b",
        (
            ours(500_000, 2_500_000),
            flink("thread", (25_000, 60_000)),
            flink("process", (25_000, 60_000)),
        ),
        {FLINK: 30},
    ),
    Workload(
        "tumbling_window",
        "c",
        (
            ours(4_000_000, 14_000_000),
            flink("thread", (100_000, 200_000)),
            flink("thread", (100_000, 200_000), *TABLE),
            flink("process", (100_000, 200_000)),
            flink("process", (100_000, 200_000), *TABLE),
        ),
        {FLINK: 30},
    ),
    Workload(
        "map_filter",
        "d",
        (ours(4_000_000, 24_000_000), flink("thread", (400_000, 1_000_000))),
        rounds=1,
    ),
    Workload(
        "sliding_window",
        "e",
        (
            ours(1_000_000, 4_000_000),
            flink("thread", (20_000, 50_000)),
            flink("process", (20_000, 50_000)),
        ),
        {FLINK: 30},
    ),
    Workload(
        "session_window",
        "f",
        (
            ours(2_000_000, 8_000_000),
            flink("thread", (50_000, 120_000)),
            flink("process", (50_000, 120_000)),
        ),
        {FLINK: 25},
    ),
    Workload(
        "interval_join",
        "g",
        (
            ours(400_000, 1_600_000),
            flink("thread", (30_000, 70_000)),
            flink("process", (30_000, 70_000)),
        ),
        {FLINK: 15},
    ),
    Workload(
        "broadcast_rules",
        "h",
        (
            ours(2_000_000, 10_000_000),
            flink("thread", (100_000, 300_000)),
            flink("process", (100_000, 300_000)),
        ),
        {FLINK: 15},
    ),
    Workload(
        "rocksdb_access",
        "k",
        (ours(4_000_000, 12_000_000), flink("thread", (1_500_000, 2_500_000))),
        {FLINK: 10},
    ),
    Workload(
        "strict_pattern",
        "l",
        (
            Engine(OURS, (4_010_000, 20_010_000), (210_000, 1_010_000)),
            Engine(FLINK_SQL, (4_010_000, 20_010_000), (210_000, 2_010_000)),
        ),
        {FLINK_SQL: 0.5},
        note=(
            "Where our time goes (samples of CPU time, all stages in one process): reading, event "
            "times and the map 27 %, the exchange's writing and reading 34 %, the pattern operator "
            "34 %, the rest 5 %. Events of keys where nothing has begun cost the operator one call "
            "of the first condition, so what is left to win is the way there: events that stay in "
            "columns from the source through the exchange."
        ),
    ),
]


class ThroughputBar:
    """One workload: our rate, the peers' rates, the ratios."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self.TITLE = workload.title

    def measure(self, quick: bool) -> Data:
        workload = self._workload
        series = [Series(engine, quick) for engine in workload.engines]
        for number in range(1 if quick else workload.rounds):
            for each in series if number == 0 else _going_on(series):
                each.add(workload.key)
        return {
            "series": [each.data() for each in series],
            "versions": {
                "apache-flink": package_version("pyflink", "apache-flink"),
                "pyspark": package_version("spark", "pyspark"),
            },
        }

    def section(self, data: Data) -> Section:
        families: dict[str, list[Data]] = {}
        for each in data["series"]:
            families.setdefault(each["family"], []).append(each)
        [own] = families.pop(OURS)
        rows = [self._row(family, own, peers) for family, peers in families.items()]
        details = [_details(data["series"]), self._workload.note]
        return Section(rows, [text for text in details if text])

    def _row(self, family: str, own: Data, peers: list[Data]) -> Row:
        judged = max(peers, key=lambda peer: peer["rate"] or 0)
        bar = self._workload.bars.get(family)
        name = f"{self._workload.title} against {family}"
        required = f"{bar:g} times" if bar else "no bar"
        if not own["rate"] or not judged["rate"]:
            reason = own["error"] or judged["error"] or "too noisy for a rate"
            return Row(name, required, f"not measured: {reason}", None)
        ratio = own["rate"] / judged["rate"]
        times = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2f}"
        measured = f"{times} times ({_figure(own['rate'])} against {_figure(judged['rate'])})"
        return Row(name, required, measured, ratio >= bar if bar else None)


def _going_on(series: list[Series]) -> list[Series]:
    """Who runs again after the first round: the best of each family."""
    families: dict[str, list[Series]] = {}
    for each in series:
        families.setdefault(each.engine.family, []).append(each)
    return [best_of(family) for family in families.values()]


def _details(series: list[Data]) -> str:
    header = ["engine", "sizes", "seconds (small, large) per round", "records/s, median (all)"]
    return table(header, [_line(each) for each in series])


def _line(each: Data) -> list[str]:
    seconds = "; ".join(", ".join(f"{s:.1f}" for s in pair) for pair in each["seconds"])
    sizes = " and ".join(f"{size:,}" for size in each["sizes"])
    if not each["rates"]:
        return [each["engine"], sizes, seconds, each["error"] or "too noisy for a rate"]
    rates = ", ".join(f"{rate:,.0f}" for rate in each["rates"])
    return [each["engine"], sizes, seconds, f"**{each['rate']:,.0f}** ({rates})"]


def _figure(rate: float) -> str:
    return f"{rate / 1e6:.2f}M/s" if rate >= 1e6 else f"{rate / 1e3:.1f}K/s"
