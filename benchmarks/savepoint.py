"""What a savepoint costs the job that goes on meanwhile."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, summary, table
from job_process import run_ours

TITLE = "Savepoints of a running job"
BAR = 2.0
WITHIN = 10.0
"""Seconds for writing a savepoint, and for reading it."""
KEYS, UPDATES, EPOCHS = 1_000_000, 10_000, 160
AT = (60, 90, 120)
AROUND = 20
"""Epochs from the request on that are looked at."""
WARM_UP = 20


def measure(quick: bool) -> Data:
    keys = 20_000 if quick else KEYS
    return run_ours(
        "operated.py", "--keys", keys, "--records", UPDATES, "--epochs", EPOCHS,
        "--savepoint", ",".join(map(str, AT)),
    )  # fmt: skip


def section(data: Data) -> Section:
    walls = data["wall_ms"]
    usual = median(walls[WARM_UP:])
    meanwhile = [walls[act["epoch"] : act["epoch"] + AROUND] for act in data["acts"]]
    worst = max(map(max, meanwhile)) / usual
    quiet = [ms for ms in walls[WARM_UP:] if not any(ms in part for part in meanwhile)]
    done = not any(act["error"] for act in data["acts"]) and data["wrong"] == 0
    row = Row(
        f"savepoint of {data['keys']:,} keys while running: longest epoch against the median",
        f"{BAR:.0f} times",
        f"{worst:.2f} times",
        done and worst <= BAR,
    )
    written = max(act["seconds"] for act in data["acts"])
    read = max(found["seconds"] for found in data["restored"])
    whole = all(found["entries"] == data["keys"] for found in data["restored"])
    bar = f"{WITHIN:.0f} s"
    rows = [
        row,
        Row("the same: canonical, complete after", bar, f"{written:.1f} s", written <= WITHIN),
        Row(
            "the same: read for three subtasks, one after the other",
            bar, f"{read:.1f} s", whole and read <= WITHIN,
        ),
    ]  # fmt: skip
    lines = [
        [act["epoch"], f"{act['seconds']:.2f} s", f"{size / 1e6:.0f} MB", summary(part)]
        for act, size, part in zip(data["acts"], data["savepoint_bytes"], meanwhile, strict=True)
    ]
    text = (
        f"{data['records']:,} records per epoch, each epoch with a durable checkpoint. Epochs "
        f"without a savepoint: {summary(quiet)}. Looked at are the {AROUND} epochs from each "
        "request on; the first of them also closes the sinks' open files."
    )
    header = ["asked after epoch", "complete after", "size", "epochs from then on"]
    return Section(rows, [text, table(header, lines)])
