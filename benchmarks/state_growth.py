"""What an epoch costs more when state grows from 10,000 to 5,000,000 keys."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, summary, table
from job_process import run_ours

TITLE = "State growth"
BARS = (1.5, 3.0)
UPDATES = 1000
SMALL, LARGE = 10_000, 5_000_000
SMALL_EPOCHS = 600
WARM_UP = 30


def measure(quick: bool) -> Data:
    large = 100_000 if quick else LARGE
    cycle = large // UPDATES
    return {
        "small": _run(SMALL, 60 if quick else SMALL_EPOCHS),
        "large": _run(large, cycle + cycle // 10),
    }


def _run(keys: int, epochs: int) -> Data:
    data = run_ours(
        "steady.py", "--epochs", WARM_UP + epochs, "--keys", keys, "--load", "--records", UPDATES,
        timeout=1500,
    )  # fmt: skip
    return {
        "keys": keys,
        "load_seconds": data["load_seconds"],
        "epoch_ms": data["epoch_ms"][WARM_UP:],
        "wall_ms": data["wall_ms"][WARM_UP:],
    }


def section(data: Data) -> Section:
    small, large = data["small"], data["large"]
    middle = median(large["wall_ms"]) / median(small["wall_ms"])
    worst = max(large["wall_ms"]) / max(small["wall_ms"])
    strict = max(large["wall_ms"]) / median(small["wall_ms"])
    row = Row(
        f"epoch at {large['keys']:,} keys against {small['keys']:,}, {UPDATES:,} updates each, "
        "median and worst",
        "1.5 and 3 times",
        f"{middle:.2f} and {worst:.2f} times",
        middle <= BARS[0] and worst <= BARS[1],
    )
    text = (
        "A list and a tuple per key; a full merge cycle of the larger state takes "
        f"{large['keys'] // UPDATES:,} epochs, and {len(large['wall_ms']):,} were run. Times from "
        "epoch end to epoch end, with a durable checkpoint in each. The worst epoch of the larger "
        f"state against the median of the smaller: {strict:.2f} times."
    )
    lines = [
        [f"{part['keys']:,}", summary(part["epoch_ms"]), summary(part["wall_ms"])]
        for part in (small, large)
    ]
    return Section([row], [text, table(["keys", "epoch", "with its checkpoint"], lines)])
