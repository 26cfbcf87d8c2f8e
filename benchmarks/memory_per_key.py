"""How much memory a key of state in memory takes: the figures of docs/sizing.md."""

from __future__ import annotations

from bar import Data, Section, table
from job_process import run_ours

TITLE = "Memory per key"
KEYS = 500_000
SHAPES = (
    "a whole number",
    "a text of 50 characters",
    "a tuple of three numbers",
    "an event-time timer",
    "a dict of five fields",
    "a list of ten numbers",
    "a map state of ten numbers",
)


def measure(quick: bool) -> Data:
    keys = KEYS // 50 if quick else KEYS
    script = "memory_per_key.py"
    shapes = {shape: run_ours(script, shape, keys)["bytes"] for shape in SHAPES}
    return {"keys": keys, "shapes": shapes}


def section(data: Data) -> Section:
    lines = [[shape, f"{size:.0f}"] for shape, size in data["shapes"].items()]
    text = (
        f"Resident memory of a process in which an operator keeps state of {data['keys']:,} keys "
        "(whole numbers) in memory, against the same process before; keys, tables and objects "
        "included."
    )
    return Section([], [text, table(["state of a key", "bytes"], lines)])
