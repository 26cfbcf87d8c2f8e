"""Whether memory stays flat over 3,000 epochs at constant state."""

from __future__ import annotations

from itertools import combinations
from statistics import median

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Memory"
BAR = 0.05
SETTLED = 500
EPOCHS = 3000
PARTS = {
    "jvm_heap": "driver JVM, heap after a collection",
    "jvm_other": "driver JVM, besides the heap",
    "driver": "driver Python, resident",
    "workers": "Python workers, resident",
}
JUDGED = ("jvm_heap", "driver", "workers")


def measure(quick: bool) -> Data:
    epochs, every = (60, 5) if quick else (EPOCHS, 100)
    data = run_ours(
        "steady.py", "--epochs", epochs, "--keys", 20_000, "--load", "--records", 1000,
        "--memory-every", every,
    )  # fmt: skip
    return {"epochs": epochs, "settled": SETTLED * epochs // EPOCHS, "samples": data["memory"]}


def section(data: Data) -> Section:
    samples = [s for s in data["samples"] if s["epoch"] >= data["settled"]]
    growth = {part: _growth([s[part] for s in samples]) for part in PARTS}
    worst = max(JUDGED, key=lambda part: growth[part])
    row = Row(
        f"memory over {data['epochs']:,} epochs at constant state, growth after the first "
        f"{data['settled']}",
        f"under {BAR:.0%}",
        f"{growth[worst]:+.1%} ({PARTS[worst].partition(',')[0]})",
        growth[worst] < BAR,
    )
    shown = samples[:: max(1, len(samples) // 6)]
    header = ["MiB at epoch", *(f"{s['epoch']:,}" for s in shown), "growth"]
    lines = [
        [title, *(f"{s[part] / 2**20:.1f}" for s in shown), f"{growth[part]:+.1%}"]
        for part, title in PARTS.items()
    ]
    text = (
        "20,000 keys with a list and a tuple each, 1,000 updates and a durable checkpoint per "
        "epoch. Growth: the trend over all samples (Theil-Sen), from its beginning to its end."
    )
    return Section([row], [text, table(header, lines)])


def _growth(values: list[int]) -> float:
    """The trend over all samples, relative to where it begins (Theil and Sen: the median slope of
    all pairs). Single samples of a heap differ by ten percent with what is under way when it is
    collected, so comparing a few at the ends would mostly compare chance."""
    pairs = list(combinations(enumerate(values), 2))
    slope = median((b - a) / (j - i) for (i, a), (j, b) in pairs)
    start = median(value - slope * index for index, value in enumerate(values))
    return slope * (len(values) - 1) / start
