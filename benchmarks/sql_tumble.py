"""Rows per second of SQL's window and group aggregates over many keys, ours against Flink's."""

from __future__ import annotations

from bar import Data, Row, Section, table
from sql_engines import SqlRun, compared, rate_of

TITLE = "SQL aggregates over many keys"
KEYS = 100_000
BARS = {"integers": 2_500_000, "texts": 1_300_000}
TIMES = 2.0
"""Against Flink."""
SIZES, QUICK = (1_000_000, 12_000_000), (40_000, 400_000)
KEY = {
    "integers": f"MOD(i, CAST({KEYS} AS BIGINT))",
    "texts": f"CONCAT('key-', CAST(MOD(i, {KEYS}) AS STRING))",
}
QUERIES = {
    "tumble": "SELECT k, window_end, COUNT(*) AS c, SUM(i) AS s FROM TABLE("
    "TUMBLE(TABLE n, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY k, window_start, window_end",
    "group": "SELECT k, COUNT(*) AS c, SUM(i) AS s FROM n GROUP BY k",
}


def measure(quick: bool) -> Data:
    sizes = QUICK if quick else SIZES
    runs = {
        f"{query} {keys}": [_run(query, keys, size) for size in sizes]
        for query in QUERIES
        for keys in KEY
    }
    return {"sizes": sizes, **compared(runs)}


def _run(query: str, keys: str, rows: int) -> SqlRun:
    source = (
        f"CREATE TEMPORARY TABLE n (i BIGINT, k AS {KEY[keys]}, "
        "ts AS CAST(TO_TIMESTAMP_LTZ(i / 10, 3) AS TIMESTAMP(3)), "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'datagen', "
        "'rows-per-second' = '1000000000', 'fields.i.kind' = 'sequence', "
        f"'fields.i.start' = '0', 'fields.i.end' = '{rows - 1}')"
    )
    return [source], QUERIES[query]


def section(data: Data) -> Section:
    rows, lines = [], []
    for query in QUERIES:
        for keys, bar in BARS.items():
            name = f"{query} {keys}"
            ours, flink = (rate_of(data["sizes"], data[side][name]) for side in ("ours", "flink"))
            ratio = None if ours is None or flink is None else ours / flink
            lines.append([name, *(_shown(rate) for rate in (ours, flink)), _times(ratio)])
            if query == "tumble":
                reached = ours is not None and ours >= bar and ratio is not None and ratio >= TIMES
                rows.append(
                    Row(
                        f"tumble with COUNT, SUM over {KEYS} keys, {keys}",
                        f"{bar / 1e6} M rows/s and {TIMES:.0f} times Flink",
                        f"{_shown(ours)}, {_times(ratio)} Flink",
                        reached,
                    )
                )
    text = (
        "Rows per second, start-up taken off. Two subtasks; ours with a checkpoint after every "
        "epoch of about 2 s, Flink with heap state, object reuse and mini-batches, without "
        "checkpoints."
    )
    return Section(rows, [text, table(["query, keys", "ours", "Flink", "ratio"], lines)])


def _shown(rate: float | None) -> str:
    return "failed" if rate is None else f"{rate / 1e6:.2f}M rows/s"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f} times"
