"""Rows per second of SQL's MATCH_RECOGNIZE on Spark, from source to sink."""

from __future__ import annotations

import time

from bar import Data, Row, Section

TITLE = "SQL patterns"
KEYS = 10_000
ROWS, QUICK_ROWS = 4_000_000, 200_000
PATTERNS = {
    "one row in a thousand begins a match": "PATTERN (A B* C) WITHIN INTERVAL '1' MINUTE "
    "DEFINE A AS A.v > 998, B AS B.v > 300, C AS C.v < A.v - 900",
    "every row may begin a match": "PATTERN (A B{2,} C) DEFINE B AS B.v < LAST(v, 1), "
    "C AS C.v > LAST(B.v)",
}
"""Their bars are not set: they are to be read beside those of Flink's own runtime."""


def run(pattern: str, rows: int) -> float:
    """Seconds of a job from its submission to its end, start of the job included."""
    from millrace.table import EnvironmentSettings, TableEnvironment

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(
        f"CREATE TABLE n (i BIGINT, k AS MOD(i * 7, {KEYS}), v AS MOD(i * 7919 + i / 13, 1000), "
        "ts AS CAST(TIMESTAMPADD(SECOND, CAST(i / 10000 AS INT), TIMESTAMP '2024-01-01 00:00:00') "
        "AS TIMESTAMP(3)), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ("
        "'connector' = 'datagen', 'fields.i.kind' = 'sequence', 'fields.i.start' = '0', "
        f"'fields.i.end' = '{rows - 1}')"
    )
    t_env.execute_sql(
        "CREATE TABLE results (k BIGINT, a BIGINT, c BIGINT, n BIGINT) WITH ("
        "'connector' = 'blackhole')"
    )
    started = time.perf_counter()
    t_env.execute_sql(
        "INSERT INTO results SELECT * FROM n MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
        f"MEASURES A.i AS a, C.i AS c, COUNT(*) AS n {pattern})"
    ).wait()
    return time.perf_counter() - started


def measure(quick: bool) -> Data:
    rows = QUICK_ROWS if quick else ROWS
    found: Data = {"rows": rows, "seconds": {}}
    run(PATTERNS["every row may begin a match"], QUICK_ROWS // 4)
    for name, pattern in PATTERNS.items():
        found["seconds"][name] = run(pattern, rows)
    return found


def section(data: Data) -> Section:
    rows = []
    for name, seconds in data["seconds"].items():
        measured = f"{data['rows'] / seconds / 1e6:.2f}M rows/s"
        rows.append(Row(f"MATCH_RECOGNIZE, {name}", "none", measured, None))
    text = (
        f"{data['rows']:,} rows a run, {KEYS:,} keys, from datagen to blackhole, on two subtasks."
    )
    return Section(rows, [text])
