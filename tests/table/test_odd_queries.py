"""Queries at the edges: NULL everywhere, overflow, strange names, many columns, deep nesting, gaps
of time zones; and what people get wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from millrace.common.errors import MillraceError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized
from millrace.table_runtime.record_batch_source import RecordBatchSource
from millrace.testing import run_local


@pytest.fixture(scope="module")
def env() -> Iterator[TableEnvironment]:
    with run_local(epoch_records=2):
        t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        t_env.execute_sql(
            "CREATE TEMPORARY VIEW v AS SELECT * FROM (VALUES "
            "(1, 'a', CAST(1.5 AS DECIMAL(3, 1))), "
            "(2147483647, 'b%', CAST(99.9 AS DECIMAL(3, 1)))) AS t(i, s, d)"
        )
        yield t_env


def rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in t_env.execute_sql(query).collect()]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT NULL = NULL, NULL <> 1, NULL < NULL", [(None, None, None)]),
        ("SELECT NULL IS DISTINCT FROM NULL, NULL IN (NULL)", [(False, None)]),
        ("SELECT NULL BETWEEN NULL AND NULL, 1 BETWEEN NULL AND 2", [(None, None)]),
        ("SELECT GREATEST(NULL, NULL), COALESCE(NULL, NULL), NULLIF(NULL, 1)", [(None,) * 3]),
        ("SELECT CASE NULL WHEN NULL THEN 1 ELSE 2 END, CASE WHEN NULL THEN 1 END", [(2, None)]),
        ("SELECT SUM(NULL), COUNT(NULL), MAX(NULL), COUNT(DISTINCT NULL)", [(None, 0, None, 0)]),
        ("SELECT NULL + NULL, -NULL, NOT NULL, NULL || 'a', NULL LIKE 'a'", [(None,) * 5]),
        ("SELECT i FROM v WHERE NULL OR i IN (NULL) OR i NOT IN (1, NULL)", []),
        ("SELECT DISTINCT NULL FROM v", [(None,)]),
        ("SELECT NULL UNION ALL SELECT 1", [(None,), (1,)]),
        ("SELECT a.i FROM v a JOIN v b ON a.i = NULL", []),
        ("SELECT i + 1, i * 2, -i - 2 FROM v WHERE i > 1", [(-(2**31), -2, 2**31 - 1)]),
        (
            "SELECT CAST(i AS TINYINT), TRY_CAST(d AS DECIMAL(2, 1)) FROM v WHERE i > 1",
            [(-1, None)],
        ),
        ("SELECT d * 100 FROM v WHERE i > 1", [(Decimal("9990.0"),)]),
        (f"SELECT COALESCE(NULLIF({'9' * 38} + 1, 0), 7)", [(7,)]),
        ("SELECT TRY_CAST('abc' AS INT), TRY_CAST('2024-02-30' AS DATE)", [(None, None)]),
        ("SELECT s FROM v WHERE s LIKE 'b!%' ESCAPE '!'", [("b%",)]),
        ("SELECT s FROM v WHERE i < '2' AND i IN ('1', '7') AND i BETWEEN '1' AND '1'", [("a",)]),
        ("SELECT TRUE = 'true', DATE '2020-01-02' = '2020-01-02', 1.5 < '1.6'", [(True,) * 3]),
        (
            "SELECT i FROM (VALUES (1, ARRAY[2, 1]), (2, ARRAY[1, 3]), (3, ARRAY[1])) AS t(i, a) "
            "ORDER BY a DESC",
            [(1,), (2,), (3,)],
        ),
        (
            "SELECT i, RANK() OVER (ORDER BY r) FROM (VALUES (1, ROW(2, 'x')), (2, ROW(1, 'y')), "
            "(3, ROW(2, 'x'))) AS t(i, r) ORDER BY i",
            [(1, 2), (2, 1), (3, 2)],
        ),
        (
            "SELECT CAST((b - a) DAY TO SECOND AS STRING), CAST((b - a) MONTH AS STRING), "
            "a + (b - a) HOUR = b, CAST((a - b) DAY(3) TO SECOND(3) AS STRING), (b - a) YEAR > "
            "INTERVAL '1' YEAR, CAST((c - DATE '2020-01-01') DAY AS STRING) FROM (VALUES "
            "(TIMESTAMP '2020-01-01 00:00:00', TIMESTAMP '2021-04-03 01:07:00', "
            "DATE '2020-02-02')) AS t(a, b, c)",
            [
                (
                    *("+458 01:07:00.000", "+1-03", True, "-458 01:07:00.000"),
                    *(True, "+32 00:00:00.000"),
                )
            ],
        ),
        ("VALUES (X'01'), (X'')", [(b"\x01",), (b"",)]),
        (
            "SELECT SUM(MAX(i)) OVER w FROM v GROUP BY s WINDOW w AS (ORDER BY s)",
            [(1,), (-(2**31),)],
        ),
        ("SELECT (SELECT MAX(i) FROM v) - 1, EXISTS (SELECT 1 FROM v)", [(2**31 - 2, True)]),
        ("VALUES ((SELECT MIN(i) FROM v)), (3)", [(1,), (3,)]),
        (
            "SELECT `größe ü`, `a``b` FROM (SELECT 1 AS `größe ü`, 2 AS `a``b`) AS `select`",
            [(1, 2)],
        ),
    ],
)
def test_values(env: TableEnvironment, query: str, expected: list[Any]) -> None:
    assert rows(env, query) == expected


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT CAST('abc' AS INT)", "'abc' cannot be cast to INT"),
        ("SELECT 1 / 0", "by zero: guard it with NULLIF"),
        ("SELECT CAST(d AS DECIMAL(2, 1)) AS x FROM v", "Column 'x' of the query is NOT NULL"),
        (f"SELECT CAST({'9' * 38} AS DECIMAL(38, 0)) + 1 AS x", "'x' of the query is NOT NULL"),
        ("SELECT SUM(COUNT(*)) FROM v", "COUNT is not allowed in another aggregate"),
        ("SELECT * FROM v WHERE COUNT(*) > 1", "COUNT is not allowed in WHERE"),
        ("INSERT INTO v SELECT 1", "v is a view"),
        ("SELECT (SELECT i FROM v) FROM v", "gave more than one row"),
        ("SELECT ii FROM v", "line 1, column 8: column 'ii' is not in any table; did you mean 'i'"),
        ("SELECT i\nFROM w", "line 2, column 6: there is no table or view called 'w'"),
        ("SELECT sumx(i) FROM v", "did you mean 'SUM'?"),
        (
            "SELECT i FROM v WHERE i = 'a'",
            "line 1, column 23: implicit type conversion between INT",
        ),
        ("SELECT i FROM v WHERE s <> i", "and INT NOT NULL is not supported"),
        ("SELECT (i - 1) DAY FROM v", "DAY makes an interval of two times, not of INT"),
        ("SELECT NOW() - NOW()", "write (b - a) DAY TO SECOND"),
        ("SELECT i FROM v ORDER BY MAP['a', i]", "maps have no order"),
        ("SELECT a.i FROM v a JOIN v b ON a.i = b.s", "column 33: implicit type conversion"),
        ("SELECT s LIKE 'a' ESCAPE 'xx' FROM v", "column 26: Invalid escape character 'xx'"),
        ("SELECT s LIKE 'a' ESCAPE '' FROM v", "column 26: Invalid escape character ''"),
        ("SELECT s SIMILAR TO 'a' ESCAPE s || s FROM v", "column 8: Invalid escape character 'aa'"),
        ("SELECT i FROM v WINDOW w AS (ORDER BY j)", "line 1, column 39: column 'j' is not in any"),
        ("SELECT i FROM v WINDOW w AS (w ORDER BY i)", "there is no window called 'w'"),
        ("SELECT i FROM v WINDOW w AS (ORDER BY i), W AS (ORDER BY s)", "Duplicate window names"),
        ("SELECT i FROM v WINDOW w AS (), x AS ()", "Duplicate window specification"),
        ("CREATE TABLE z ()", "line 1, column 17: ')' is not expected"),
        (f"SELECT {'(' * 500}1{')' * 500}", "nested in more than 100 others"),
        (f"SELECT {' + '.join('1' * 1_000)}", "more than 200 operators follow each other"),
        ("SELECT i FROM (" * 500 + "SELECT i FROM v" + ")" * 500, "nested in more than 100"),
    ],
)
def test_errors(env: TableEnvironment, query: str, message: str) -> None:
    with pytest.raises((MillraceError, ValueError), match=re.escape(message)):
        rows(env, query)


def test_a_time_in_the_gap_of_a_zone_is_moved_by_the_gap(batch_env: TableEnvironment) -> None:
    """As by Java's ``LocalDateTime.atZone``; of a time that occurs twice, it is the first."""
    batch_env.get_config().set_local_timezone("Europe/Berlin")
    query = "SELECT {}".format(
        ", ".join(
            f"CAST(TIMESTAMP '{text}' AS TIMESTAMP_LTZ(3))"
            for text in ("2024-03-31 02:30:00", "2024-10-27 02:30:00", "2024-07-01 12:00:00")
        )
    )
    [(skipped, repeated, plain)] = rows(batch_env, query)
    assert skipped == datetime(2024, 3, 31, 1, 30, tzinfo=UTC)
    assert repeated == datetime(2024, 10, 27, 0, 30, tzinfo=UTC)
    assert plain == datetime(2024, 7, 1, 10, 0, tzinfo=UTC)


