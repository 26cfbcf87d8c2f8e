"""How long a job pauses when it is rescaled while it runs, and whether anything is lost by it."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Live rescaling"
BAR_SECONDS = 3.0
KEYS, UPDATES, EPOCHS = 1_000_000, 10_000, 160
CHANGES = {40: 4, 100: 1}
AFTER = 5
"""Epochs after the answer in which the pause can be."""


def measure(quick: bool) -> Data:
    keys = 20_000 if quick else KEYS
    changes = ",".join(f"{at}:{parallelism}" for at, parallelism in CHANGES.items())
    return run_ours(
        "operated.py", "--keys", keys, "--records", UPDATES, "--epochs", EPOCHS,
        "--rescale", changes,
    )  # fmt: skip


def section(data: Data) -> Section:
    walls = data["wall_ms"]
    pauses = [max(walls[act["epoch"] : act["answered"] + AFTER]) / 1000 for act in data["acts"]]
    exact = data["wrong"] == 0 and not any(act["error"] for act in data["acts"])
    row = Row(
        f"rescaling 2 to 4 to 1 under load, {data['keys']:,} keys: longest time without output",
        f"{BAR_SECONDS:.0f} s, output exactly once",
        f"{max(pauses):.1f} s, " + ("exactly once" if exact else f"{data['wrong']} keys wrong"),
        exact and len(pauses) == len(CHANGES) and max(pauses) <= BAR_SECONDS,
    )
    lines = [
        [f"to {act['parallelism']}", f"{pause:.2f} s", f"{act['seconds']:.2f} s"]
        for act, pause in zip(data["acts"], pauses, strict=True)
    ]
    text = (
        f"{data['records']:,} records per epoch, each epoch with a durable checkpoint (median "
        f"{median(walls):.0f} ms). The pause is the longest time from epoch end to epoch end; what "
        "came out is read back and compared with every count of every key."
    )
    return Section([row], [text, table(["change", "pause", "answered after"], lines)])
