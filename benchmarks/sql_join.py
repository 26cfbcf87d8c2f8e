"""A regular join of SQL with a million rows of state a side, ours against Flink's."""

from __future__ import annotations

from bar import Data, Row, Section
from sql_engines import SqlRun, compared, rate_of

TITLE = "SQL regular join"
BAR = 1.5
SIZES, QUICK = (200_000, 2_000_000), (20_000, 100_000)
KEYS = 1_000_003
"""More than a side has rows: each row meets one of the other side."""


def measure(quick: bool) -> Data:
    sizes = QUICK if quick else SIZES
    return {"sizes": sizes, **compared({"join": [_run(size) for size in sizes]})}


def _run(rows: int) -> SqlRun:
    key = f"MOD(i / 2 * 7919, CAST({KEYS} AS BIGINT))"
    source = (
        "CREATE TEMPORARY TABLE n (i BIGINT) WITH ('connector' = 'datagen', "
        "'rows-per-second' = '1000000000', 'fields.i.kind' = 'sequence', "
        f"'fields.i.start' = '0', 'fields.i.end' = '{rows - 1}')"
    )
    sides = [
        f"CREATE TEMPORARY VIEW {name} AS SELECT {key} AS k, i AS v FROM n WHERE MOD(i, 2) = {rest}"
        for rest, name in enumerate(("orders", "payments"))
    ]
    query = "SELECT o.k, o.v AS o, p.v AS p FROM orders o JOIN payments p ON o.k = p.k"
    return [source, *sides], query


def section(data: Data) -> Section:
    ours, flink = (rate_of(data["sizes"], data[side]["join"]) for side in ("ours", "flink"))
    rows = data["sizes"][1] // 2
    text = f"{rows:,} rows a side are in state at the end; each finds one row of the other side."
    if ours is None or flink is None:
        failed = data["ours"]["join"] if ours is None else data["flink"]["join"]
        return Section([Row("regular join", f"{BAR} times Flink", "failed", None)], [str(failed)])
    measured = f"{ours / flink:.2f} times; {ours / 1e6:.2f}M rows/s, Flink {flink / 1e6:.2f}M"
    row = Row(
        f"regular join, {rows:,} rows of state a side, against Flink",
        f"{BAR} times",
        measured,
        ours / flink >= BAR,
    )
    return Section([row], [text])
