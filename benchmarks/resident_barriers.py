"""How long a barrier takes through resident tasks: alone, with its checkpoint, and with many more
subtasks than cores."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, quantile, table
from job_process import run_ours

TITLE = "Resident tasks: barriers"
ALONE, CHECKPOINT = "2", "2, with its checkpoint"
BARS: dict[str, tuple[str, float]] = {
    ALONE: ("barrier through one exchange without data", 5),
    CHECKPOINT: ("the same with its checkpoint", 10),
    "32": ("barrier at parallelism 32 on 2 cores", 15),
    "128": ("barrier at parallelism 128 on 2 cores", 45),
}
"""Per variant, the name of its row and the most milliseconds."""


def measure(quick: bool) -> Data:
    barriers = 50 if quick else 1000
    found: Data = {}
    for variant in BARS:
        parallelism, _, checkpoint = variant.partition(", ")
        options = ("--checkpoint",) if checkpoint else ()
        found[variant] = run_ours(
            "resident_barriers.py", "--barriers", barriers, "--parallelism", parallelism, *options
        )
    return found


def section(data: Data) -> Section:
    rows, lines = [], []
    for variant, (name, limit) in BARS.items():
        run = data[variant]
        times = run["wall_ms"] if variant == CHECKPOINT else run["round_ms"]
        figure = median(times)
        rows.append(Row(name, f"{limit:g} ms", f"{figure:.1f} ms", figure <= limit))
        for what in ("barrier_ms", "round_ms", "wall_ms"):
            points = [f"{median(run[what]):.2f}", f"{quantile(run[what], 0.99):.2f}"]
            lines.append([variant, MEANING[what], len(run[what]), *points, run["checkpoints"]])
    text = (
        "Source, exchange, keyed function and sink without any record, in two tasks. Medians "
        "count. A round is the message that begins an epoch (it may have been sent ahead), its "
        "barrier, and the acknowledgements of all subtasks; from epoch to epoch, the driver's work "
        "comes on top: plan, acceptance, and a checkpoint with fsync where there is one."
    )
    heads = ["parallelism", "from .. to", "epochs", "p50 ms", "p99 ms", "checkpoints"]
    return Section(rows, [text, table(heads, lines)])


MEANING = {
    "barrier_ms": "barrier to last acknowledgement",
    "round_ms": "begin of the epoch to last acknowledgement",
    "wall_ms": "epoch to epoch",
}
