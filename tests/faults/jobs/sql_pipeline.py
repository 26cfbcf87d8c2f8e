"""A SQL job to be killed: windows and pairs of a sequence of numbers, in files.

Usage: ``sql_pipeline.py DIRECTORY COUNT [RATE]``.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from millrace.table import EnvironmentSettings, TableEnvironment

WINDOW = 100

NUMBERS = """CREATE TABLE numbers (
    i BIGINT,
    ts AS CAST(TIMESTAMPADD(SECOND, CAST(i AS INT), TIMESTAMP '2024-01-01 00:00:00')
        AS TIMESTAMP(3)),
    WATERMARK FOR ts AS ts - INTERVAL '20' SECOND
) WITH ('connector' = 'datagen', 'fields.i.kind' = 'sequence', 'fields.i.start' = '0',
    'fields.i.end' = '{last}', 'rows-per-second' = '{rate}')"""
FILES = "WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{path}')"
WINDOWS = f"""INSERT INTO windows
    SELECT MOD(i, 3), MIN(i), COUNT(*), SUM(i), COUNT(DISTINCT MOD(i, 7))
    FROM TABLE(TUMBLE(TABLE numbers, DESCRIPTOR(ts), INTERVAL '{WINDOW}' SECOND))
    GROUP BY window_start, window_end, MOD(i, 3)"""
PAIRS = """INSERT INTO pairs SELECT a.i, b.i
    FROM (SELECT i FROM numbers) a JOIN (SELECT i FROM numbers WHERE MOD(i, 7) = 0) b
    ON a.i + 1 = b.i"""


def main(directory: Path, count: int, rate: int = 10_000) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("pipeline.name", "faults")
    t_env.execute_sql(NUMBERS.format(last=count - 1, rate=rate))
    for name, columns in (
        ("windows", "k BIGINT, low BIGINT, c BIGINT, total BIGINT, sevenths BIGINT"),
        ("pairs", "a BIGINT, b BIGINT"),
    ):
        t_env.execute_sql(f"CREATE TABLE {name} ({columns}) {FILES.format(path=directory / name)}")
    statements = t_env.create_statement_set()
    statements.add_insert_sql(WINDOWS)
    statements.add_insert_sql(PAIRS)
    statements.execute().wait()


def check_output(directory: Path, count: int) -> None:
    """Whether all is there, and once."""
    groups = defaultdict[tuple[int, int], list[int]](list)
    for number in range(count):
        groups[number // WINDOW, number % 3].append(number)
    windows = Counter(
        (key[1], min(group), len(group), sum(group), len({n % 7 for n in group}))
        for key, group in groups.items()
    )
    assert committed_rows(directory / "windows") == windows
    assert committed_rows(directory / "pairs") == Counter((n - 1, n) for n in range(7, count, 7))


def committed_rows(directory: Path) -> Counter[tuple[Any, ...]]:
    """The rows of files that are committed: others have a dot before their names."""
    files = [path for path in directory.rglob("*") if path.is_file() and path.name[0] != "."]
    lines = (line for path in files for line in path.read_text().splitlines())
    return Counter(tuple(json.loads(line).values()) for line in lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
