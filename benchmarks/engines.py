"""The engines that run a workload, each with the sizes that suit it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from job_process import BENCHMARKS, MeasurementError, run, run_ours
from peers_python import peer_python

PEERS = BENCHMARKS / "peers"
OURS, FLINK, SPARK = "millrace", "PyFlink", "transformWithState"
FLINK_SQL = "Flink's MATCH_RECOGNIZE"
LEAST_DIFFERENCE = 0.25
"""The second size must take at least so much longer, or noise is all there is to see."""
TIMEOUT = 300.0

Sizes = tuple[int, int]


@dataclass(frozen=True)
class Engine:
    """One way to run a workload."""

    family: str
    sizes: Sizes
    quick: Sizes
    options: tuple[object, ...] = ()
    label: str = ""

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.family, self.label)))

    def run(self, workload: str, size: int) -> dict[str, Any]:
        """One run in a process of its own. Raises MeasurementError."""
        if self.family == OURS:
            return run_ours("workload.py", workload, size, timeout=TIMEOUT)
        if self.family == FLINK:
            mode, *more = self.options
            command = [peer_python("pyflink"), PEERS / "pyflink_peer.py", workload, mode, size]
            return run([*command, *more], timeout=TIMEOUT)
        if self.family == FLINK_SQL:
            script = PEERS / "match_recognize_peer.py"
            return run([peer_python("pyflink"), script, size, *self.options], timeout=TIMEOUT)
        script = PEERS / "structured_streaming_peer.py"
        return run([peer_python("spark"), script, workload, size, *self.options], timeout=TIMEOUT)


def ours(small: int, large: int) -> Engine:
    """Our side."""
    return Engine(OURS, (small, large), (small // 20, large // 20))


def flink(mode: str, sizes: Sizes, *options: object) -> Engine:
    """PyFlink in ``thread`` or ``process`` mode."""
    label = " ".join([f"{mode} mode", *(str(word) for word in options[1:])])
    return Engine(FLINK, sizes, (100_000, 200_000), (mode, *options), label)


def structured_streaming(batch: int, sizes: Sizes) -> Engine:
    """``transformWithState`` with so many rows to a micro-batch."""
    label = f"{batch:,} rows to a batch"
    return Engine(SPARK, sizes, (20_000, 40_000), ("--batch", batch), label)


class Series:
    """The runs of one engine: a pair for each round."""

    def __init__(self, engine: Engine, quick: bool) -> None:
        self.engine = engine
        self._sizes = engine.quick if quick else engine.sizes
        self._pairs: list[list[dict[str, Any]]] = []
        self._error: str | None = None

    def add(self, workload: str) -> None:
        """Run both sizes; after a failure nothing is tried any more."""
        if self._error is not None:
            return
        try:
            self._pairs.append([self.engine.run(workload, size) for size in self._sizes])
        except MeasurementError as error:
            self._error = str(error)

    @property
    def rate(self) -> float | None:
        """Median over the rounds, records per second."""
        rates = self.rates()
        return median(rates) if rates else None

    def rates(self) -> list[float]:
        """One per round, unless noise hides it."""
        return [rate for pair in self._pairs if (rate := _rate(*pair)) is not None]

    def data(self) -> dict[str, Any]:
        """What is kept of it."""
        return {
            "family": self.engine.family,
            "engine": self.engine.name,
            "label": self.engine.label,
            "sizes": self._sizes,
            "rate": self.rate,
            "rates": self.rates(),
            "seconds": [[report["seconds"] for report in pair] for pair in self._pairs],
            "epochs": [pair[-1].get("epochs") for pair in self._pairs],
            "error": self._error,
        }


def _rate(small: dict[str, Any], large: dict[str, Any]) -> float | None:
    seconds = large["seconds"] - small["seconds"]
    if seconds <= LEAST_DIFFERENCE * small["seconds"]:
        return None
    return float(large["records"] - small["records"]) / seconds


def best_of(series: Sequence[Series]) -> Series:
    """The fastest."""
    return max(series, key=lambda each: each.rate or 0)
