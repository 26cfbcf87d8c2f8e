"""How long a job on resident tasks pauses when it is rescaled, and whether that loses anything."""

from __future__ import annotations

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "Resident tasks: live rescaling"
BAR_SECONDS = 0.5
KEYS, UPDATES, SHARES = 1_000_000, 10_000, 400
CHANGES = {40: 4, 80: 1}
AFTER = 5
"""Epochs after the answer in which the pause can be."""


def measure(quick: bool) -> Data:
    keys, shares = (20_000, 160) if quick else (KEYS, SHARES)
    changes = ",".join(f"{at}:{parallelism}" for at, parallelism in CHANGES.items())
    return run_ours(
        "operated.py", "--keys", keys, "--records", UPDATES, "--epochs", shares,
        "--rescale", changes, "--executor", "resident",
    )  # fmt: skip


def section(data: Data) -> Section:
    walls, acts = data["wall_ms"], data["acts"]
    pauses = [max(walls[act["epoch"] : act["answered"] + AFTER]) / 1000 for act in acts]
    exact = data["wrong"] == 0 and not any(act["error"] for act in acts)
    longest = max(pauses, default=0.0)
    row = Row(
        f"rescaling 2 to 4 to 1 under load, {data['keys']:,} keys: longest time without output",
        f"{BAR_SECONDS:.1f} s, output exactly once",
        f"{longest:.2f} s, " + ("exactly once" if exact else f"{data['wrong']} keys wrong"),
        exact and len(pauses) == len(CHANGES) and longest <= BAR_SECONDS,
    )
    lines = [
        [f"to {act['parallelism']}", f"{pause:.2f} s", f"{act['seconds']:.2f} s"]
        for act, pause in zip(acts, pauses, strict=True)
    ]
    text = (
        f"{data['records']:,} records every 50 ms, each epoch with a durable checkpoint. The pause "
        "is the longest time from epoch end to epoch end; what came out is read back and compared "
        "with every count of every key."
    )
    return Section([row], [text, table(["change", "pause", "answered after"], lines)])
