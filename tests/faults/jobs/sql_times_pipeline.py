"""A SQL job to be killed, of what waits for time: interval, temporal and window joins, sessions and
MATCH_RECOGNIZE over a sequence of numbers, in files.

Usage: ``sql_times_pipeline.py DIRECTORY COUNT [RATE]``.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from sql_pipeline import FILES, NUMBERS, committed_rows

from millrace.table import EnvironmentSettings, TableEnvironment

Rows = Counter[tuple[int | None, ...]]
SECOND = "INTERVAL '{}' SECOND"
VERSIONS = """CREATE VIEW versions AS SELECT k, v, ts FROM (
    SELECT k, v, ts, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS place
    FROM (SELECT MOD(i / 10, 4) AS k, i AS v, ts FROM numbers WHERE MOD(i, 10) = 0))
WHERE place = 1"""
BURSTS = "CREATE VIEW bursts AS SELECT i, MOD(i, 2) AS k, ts FROM numbers WHERE MOD(i, 50) < 20"
THIRDS = "CREATE VIEW thirds AS SELECT i, MOD(i, 3) AS k, ts FROM numbers"

QUERIES = {
    "near": """SELECT a.i, b.i FROM (SELECT * FROM numbers WHERE MOD(i, 5) = 0) a
        LEFT JOIN (SELECT * FROM numbers WHERE MOD(i, 6) = 0) b
        ON MOD(a.i, 2) = MOD(b.i, 2)
        AND a.ts BETWEEN b.ts - INTERVAL '4' SECOND AND b.ts + INTERVAL '2' SECOND""",
    "held": """SELECT n.i, v.v FROM (SELECT i, MOD(i, 4) AS k, ts FROM numbers) n
        LEFT JOIN versions FOR SYSTEM_TIME AS OF n.ts AS v ON n.k = v.k""",
    "sessions": """SELECT MIN(i), COUNT(*) FROM
        TABLE(SESSION(TABLE bursts PARTITION BY k, DESCRIPTOR(ts), INTERVAL '10' SECOND))
        GROUP BY k, window_start, window_end""",
    "windows": """SELECT a.i, b.i
        FROM (SELECT * FROM TUMBLE(TABLE numbers, DESCRIPTOR(ts), INTERVAL '20' SECOND)
            WHERE MOD(i, 9) = 0) a
        JOIN (SELECT * FROM TUMBLE(TABLE numbers, DESCRIPTOR(ts), INTERVAL '20' SECOND)
            WHERE MOD(i, 4) = 0) b
        ON a.window_start = b.window_start AND a.window_end = b.window_end""",
    "matches": """SELECT a, c FROM thirds MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts MEASURES A.i AS a, C.i AS c
        ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B* C)
        DEFINE A AS MOD(A.i, 7) = 0, B AS MOD(B.i, 7) <> 1, C AS MOD(C.i, 7) = 1)""",
}


def main(directory: Path, count: int, rate: int = 10_000) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("pipeline.name", "faults")
    for statement in (NUMBERS.format(last=count - 1, rate=rate), VERSIONS, BURSTS, THIRDS):
        t_env.execute_sql(statement)
    statements = t_env.create_statement_set()
    for name, query in QUERIES.items():
        files = FILES.format(path=directory / name)
        t_env.execute_sql(f"CREATE TABLE {name}_ (a BIGINT, b BIGINT) {files}")
        statements.add_insert_sql(f"INSERT INTO {name}_ {query}")
    statements.execute().wait()


def expected(count: int) -> dict[str, Rows]:
    """The rows of each query."""
    numbers = range(count)
    near: Rows = Counter()
    for a in range(0, count, 5):
        found = [b for b in range(0, count, 6) if a % 2 == b % 2 and b - 4 <= a <= b + 2]
        near.update((a, b) for b in found or [None])
    held: Rows = Counter()
    for i in numbers:
        versions = [v for v in range(0, i + 1, 10) if v // 10 % 4 == i % 4]
        held[i, versions[-1] if versions else None] += 1
    bursts = [i for i in numbers if i % 50 < 20]
    sessions = Counter((i // 50 * 50 + i % 2) for i in bursts)
    return {
        "near": near,
        "held": held,
        "sessions": Counter(dict.fromkeys(sessions.items(), 1)),
        "windows": Counter(
            (a, b)
            for a in range(0, count, 9)
            for b in range(a // 20 * 20, min(a // 20 * 20 + 20, count), 4)
        ),
        # of every third number the rests by 7 are 0, 3, 6, 2, 5, 1, 4
        "matches": Counter((a, a + 15) for a in range(0, count - 15, 7)),
    }


def check_output(directory: Path, count: int) -> None:
    """Whether all is there, and once."""
    for name, rows in expected(count).items():
        assert committed_rows(directory / name) == rows, name


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
