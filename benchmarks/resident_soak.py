"""Whether memory, sockets and files of a job on resident tasks stay as they are: over 50,000
barriers, and for two hours.

    python benchmarks/run.py --only resident_soak
    MILLRACE_SOAK_SECONDS=1800 python benchmarks/run.py --only resident_soak

The environment variable sets the seconds of the second part.
"""

from __future__ import annotations

import os
from itertools import combinations
from statistics import median
from typing import Any

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Resident tasks: soak"
BARRIERS, BARRIERS_RATE = 50_000, 2_000
SECONDS, RATE = 7_200, 500
WARM_UP = 0.2
"""Share of the samples that do not count."""
MEMORY_GROWTH = 0.05
COUNT_GROWTH = 1.0
"""Open files, sockets, threads or files on disk that may be more at the end of the trend."""
PATIENCE = 900.0

PROCESSES = {"driver": "driver", "jvm": "virtual machine", "workers": "workers"}
COUNTS = ("files", "sockets", "threads")
ON_DISK = ("checkpoint files", "scratch files", "hidden output files")
PARTS = {"barriers": "as many barriers as possible", "long": "a barrier each second"}


def measure(quick: bool) -> Data:
    barriers = 600 if quick else BARRIERS
    seconds = int(os.environ.get("MILLRACE_SOAK_SECONDS", 40 if quick else SECONDS))
    every = 1 if quick else 10
    fast = run_ours(
        "resident_soak.py", "--barriers", barriers, "--rate", BARRIERS_RATE, "--every", every,
        timeout=barriers * 0.1 + PATIENCE,
    )  # fmt: skip
    slow = run_ours(
        "resident_soak.py", "--seconds", seconds, "--rate", RATE, "--every", 2 if quick else 60,
        timeout=seconds + PATIENCE,
    )  # fmt: skip
    return {"barriers": fast, "long": slow, "required": {"barriers": barriers, "seconds": seconds}}


def section(data: Data) -> Section:
    """Two rows per part, of memory and of everything that is counted, and a row of the output."""
    rows: list[Row] = []
    details = [
        "Keyed state, a window of a second and an exactly-once file sink at parallelism 2, a "
        "checkpoint each second. Part one sends barriers as fast as the driver allows at "
        f"{BARRIERS_RATE:,} records/s, part two has the default barriers at {RATE:,} records/s. "
        "Resident memory; the heap after a collection. Growth is the trend after the first "
        f"{WARM_UP:.0%} of the samples (Theil and Sen), from its beginning to its end. Drained at "
        "the end: committed windows must have counted each record once."
    ]
    for part, how in PARTS.items():
        samples = data[part]["samples"]
        last = samples[-1]
        length = f"{last['barriers']:,} barriers, {last['seconds'] / 60:.0f} min, {how}"
        counted = samples[int(len(samples) * WARM_UP) :]
        rows += [_memory_row(length, counted), _counts_row(length, counted)]
        details.append(_table(length, samples, counted))
    rows.append(_output_row(data))
    return Section(rows, details)


def _series(samples: list[Data]) -> dict[str, list[float]]:
    """Figures of samples, by what they measure: memory first, then what is counted."""
    return {
        "heap, MiB": [sample["heap"] for sample in samples],
        **{
            f"{name}, MiB": [sample[process]["mib"] for sample in samples]
            for process, name in PROCESSES.items()
        },
        **{
            f"{name}, {count}": [sample[process][count] for sample in samples]
            for process, name in PROCESSES.items()
            for count in COUNTS
        },
        **{kind: [sample[kind] for sample in samples] for kind in ON_DISK},
    }


def _memory_row(length: str, samples: list[Data]) -> Row:
    growth = {
        name: _growth(values) / _beginning(values)
        for name, values in _series(samples).items()
        if name.endswith("MiB")
    }
    worst = max(growth, key=lambda name: growth[name])
    return Row(
        f"{length}: memory",
        f"flat ({MEMORY_GROWTH:.0%})",
        f"{growth[worst]:+.1%} ({worst.partition(',')[0]})",
        growth[worst] < MEMORY_GROWTH,
    )


def _counts_row(length: str, samples: list[Data]) -> Row:
    growth = {
        name: _growth(values)
        for name, values in _series(samples).items()
        if not name.endswith("MiB")
    }
    worst = max(growth, key=lambda name: growth[name])
    return Row(
        f"{length}: open files, sockets, threads, files on disk",
        "flat",
        f"{growth[worst]:+.1f} ({worst})",
        growth[worst] < COUNT_GROWTH,
    )


def _output_row(data: Data) -> Row:
    figures = [f"{data[part]['written']:,} of {data[part]['read']:,}" for part in PARTS]
    exact = all(data[part]["written"] == data[part]["read"] for part in PARTS)
    return Row("records in committed windows of both parts", "all", ", ".join(figures), exact)


def _trend(values: list[float]) -> tuple[float, float]:
    """Slope per sample and value at the first sample: the median slope of all pairs (Theil and
    Sen), so that single samples do not count."""
    pairs = list(combinations(enumerate(values), 2))
    slope = median((b - a) / (j - i) for (i, a), (j, b) in pairs) if pairs else 0.0
    return slope, median(value - slope * index for index, value in enumerate(values))


def _growth(values: list[float]) -> float:
    return _trend(values)[0] * (len(values) - 1)


def _beginning(values: list[float]) -> float:
    return max(_trend(values)[1], 1.0)


def _table(length: str, samples: list[Data], counted: list[Data]) -> str:
    every = max(1, len(samples) // 6)
    shown: list[dict[str, Any]] = samples[::every]
    header = [length, *(f"{s['seconds'] / 60:.1f} min" for s in shown), "trend"]
    trends = _series(counted)
    lines = [
        [name, *(f"{value:,.0f}" for value in values), f"{_growth(trends[name]):+.1f}"]
        for name, values in _series(shown).items()
    ]
    return table(header, lines)
