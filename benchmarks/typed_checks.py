"""What declared types cost: the keyed count with and without them."""

from __future__ import annotations

from bar import Data, Row, Section
from job_process import run_ours

TITLE = "Declared types"
RECORDS = 2_000_000
ROUNDS = 5
BAR = 1.03


def measure(quick: bool) -> Data:
    records, rounds = (RECORDS // 10, 1) if quick else (RECORDS, ROUNDS)
    return {"records": records, **run_ours("typed_checks.py", records, rounds)}


def section(data: Data) -> Section:
    declared, undeclared = (min(times) for times in zip(*data["rounds"], strict=True))
    ratio = declared / undeclared
    row = Row(
        "keyed count with declared types (checked) against the same without any",
        f"{BAR:.2f} times the CPU",
        f"{ratio:.2f} times",
        ratio <= BAR,
    )
    text = (
        f"{data['records']:,} records, {len(data['rounds'])} runs of each in turn in one process, "
        f"without Spark; the fastest: {declared:.2f} and {undeclared:.2f} s of CPU. The count is "
        "kept as `Types.LONG()` and emitted as a `Types.TUPLE` of two."
    )
    return Section([row], [text])
