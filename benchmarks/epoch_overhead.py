"""What an epoch costs when there is almost nothing to do: one exchange, two records."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, summary
from job_process import run_ours

TITLE = "Epoch overhead"
BAR_MS = 90
WARM_UP = 100


def measure(quick: bool) -> Data:
    epochs = 40 if quick else 500
    data = run_ours("steady.py", "--epochs", WARM_UP // (5 if quick else 1) + epochs)
    return {key: data[key][-epochs:] for key in ("epoch_ms", "wall_ms")}


def section(data: Data) -> Section:
    wall = median(data["wall_ms"])
    row = Row(
        "epoch with one exchange and almost no data, median",
        f"{BAR_MS} ms",
        f"{median(data['epoch_ms']):.0f} ms; {wall:.0f} ms with its checkpoint",
        wall <= BAR_MS,
    )
    return Section(
        [row],
        [
            f"From the plan to the last answer: {summary(data['epoch_ms'])}. From end to end, with "
            f"a durable checkpoint in every epoch: {summary(data['wall_ms'])}. The verdict is on "
            "the longer one."
        ],
    )
