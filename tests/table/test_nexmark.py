"""The queries of Nexmark, as streams and in batch mode, against DuckDB.

Their text is in ``benchmarks/nexmark_suite.py``. DuckDB's is made of it: it lacks windows, and some
functions have other names. q12 has windows by processing time: the clock of `run_local` begins in
1970 and stays within the first of them. q13 looks rows up in SQLite.
"""

from __future__ import annotations

import re
import runpy
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from millrace.common.errors import MillraceError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized
from millrace.testing import run_local

SUITE = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "benchmarks" / "nexmark_suite.py"), run_name="suite"
)
QUERIES = SUITE["QUERIES"]
EVENTS, RATE = 2500, 80
"""Half a minute of event time: windows fire while the stream runs."""
COMPARED = {"q19": ("auction", "price", "rank_number")}
"""The columns that a query decides, where rows have equal ranks."""

DUCK: list[tuple[str, str]] = [
    (
        r"TABLE\(TUMBLE\(TABLE (\w+), DESCRIPTOR\(`dateTime`\), INTERVAL '10' SECOND\)\)",
        r"(SELECT *, time_bucket(INTERVAL 10 SECOND, `dateTime`) AS window_start, "
        r"time_bucket(INTERVAL 10 SECOND, `dateTime`) + INTERVAL 10 SECOND AS window_end FROM \1)",
    ),
    (
        r"TABLE\(HOP\(TABLE bid, DESCRIPTOR\(`dateTime`\), INTERVAL '2' SECOND, "
        r"INTERVAL '10' SECOND\)\)",
        "(SELECT *, time_bucket(INTERVAL 2 SECOND, `dateTime`) - n * INTERVAL 2 SECOND AS "
        "window_start, window_start + INTERVAL 10 SECOND AS window_end FROM bid, range(5) AS r(n))",
    ),
    (
        r"TABLE\(SESSION\(TABLE bid PARTITION BY bidder, DESCRIPTOR\(`dateTime`\), "
        r"INTERVAL '10' SECOND\)\)",
        "(SELECT bidder, MIN(`dateTime`) OVER s AS window_start, MAX(`dateTime`) OVER s + "
        "INTERVAL 10 SECOND AS window_end FROM (SELECT *, SUM(begins) OVER (PARTITION BY bidder "
        "ORDER BY `dateTime`) AS session FROM (SELECT *, CASE WHEN `dateTime` - LAG(`dateTime`) "
        "OVER (PARTITION BY bidder ORDER BY `dateTime`) <= INTERVAL 10 SECOND THEN 0 ELSE 1 END "
        "AS begins FROM bid)) WINDOW s AS (PARTITION BY bidder, session))",
    ),
    (
        r"TABLE\(TUMBLE\(TABLE proctime_bid, DESCRIPTOR\(p_time\), INTERVAL '10' SECOND\)\)",
        "(SELECT *, TIMESTAMP '1970-01-01' AS window_start, TIMESTAMP '1970-01-01 00:00:10' AS "
        "window_end FROM bid)",
    ),
    (
        r"proctime_bid AS B JOIN side_input FOR SYSTEM_TIME AS OF B.p_time",
        "bid AS B JOIN side_input",
    ),
    (r"DATE_FORMAT\(`dateTime`, 'yyyy-MM-dd'\)", "strftime(`dateTime`, '%Y-%m-%d')"),
    (r"DATE_FORMAT\(`dateTime`, 'HH:mm'\)", "strftime(`dateTime`, '%H:%M')"),
    (r"SPLIT_INDEX\(url, '/', (\d)\)", r"split_part(url, '/', \1 + 1)"),
    (r"(REGEXP_EXTRACT\([^)]*\)[^)]*\)[^)]*\))", r"NULLIF(\1, '')"),
    (r"AVG\(([\w.]+)\)", r"CAST(SUM(\1) // COUNT(\1) AS BIGINT)"),
    ("CHAR_LENGTH", "length"),
    ("`", '"'),
]


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    time = "make_timestamp(1000 * {ms})"
    ms = f"({SUITE['START_MS']} + i * 1000 // {RATE})"
    connection.execute(
        f'CREATE TABLE events AS SELECT i, {time.format(ms=ms)} AS "dateTime" '
        f"FROM range({EVENTS}) AS r(i)"
    )
    for view in SUITE["views"](time, RATE):
        connection.execute(view.replace(" / ", " // ").replace("`", '"'))
    connection.execute(
        "CREATE TABLE side_input AS SELECT key, 'side ' || key AS val FROM range(10000) AS r(key)"
    )
    return connection


@pytest.fixture(scope="module")
def side_input(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("nexmark") / "side.db")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE side_input (key bigint primary key, val varchar(20))")
        rows = [(key, f"side {key}") for key in range(10_000)]
        connection.executemany("INSERT INTO side_input VALUES (?, ?)", rows)
    return SUITE["side_input"](path)


def duck_text(text: str) -> str:
    for pattern, replacement in DUCK:
        text = re.sub(pattern, replacement, text)
    return text


def environment(streaming: bool, *more: str) -> TableEnvironment:
    mode = EnvironmentSettings.new_instance()
    t_env = TableEnvironment.create(
        (mode.in_streaming_mode() if streaming else mode.in_batch_mode()).build()
    )
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.get_config().set("parallelism.default", "2")
    for statement in [*SUITE["tables"](EVENTS, RATE), *more]:
        t_env.execute_sql(statement)
    return t_env


def result(name: str, streaming: bool, side_input: str) -> Counter[tuple[Any, ...]]:
    """What a query leaves, the columns compared only."""
    with run_local(2, 1, epoch_records=60):
        found = list(environment(streaming, side_input).execute_sql(QUERIES[name].text).collect())
    rows = materialized(iter(found))
    columns = COMPARED.get(name)
    return Counter(tuple(row[each] for each in columns) if columns else tuple(row) for row in rows)


def runs(name: str) -> bool:
    return not QUERIES[name].refused


@pytest.mark.turns(7)
@pytest.mark.parametrize("name", [name for name in QUERIES if runs(name)])
def test_results_are_those_of_duckdb(
    name: str, duck: duckdb.DuckDBPyConnection, side_input: str
) -> None:
    text = duck_text(QUERIES[name].text)
    if name in COMPARED:
        text = f"SELECT {', '.join(COMPARED[name])} FROM ({text})"
    expected = Counter(duck.execute(text).fetchall())
    assert expected, "a query without rows proves nothing"
    assert result(name, False, side_input) == expected
    assert result(name, True, side_input) == expected


@pytest.mark.parametrize("name", [name for name in QUERIES if QUERIES[name].refused])
def test_what_flink_refuses(name: str) -> None:
    with pytest.raises(MillraceError, match=QUERIES[name].refused), run_local():
        environment(True).execute_sql(QUERIES[name].text)
