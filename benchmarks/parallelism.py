"""What an epoch costs with many more subtasks than cores: two cores, 20 records per subtask and
epoch, one keyed exchange, a durable checkpoint in every epoch."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Parallelism beyond the cores"
BARS = {32: 1.5, 128: 3.0}
"""Per parallelism, how many times the epoch of parallelism 2 it may take."""
PER_SUBTASK = 20
WARM_UP = 20


def measure(quick: bool) -> Data:
    epochs = 10 if quick else 100
    found: Data = {}
    for parallelism in (2, *BARS):
        data = run_ours(
            "steady.py", "--master", "local[2,4]", "--parallelism", parallelism,
            "--records", PER_SUBTASK * parallelism, "--keys", 1000 * parallelism,
            "--epochs", WARM_UP + epochs,
        )  # fmt: skip
        found[str(parallelism)] = {
            "wall_ms": data["wall_ms"][-epochs:],
            "epoch_ms": data["epoch_ms"][-epochs:],
            "cached": data["cached"],
        }
    return found


def section(data: Data) -> Section:
    base = median(data["2"]["wall_ms"])
    rows, lines = [], []
    for parallelism, found in data.items():
        wall = median(found["wall_ms"])
        lines.append([
            parallelism, f"{wall:.0f}", f"{median(found['epoch_ms']):.0f}", f"{wall / base:.2f}",
            " ".join(f"{kind} {count}" for kind, count in found["cached"].items() if count),
        ])  # fmt: skip
        limit = BARS.get(int(parallelism))
        if limit is not None:
            title = f"epoch at parallelism {parallelism} on 2 cores, times that of 2"
            rows.append(Row(title, f"{limit}", f"{wall / base:.2f}", wall <= limit * base))
    text = "Medians; with the checkpoint, and from the plan to the last answer:"
    heads = ["parallelism", "ms", "ms without checkpoint", "times", "state found"]
    return Section(rows, [text, table(heads, lines)])
