"""A join of three tables that goes on from a savepoint with twice the parallelism."""

from __future__ import annotations

from bar import Data, Row, Section
from job_process import run_ours

TITLE = "Savepoint and rescaling of a SQL join"
ROWS, QUICK = 2_200_002, 60_000
"""Read; one in fifteen is left out, so that rows lack a partner."""


def measure(quick: bool) -> Data:
    return run_ours("sql_rescaled_join.py", "--rows", QUICK if quick else ROWS)


def section(data: Data) -> Section:
    wrong = data["wrong"] + data["negative"]
    state = data["rows"] * 14 // 15
    row = Row(
        f"join of three tables, {state:,} rows of state: savepoint, 2 to 4 subtasks, restore",
        "exactly the uninterrupted result",
        f"{data['groups']} groups, " + ("all the same" if not wrong else f"{wrong} wrong"),
        wrong == 0,
    )
    text = (
        "A LEFT JOIN with retractions, a JOIN and an aggregate; the savepoint was taken when "
        f"{data['read_before']:.0%} of the rows had been read. It was ready "
        f"{data['savepoint_seconds']:.1f} s after it was asked for (the running epoch included), "
        f"of {data['savepoint_bytes'] / 1e6:.0f} MB; the first rows came "
        f"{data['restored_after']:.1f} s after the start of the restored job. Runs: "
        f"{data['uninterrupted']:.1f} s without, {data['before']:.1f} and {data['after']:.1f} s "
        "with the savepoint."
    )
    return Section([row], [text])
