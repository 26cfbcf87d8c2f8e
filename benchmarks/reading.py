"""Reading text, CSV and JSON lines, beside plain loops of Python in the same run."""

from __future__ import annotations

from bar import Data, Section, against_plain_loop
from job_process import run_ours

TITLE = "Reading lines"
LINES = 400_000
ROUNDS = 5
BARS = {"text": 1.0, "csv": 1.3, "columns": 0.35, "json": 0.6}
"""Most CPU time, as a multiple of the plain loop's."""
NAMES = {"csv": "CSV", "columns": "CSV (into columns)", "json": "JSON"}
PLAIN = {
    "text": "`for line in open(path)`",
    "csv": "`csv.reader` and `int`, `float`, `dict`",
    "columns": "`csv.reader` and `int`, `float`, `dict`",
    "json": "`json.loads` of each line",
}


def measure(quick: bool) -> Data:
    lines, rounds = (LINES // 10, 2) if quick else (LINES, ROUNDS)
    return {"lines": lines, "times": run_ours("reading.py", lines, rounds)}


def section(data: Data) -> Section:
    rows = [
        against_plain_loop(
            f"reading {NAMES.get(kind, kind)} lines", PLAIN[kind], times, data["lines"], BARS[kind]
        )
        for kind, times in data["times"].items()
    ]
    text = (
        f"{data['lines']:,} lines of 60 to 130 bytes, in turn in one process without Spark, the "
        "fastest of all runs; error policies, positions and bounds of the readers included."
    )
    return Section(rows, [text])