def test_a_table_of_a_hundreds_of_columns(env: TableEnvironment) -> None:
    columns = ", ".join(f"c{number} BIGINT" for number in range(500))
    with_rows = "WITH ('connector' = 'datagen', 'number-of-rows' = '3')"
    env.execute_sql(f"CREATE TEMPORARY TABLE wide ({columns}) {with_rows}")
    counts = ", ".join(f"COUNT(c{number})" for number in range(500))
    assert rows(env, f"SELECT {counts} FROM wide") == [(3,) * 500]
    [first, *_] = rows(env, "SELECT * FROM wide AS a JOIN wide AS b ON a.c1 = a.c1 LIMIT 1")
    assert len(first) == 1_000


def test_a_long_list(env: TableEnvironment) -> None:
    listed = ", ".join(map(str, range(-3_000, 2)))
    assert rows(env, f"SELECT i FROM v WHERE i IN ({listed})") == [(1,)]


def test_more_subtasks_than_rows() -> None:
    with run_local(2, 1, epoch_records=1):
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        t_env.get_config().set("parallelism.default", "40")
        query = (
            "SELECT a.k, COUNT(*) AS c FROM (VALUES (1), (2), (1)) AS a(k) LEFT JOIN "
            "(VALUES (2), (3)) AS b(k) ON a.k = b.k GROUP BY a.k"
        )
        found = materialized(t_env.execute_sql(query).collect())
    assert sorted(tuple(row) for row in found) == [(1, 2), (2, 1)]


