"""The law of streaming SQL for windows: over rows out of order with a watermark, however they are
cut into epochs and subtasks, windows of a stream are those of the batch, and DuckDB's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.table.resident_cuts import RESIDENT_CUTS, ResidentCut

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized
from millrace.testing import run_local

ROWS = 120
COLUMNS = """
    k AS CASE WHEN MOD(i, 5) = 4 THEN NULL ELSE MOD(i, 3) END,
    v AS MOD(i * 37, 23) - 7,
    ts AS CAST(TIMESTAMPADD(SECOND, CAST(i + MOD(i * 37, 11) AS INT),
        TIMESTAMP '2024-01-01 00:00:00') AS TIMESTAMP(3)),
    WATERMARK FOR ts AS ts - INTERVAL '12' SECOND
"""
DUCK_TABLE = f"""
    CREATE TABLE t AS SELECT i, CASE WHEN i % 5 = 4 THEN NULL ELSE i % 3 END AS k,
        (i * 37) % 23 - 7 AS v,
        TIMESTAMP '2024-01-01 00:00:00' + INTERVAL 1 SECOND * (i + (i * 37) % 11) AS ts
    FROM range(1, {ROWS + 1}) AS r(i)
"""
TUMBLE = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
HOP = "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND))"
CUMULATE = "TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND))"
DUCK_TUMBLE = """(SELECT *, time_bucket(INTERVAL 10 SECOND, ts) AS window_start,
    time_bucket(INTERVAL 10 SECOND, ts) + INTERVAL 10 SECOND AS window_end FROM t)"""
DUCK_HOP = """(SELECT *, time_bucket(INTERVAL 5 SECOND, ts) - n * INTERVAL 5 SECOND AS window_start,
    time_bucket(INTERVAL 5 SECOND, ts) - n * INTERVAL 5 SECOND + INTERVAL 15 SECOND AS window_end
    FROM t, range(3) AS h(n))"""
DUCK_CUMULATE = """(SELECT *, time_bucket(INTERVAL 20 SECOND, ts) AS window_start,
    time_bucket(INTERVAL 20 SECOND, ts) + n * INTERVAL 5 SECOND AS window_end
    FROM t, range(1, 5) AS h(n)
    WHERE ts < time_bucket(INTERVAL 20 SECOND, ts) + n * INTERVAL 5 SECOND)"""
FEW = "MOD(i, 11) IN (0, 1, 3)"
"""Condition for rows no two of which have the same time."""


@dataclass(frozen=True)
class Windows:
    """A windowing in Flink's text and in DuckDB's."""

    name: str
    flink: str
    duck: str


WINDOWS = [
    Windows("tumble", TUMBLE, DUCK_TUMBLE),
    Windows("hop", HOP, DUCK_HOP),
    Windows("cumulate", CUMULATE, DUCK_CUMULATE),
]
QUERIES = {
    "groups": "SELECT window_start, window_end, k, COUNT(*) AS c, SUM(v) AS sv, MIN(v) AS low, "
    "MAX(v) AS high FROM {w} GROUP BY window_start, window_end, k",
    "all": "SELECT window_end, COUNT(k) AS c FROM {w} GROUP BY window_start, window_end",
    "distinct": "SELECT window_start, window_end, COUNT(DISTINCT v) AS d, "
    "COUNT(*) FILTER (WHERE v > 3) AS f FROM {w} GROUP BY window_start, window_end",
    "sets": "SELECT window_start, window_end, k, SUM(v) AS sv, GROUPING(k) AS g FROM {w} "
    "GROUP BY window_start, window_end, GROUPING SETS ((k), ())",
    "spread": "SELECT window_end, STDDEV_POP(CAST(v AS DOUBLE)) > 6.5 AS d, "
    "FIRST_VALUE(v - v + 1) AS f FROM {w} GROUP BY window_start, window_end",
    "having": "SELECT window_start, k FROM {w} GROUP BY window_start, window_end, k "
    "HAVING SUM(v) > 10",
}
CASCADE = (
    "SELECT window_start, window_end, SUM(c) AS total FROM TABLE(TUMBLE(TABLE {inner}, "
    "DESCRIPTOR(rowtime), INTERVAL '30' SECOND)) GROUP BY window_start, window_end"
)

SESSIONS = {
    "of a key": ("PARTITION BY k", "k", "k, "),
    "of all rows": ("", "1", ""),
}


Result = Counter[tuple[Any, ...]]


def rows(
    query: str,
    streaming: bool,
    parallelism: int = 1,
    epoch: int | None = None,
    resident: ResidentCut | None = None,
) -> Result:
    """What a query leaves."""
    mode = EnvironmentSettings.new_instance()
    mode = mode.in_streaming_mode() if streaming else mode.in_batch_mode()
    executor = resident.executor if resident else None
    with run_local(parallelism, 1, epoch_records=epoch, executor=executor):
        t_env = TableEnvironment.create(mode.build())
        t_env.get_config().set("parallelism.default", str(parallelism))
        t_env.execute_sql(
            f"CREATE TABLE t (i BIGINT, {COLUMNS}) WITH ('connector' = 'datagen', "
            f"'fields.i.kind' = 'sequence', 'fields.i.start' = '1', 'fields.i.end' = '{ROWS}')"
        )
        t_env.execute_sql(
            "CREATE TEMPORARY VIEW tens AS SELECT window_time AS rowtime, k, COUNT(*) AS c "
            f"FROM {TUMBLE} GROUP BY window_start, window_end, window_time, k"
        )
        t_env.execute_sql(
            "CREATE TEMPORARY VIEW bursts AS SELECT * FROM t WHERE MOD(i / 8, 3) <> 1"
        )
        t_env.execute_sql(
            f"CREATE TABLE keyed (i BIGINT, {COLUMNS}, PRIMARY KEY (i) NOT ENFORCED) WITH "
            "('connector' = 'datagen', 'fields.i.kind' = 'sequence', 'fields.i.start' = '1', "
            "'fields.i.end' = '40')"
        )
        t_env.execute_sql(
            "CREATE TEMPORARY VIEW versions AS SELECT i, k, v, ts FROM (SELECT *, ROW_NUMBER() "
            f"OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM t WHERE {FEW}) WHERE n = 1 AND v < 9"
        )
        found = list(t_env.execute_sql(query).collect())
    return Counter(tuple(row) for row in materialized(iter(found)))


@cache
def duck() -> duckdb.DuckDBPyConnection:
    """DuckDB with the same tables."""
    connection = duckdb.connect()
    connection.execute(DUCK_TABLE)
    connection.execute("CREATE TABLE keyed AS SELECT * FROM t WHERE i <= 40")
    connection.execute(f"CREATE VIEW versions AS SELECT * FROM t WHERE {FEW}")
    return connection


def duck_rows(query: str) -> Result:
    """What DuckDB gives."""
    return Counter(duck().execute(query).fetchall())


@pytest.mark.turns(7)
@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("windows", WINDOWS, ids=lambda windows: windows.name)
def test_windows_of_a_stream(windows: Windows, name: str) -> None:
    query = QUERIES[name].format(w=windows.flink)
    text = QUERIES[name].format(w=windows.duck).replace("FIRST_VALUE", "FIRST")
    expected = duck_rows(text)
    assert rows(query, False, parallelism=2, epoch=11) == expected
    assert rows(query, True, parallelism=1, epoch=7) == expected
    assert rows(query, True, parallelism=2, epoch=25) == expected


@pytest.mark.turns(7)
@settings(max_examples=len(QUERIES), deadline=None)
@given(st.sampled_from(WINDOWS), st.sampled_from(list(QUERIES)), st.integers(1, 2), RESIDENT_CUTS)
def test_windows_on_resident_tasks(
    windows: Windows, name: str, parallelism: int, cut: ResidentCut
) -> None:
    text = QUERIES[name].format(w=windows.duck).replace("FIRST_VALUE", "FIRST")
    query = QUERIES[name].format(w=windows.flink)
    assert rows(query, True, parallelism, resident=cut) == duck_rows(text)


@pytest.mark.turns(7)
def test_a_cascade_of_windows() -> None:
    query = CASCADE.format(inner="tens")
    expected = duck_rows(
        "SELECT time_bucket(INTERVAL 30 SECOND, ts) AS s, s + INTERVAL 30 SECOND, COUNT(*) "
        "FROM t GROUP BY s"
    )
    assert rows(query, False, parallelism=2, epoch=11) == expected
    assert rows(query, True, parallelism=1, epoch=7) == expected
    assert rows(query, True, parallelism=2, epoch=25) == expected


NEAR = "a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '3' SECOND AND b.ts + INTERVAL '2' SECOND"
TIME_JOINS = {
    "interval inner": f"SELECT a.i, b.i AS j FROM t a JOIN t b ON {NEAR}",
    "interval left": f"SELECT a.i, b.i AS j FROM t a LEFT JOIN t b ON {NEAR} AND b.v > a.v",
    "interval right": "SELECT a.i, b.i AS j FROM (SELECT * FROM t WHERE v > 3) a "
    f"RIGHT JOIN t b ON {NEAR}",
    "interval full": "SELECT a.i, b.i AS j FROM (SELECT * FROM t WHERE v > 3) a FULL JOIN "
    "(SELECT * FROM t WHERE v < 9) b ON a.k = b.k AND a.ts > b.ts AND a.ts < b.ts + "
    "INTERVAL '4' SECOND",
    "interval without key": "SELECT a.i, b.i AS j FROM t a, t b WHERE a.ts = b.ts AND a.i < b.i",
    "interval semi": f"SELECT a.i FROM t a WHERE EXISTS (SELECT * FROM t b WHERE {NEAR} "
    "AND b.v > a.v)",
    "interval anti": f"SELECT a.i FROM t a WHERE NOT EXISTS (SELECT * FROM t b WHERE {NEAR} "
    "AND b.v > a.v)",
}


WINDOW_JOINS = {
    "inner": "SELECT a.i, b.i AS j, a.window_start FROM {w} a JOIN {w} b ON {on} AND a.v < b.v",
    "left": "SELECT a.i, b.i AS j, a.window_end FROM {w} a LEFT JOIN (SELECT * FROM {w} "
    "WHERE v > 3) b ON {on}",
    "right": "SELECT a.i, b.i AS j FROM (SELECT * FROM {w} WHERE v > 3) a RIGHT JOIN {w} b ON {on}",
    "full": "SELECT a.i, b.i AS j FROM (SELECT * FROM {w} WHERE v > 3) a FULL JOIN "
    "(SELECT * FROM {w} WHERE v < 9) b ON {on} AND a.v > b.v",
    "semi": "SELECT a.i, a.window_start FROM {w} a WHERE EXISTS (SELECT * FROM {w} b WHERE {on} "
    "AND b.v > a.v + 5)",
    "anti": "SELECT a.i, a.window_start FROM {w} a WHERE NOT EXISTS (SELECT * FROM {w} b WHERE "
    "{on} AND b.v > a.v + 5)",
    "of aggregates": "SELECT a.window_start, a.k, a.c, b.c AS d FROM (SELECT window_start, "
    "window_end, k, COUNT(*) AS c FROM {w} GROUP BY window_start, window_end, k) a JOIN (SELECT "
    "window_start, window_end, k, COUNT(*) AS c FROM {w} WHERE v > 3 GROUP BY window_start, "
    "window_end, k) b ON {on}",
    "aggregated": "SELECT a.window_end, COUNT(*) AS c FROM {w} a JOIN {w} b ON {on} GROUP BY "
    "a.window_start, a.window_end",
}
SAME = "a.window_start = b.window_start AND a.window_end = b.window_end AND a.k = b.k"


@pytest.mark.turns(7)
@pytest.mark.parametrize("name", WINDOW_JOINS)
@pytest.mark.parametrize("windows", WINDOWS[:2], ids=lambda windows: windows.name)
def test_window_joins(windows: Windows, name: str) -> None:
    query = WINDOW_JOINS[name].format(w=windows.flink, on=SAME)
    expected = duck_rows(WINDOW_JOINS[name].format(w=windows.duck, on=SAME))
    assert rows(query, True, parallelism=2, epoch=25) == expected
    if name == "full":
        assert rows(query, False, parallelism=2, epoch=11) == expected


@pytest.mark.turns(7)
@pytest.mark.parametrize("name", TIME_JOINS)
def test_joins_by_time(name: str) -> None:
    query = TIME_JOINS[name]
    expected = duck_rows(query)
    assert rows(query, True, parallelism=2, epoch=17) == expected
    if name == "interval full":
        assert rows(query, False, parallelism=2, epoch=11) == expected


TEMPORAL_JOINS = {
    "version left": (
        "SELECT a.i, b.i AS j FROM t a LEFT JOIN versions FOR SYSTEM_TIME AS OF a.ts AS b "
        "ON a.k = b.k",
        "SELECT a.i, CASE WHEN b.v < 9 THEN b.i END FROM t a ASOF LEFT JOIN versions b "
        "ON a.k = b.k AND a.ts >= b.ts",
    ),
    "version inner": (
        "SELECT a.i, b.v FROM t a JOIN versions FOR SYSTEM_TIME AS OF a.ts AS b "
        "ON a.k = b.k AND b.v > a.v WHERE b.i > 20",
        "SELECT a.i, b.v FROM t a ASOF JOIN versions b ON a.k = b.k AND a.ts >= b.ts "
        "WHERE b.v > a.v AND b.v < 9 AND b.i > 20",
    ),
    "table": (
        "SELECT a.i, b.i AS j, b.v FROM t a LEFT JOIN keyed FOR SYSTEM_TIME AS OF a.ts AS b "
        "ON MOD(a.i, 50) = b.i AND a.k = b.k",
        "SELECT a.i, b.i, b.v FROM t a LEFT JOIN keyed b "
        "ON MOD(a.i, 50) = b.i AND a.ts >= b.ts AND a.k = b.k",
    ),
}


@pytest.mark.turns(7)
@pytest.mark.parametrize("name", TEMPORAL_JOINS)
def test_temporal_joins(name: str) -> None:
    query, duck = TEMPORAL_JOINS[name]
    expected = duck_rows(duck)
    assert rows(query, False, parallelism=2, epoch=11) == expected
    assert rows(query, True, parallelism=2, epoch=17) == expected


@pytest.mark.turns(7)
@pytest.mark.parametrize(
    ("query", "name"),
    [
        (TIME_JOINS["interval anti"], "IntervalJoin"),
        ("SELECT a.i FROM t a JOIN t b ON a.k = b.k AND a.ts < b.ts", "Join"),
        (WINDOW_JOINS["full"].format(w=HOP, on=SAME), "WindowJoin"),
        (
            f"SELECT a.i FROM {TUMBLE} a JOIN {TUMBLE} b ON a.window_start = b.window_start",
            "Join",
        ),
    ],
)
def test_names_of_joins(query: str, name: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(f"CREATE TABLE t (i BIGINT, {COLUMNS}) WITH ('connector' = 'datagen')")
    text = t_env.explain_sql(query)
    assert f" {name}(joinType=" in text.replace("+-", "").replace(":-", "")


@pytest.mark.turns(7)
def test_windows_of_an_interval_join_lose_no_row() -> None:
    joined = f"WITH j AS (SELECT b.ts AS ts, a.v FROM t a JOIN t b ON {NEAR}) "
    window = "TABLE(TUMBLE(TABLE j, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
    query = f"{joined} SELECT window_start, COUNT(*) AS c FROM {window} GROUP BY window_start, "
    bucket = "time_bucket(INTERVAL 10 SECOND, ts)"
    expected = duck_rows(f"{joined} SELECT {bucket} AS w, COUNT(*) FROM j GROUP BY w")
    assert rows(f"{query} window_end", True, parallelism=2, epoch=7) == expected


@pytest.mark.turns(7)
@pytest.mark.parametrize("name", SESSIONS)
def test_sessions_of_a_stream(name: str) -> None:
    """Rows of a key come some seconds apart, in bursts."""
    partition, duck_key, keys = SESSIONS[name]
    query = (
        f"SELECT {keys}window_start, window_end, COUNT(*) AS c, SUM(v) AS sv FROM TABLE(SESSION("
        f"TABLE bursts {partition}, DESCRIPTOR(ts), INTERVAL '4' SECOND)) "
        f"GROUP BY {keys}window_start, window_end"
    )
    expected = duck_rows(
        f"SELECT {keys}MIN(ts), MAX(ts) + INTERVAL 4 SECOND, COUNT(*), SUM(v) FROM ("
        "SELECT *, SUM(fresh) OVER (PARTITION BY g ORDER BY ts ROWS UNBOUNDED PRECEDING) AS n "
        "FROM (SELECT *, CASE WHEN ts - LAG(ts) OVER (PARTITION BY g ORDER BY ts) "
        "<= INTERVAL 4 SECOND THEN 0 ELSE 1 END AS fresh FROM "
        f"(SELECT *, {duck_key} AS g FROM t WHERE (i // 8) % 3 <> 1))) GROUP BY {keys}g, n"
    )
    assert len(expected) > 2
    call = "SESSION(ts, INTERVAL '4' SECOND)"
    start, end = (call.replace("SESSION", f"SESSION_{each}") for each in ("START", "END"))
    legacy = f"SELECT {keys}{start}, {end}, COUNT(*), SUM(v) FROM bursts GROUP BY {keys}{call}"
    assert rows(legacy, True, parallelism=2, epoch=13) == expected
    assert rows(query, False, parallelism=2, epoch=11) == expected
    assert rows(query, True, parallelism=1, epoch=7) == expected
    assert rows(query, True, parallelism=2, epoch=25) == expected


@pytest.mark.turns(7)
@pytest.mark.parametrize(
    ("query", "duck"),
    [
        ("SELECT k, i, window_start, window_end FROM {w}", "SELECT k, i, s, e FROM sessions"),
        (
            "SELECT window_start, window_end, COUNT(*), COUNT(DISTINCT v) FROM {w} "
            "GROUP BY window_start, window_end",
            "SELECT s, e, COUNT(*), COUNT(DISTINCT v) FROM sessions GROUP BY s, e",
        ),
        (
            "SELECT k, MOD(v, 2), window_end, SUM(v) FROM {w} "
            "GROUP BY k, MOD(v, 2), window_start, window_end",
            "SELECT k, v % 2, e, SUM(v) FROM sessions GROUP BY k, v % 2, s, e",
        ),
        (
            "SELECT k, window_start, COUNT(DISTINCT v) AS d FROM {w} "
            "GROUP BY k, window_start, window_end",
            "SELECT k, s, COUNT(DISTINCT v) FROM sessions GROUP BY k, s, e",
        ),
    ],
    ids=["rows", "all keys", "more keys", "distinct"],
)
def test_rows_with_their_sessions(query: str, duck: str) -> None:
    """Sessions of partitions that the query does not group by, or not only."""
    window = "TABLE(SESSION(TABLE bursts PARTITION BY k, DESCRIPTOR(ts), INTERVAL '4' SECOND))"
    sessions = (
        "WITH marked AS (SELECT *, CASE WHEN ts - LAG(ts) OVER (PARTITION BY k ORDER BY ts) "
        "<= INTERVAL 4 SECOND THEN 0 ELSE 1 END AS fresh FROM t WHERE (i // 8) % 3 <> 1), "
        "numbered AS (SELECT *, SUM(fresh) OVER (PARTITION BY k ORDER BY ts ROWS UNBOUNDED "
        "PRECEDING) AS n FROM marked), sessions AS (SELECT *, MIN(ts) OVER (PARTITION BY k, n) "
        "AS s, MAX(ts) OVER (PARTITION BY k, n) + INTERVAL 4 SECOND AS e FROM numbered) "
    )
    expected, text = duck_rows(sessions + duck), query.format(w=window)
    assert rows(text, False, parallelism=2, epoch=11) == expected
    assert rows(text, True, parallelism=1, epoch=7) == expected
    assert rows(text, True, parallelism=2, epoch=25) == expected
