"""Flink SQL's MATCH_RECOGNIZE: pattern (l) of ``benchmarks/workloads.md``, one size per process.

    python match_recognize_peer.py N [--watermark-ms MS] [--check]

Everything runs in the JVM: PyFlink only submits the query. Prints one JSON line; ``seconds`` is the
time of the job. Run this with the interpreter that ``setup.sh`` prepared.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from typing import Any

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors import NumberSequenceSource
from pyflink.table import Schema, StreamTableEnvironment, Table

PARALLELISM = 2
PRIME = 2_654_435_761
KEYS = 10_000
VALUES = 1_000_003
FIRST, SECOND = 10_000, 500_000
QUERY = f"""
SELECT * FROM (SELECT MOD(f0 * {PRIME}, {KEYS}) AS k, MOD(f0 * f0, {VALUES}) AS v, ts FROM numbers)
MATCH_RECOGNIZE (
  PARTITION BY k
  ORDER BY ts
  MEASURES A.v AS a, B.v AS b, C.v AS c
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B C)
  DEFINE A AS A.v < {FIRST}, B AS B.v < {SECOND}, C AS C.v >= {SECOND}
)"""


def environment(watermark_ms: int) -> StreamExecutionEnvironment:
    config = Configuration()
    config.set_string("state.backend.type", "hashmap")
    config.set_string("pipeline.object-reuse", "true")
    config.set_string("pipeline.auto-watermark-interval", f"{watermark_ms} ms")
    config.set_string("rest.port", "0")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(PARALLELISM)
    return env


def matches(env: StreamExecutionEnvironment, tables: StreamTableEnvironment, n: int) -> Table:
    """The numbers are made in the JVM: subtask 0 the first half, subtask 1 the second."""
    schema = (
        Schema.new_builder()
        .column_by_expression("ts", f"TO_TIMESTAMP_LTZ(MOD(f0, {n // 2}) / 5, 3)")
        .watermark("ts", "ts - INTERVAL '0.001' SECOND")
        .build()
    )
    stream = env.from_source(
        NumberSequenceSource(0, n - 1), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    tables.create_temporary_view("numbers", stream, schema)
    return tables.sql_query(QUERY)


def expected(n: int) -> Counter[Any]:
    """Straight from the definition."""
    events: dict[int, list[tuple[int, int]]] = {}
    for i in range(n):
        events.setdefault(i * PRIME % KEYS, []).append((i % (n // 2) // 5, i * i % VALUES))
    found: Counter[Any] = Counter()
    for key, timed in events.items():
        values = [value for _, value in sorted(timed)]
        for a, b, c in zip(values, values[1:], values[2:], strict=False):
            if a < FIRST and b < SECOND <= c:
                found[key, a, b, c] += 1
    return found


def check(table: Table, n: int) -> int:
    with table.execute().collect() as rows:
        seen = Counter(tuple(row) for row in rows)
    if seen != (wanted := expected(n)):
        missing, extra = list((wanted - seen).items()), list((seen - wanted).items())
        raise SystemExit(f"wrong results: missing {missing[:5]}, not expected {extra[:5]}")
    return sum(seen.values())


def timed(tables: StreamTableEnvironment, table: Table) -> float:
    tables.execute_sql(
        "CREATE TEMPORARY TABLE nowhere (k BIGINT, a BIGINT, b BIGINT, c BIGINT) "
        "WITH ('connector' = 'blackhole')"
    )
    start = time.perf_counter()
    table.execute_insert("nowhere").wait()
    return time.perf_counter() - start


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int)
    parser.add_argument("--watermark-ms", type=int, default=200)
    parser.add_argument("--check", action="store_true", help="compare the results, do not time")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    env = environment(args.watermark_ms)
    tables = StreamTableEnvironment.create(env)
    table = matches(env, tables, args.n)
    report: dict[str, Any] = {"workload": "strict_pattern", "mode": "SQL", "n": args.n}
    if args.check:
        report["checked"] = check(table, args.n)
    else:
        report["seconds"] = round(timed(tables, table), 3)
    report["records"] = args.n
    print(json.dumps(report))


if __name__ == "__main__":
    main()