def test_windows_of_times_in_seconds(batch_env: TableEnvironment) -> None:
    """The last millisecond of a window is no whole second."""
    query = """SELECT window_end, window_time, COUNT(*) FROM TUMBLE(
        TABLE stamps, DESCRIPTOR(ts), INTERVAL '1' MINUTE)
        GROUP BY window_start, window_end, window_time"""
    batch_env.execute_sql(
        "CREATE TEMPORARY VIEW stamps AS "
        "SELECT * FROM (VALUES TIMESTAMP '2024-01-01 10:00:10') t (ts)"
    )
    [row] = batch_env.execute_sql(query).collect()
    assert [str(each) for each in row] == ["2024-01-01 10:01:00", "2024-01-01 10:00:59.999000", "1"]


LAST = "ROW_NUMBER() OVER (PARTITION BY {} ORDER BY ts DESC) AS n"
OF_TEXT = LAST.format("UPPER(s)")


@pytest.mark.parametrize(
    "view",
    [
        f"SELECT UPPER(s) AS name, v, ts FROM (SELECT *, {OF_TEXT} FROM r) WHERE n = 1",
        f"SELECT name, v, ts FROM (SELECT UPPER(s) AS name, v, ts, {OF_TEXT} FROM r) WHERE n = 1",
        f"SELECT name, v, ts FROM (SELECT *, {LAST.format('name')} FROM "
        "(SELECT UPPER(s) AS name, v, ts FROM r)) WHERE n = 1",
    ],
    ids=["above", "beside", "below"],
)
def test_versions_by_an_expression(t_env: TableEnvironment, view: str) -> None:
    t_env.get_config().set("parallelism.default", "3")
    for name in ("o", "r"):
        t_env.execute_sql(
            f"CREATE TABLE {name} (s STRING, v INT, ts AS TIMESTAMPADD(SECOND, v, TIMESTAMP "
            "'2024-01-01 00:00:00.000'), WATERMARK FOR ts AS ts - INTERVAL '9' SECOND) WITH ("
            f"'connector' = 'python', 'source' = '{__name__}:{name}')"
        )
    t_env.execute_sql(f"CREATE TEMPORARY VIEW rates AS {view}")
    query = (
        "SELECT o.s, o.v, rates.v FROM o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts "
        "ON UPPER(o.s) = rates.name"
    )
    assert sorted(rows(t_env, query), key=str) == [("A", 5, 4), ("a", 2, 1), ("b", 1, None)]


def o() -> RecordBatchSource:
    return RecordBatchSource(pa.record_batch({"s": ["a", "A", "b"], "v": [2, 5, 1]}))


def r() -> RecordBatchSource:
    return RecordBatchSource(pa.record_batch({"s": ["a", "A", "b"], "v": [1, 4, 3]}))
