"""Records per second on the workloads of ``workloads.md``, ours against the peers'.

Every run is a process of its own. A rate comes from two sizes, so that start-up cancels out. The
engines take turns: one run of each size for each engine, three times over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from bar import Data, Row, Section, table
from job_process import BENCHMARKS, MeasurementError, run, run_ours
from peers_python import package_version, peer_python

PEERS = BENCHMARKS / "peers"
ROUNDS = 3
LEAST_DIFFERENCE = 0.25
"""The second size must take at least so much longer, or noise is all there is to see."""

Sizes = tuple[int, int]


@dataclass(frozen=True)
class Workload:
    """Sizes per engine, chosen so that the difference takes several seconds."""

    key: str
    letter: str
    ours: Sizes
    quick: Sizes
    pyflink: Sizes
    flink_bar: int | None = None
    spark: Sizes | None = None
    spark_bar: int | None = None
    rounds: int = ROUNDS
    quick_pyflink: Sizes = (20_000, 60_000)

    @property
    def title(self) -> str:
        return f"({self.letter}) {self.key.replace('_', ' ')}"


WORKLOADS = [
    Workload(
        "keyed_count", "a", (4_000_000, 16_000_000), (200_000, 1_000_000), (200_000, 500_000), 40,
        spark=(200_000, 300_000), spark_bar=100,
    ),
    Workload(
        "word_count", "b", (500_000, 2_500_000), (25_000, 125_000), (20_000, 60_000), 30
    ),
    Workload(
        "tumbling_window", "c", (4_000_000, 14_000_000), (200_000, 1_000_000), (100_000, 300_000),
        30, quick_pyflink=(100_000, 200_000),
    ),
    Workload(
        "map_filter", "d", (4_000_000, 24_000_000), (200_000, 1_000_000), (200_000, 800_000),
        rounds=1,
    ),
]  # fmt: skip


class ThroughputBar:
    """One workload: our rate, the peers' rates, the ratios."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self.TITLE = workload.title

    def measure(self, quick: bool) -> Data:
        workload = self._workload
        ours = _Series("millrace", workload.quick if quick else workload.ours)
        flink = _Flink(workload, quick)
        spark = _spark_series(workload, quick)
        for number in range(1 if quick else workload.rounds):
            ours.add(partial(_ours, workload.key))
            flink.add(number)
            if spark is not None:
                spark.add(partial(_spark, workload.key))
        series = [ours, *flink.series, *([spark] if spark is not None else [])]
        return {
            "series": [each.data() for each in series],
            "versions": {
                "apache-flink": package_version("pyflink", "apache-flink"),
                "pyspark": package_version("spark", "pyspark"),
            },
        }

    def section(self, data: Data) -> Section:
        series = {each["engine"]: each for each in data["series"]}
        ours = series.pop("millrace")
        spark = series.pop("transformWithState", None)
        best = max(series.values(), key=lambda each: each["rate"] or 0)
        workload = self._workload
        rows = [_row(workload.title, "PyFlink", workload.flink_bar, ours, best)]
        if spark is not None:
            rows.append(
                _row(workload.title, "`transformWithState`", workload.spark_bar, ours, spark)
            )
        return Section(rows, [_details(data["series"])])


class _Series:
    """Runs of one engine at two sizes."""

    def __init__(self, engine: str, sizes: Sizes) -> None:
        self._engine = engine
        self._sizes = sizes
        self._runs: list[list[dict[str, Any]]] = []
        self._error: str | None = None

    def add(self, measure: Callable[[int], dict[str, Any]]) -> None:
        if self._error is not None:
            return
        try:
            self._runs.append([measure(size) for size in self._sizes])
        except MeasurementError as error:
            self._error = str(error)

    @property
    def rate(self) -> float | None:
        rates = self.rates()
        return median(rates) if rates else None

    def rates(self) -> list[float]:
        found = []
        for small, large in self._runs:
            seconds = large["seconds"] - small["seconds"]
            if seconds > LEAST_DIFFERENCE * small["seconds"]:
                found.append((large["records"] - small["records"]) / seconds)
        return found

    def data(self) -> dict[str, Any]:
        return {
            "engine": self._engine,
            "sizes": self._sizes,
            "rate": self.rate,
            "rates": self.rates(),
            "seconds": [[report["seconds"] for report in pair] for pair in self._runs],
            "epochs": [pair[-1].get("epochs") for pair in self._runs],
            "error": self._error,
        }


class _Flink:
    """PyFlink: both modes in the first round, after that only the better one."""

    def __init__(self, workload: Workload, quick: bool) -> None:
        self._key = workload.key
        self._modes = ["thread"] if quick else ["thread", "process"]
        sizes = workload.quick_pyflink if quick else workload.pyflink
        self._all = {mode: _Series(f"PyFlink, {mode} mode", sizes) for mode in self._modes}

    def add(self, number: int) -> None:
        if number == 1:
            self._modes = [max(self._modes, key=lambda mode: self._all[mode].rate or 0)]
        for mode in self._modes:
            self._all[mode].add(partial(_flink, self._key, mode))

    @property
    def series(self) -> list[_Series]:
        return list(self._all.values())


def _spark_series(workload: Workload, quick: bool) -> _Series | None:
    if workload.spark is None:
        return None
    return _Series("transformWithState", (20_000, 40_000) if quick else workload.spark)


def _ours(key: str, size: int) -> dict[str, Any]:
    return run_ours("workload.py", key, size, timeout=300)


def _flink(key: str, mode: str, size: int) -> dict[str, Any]:
    return run([peer_python("pyflink"), PEERS / "pyflink_peer.py", key, mode, size], timeout=300)


def _spark(key: str, size: int) -> dict[str, Any]:
    script = PEERS / "structured_streaming_peer.py"
    return run([peer_python("spark"), script, key, size], timeout=300)


def _row(title: str, peer: str, bar: int | None, ours: Data, theirs: Data) -> Row:
    required = f"{bar} times" if bar else "no bar"
    name = f"{title} against {peer}"
    if not ours["rate"] or not theirs["rate"]:
        reason = ours["error"] or theirs["error"] or "too noisy for a rate"
        return Row(name, required, f"not measured: {reason}", None)
    ratio = ours["rate"] / theirs["rate"]
    measured = f"{ratio:.0f} times ({_figure(ours['rate'])} against {_figure(theirs['rate'])})"
    return Row(name, required, measured, ratio >= bar if bar else None)


def _details(series: list[Data]) -> str:
    header = ["engine", "sizes", "seconds (small, large) per round", "records/s, median (all)"]
    return table(header, [_line(each) for each in series])


def _line(each: Data) -> list[str]:
    seconds = "; ".join(", ".join(f"{s:.1f}" for s in pair) for pair in each["seconds"])
    sizes = " and ".join(f"{size:,}" for size in each["sizes"])
    if not each["rates"]:
        return [each["engine"], sizes, seconds, each["error"] or "not measured"]
    rates = ", ".join(f"{rate:,.0f}" for rate in each["rates"])
    return [each["engine"], sizes, seconds, f"**{each['rate']:,.0f}** ({rates})"]


def _figure(rate: float) -> str:
    return f"{rate / 1e6:.2f}M/s" if rate >= 1e6 else f"{rate / 1e3:.1f}K/s"
