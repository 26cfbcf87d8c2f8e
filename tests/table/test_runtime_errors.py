"""Errors of expressions at run time say where in the statement, of which value, and no frames."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common.errors import MillraceError
from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.udf import udf
from millrace.testing import run_local


@pytest.fixture(scope="module")
def env() -> Iterator[TableEnvironment]:
    with run_local(epoch_records=2):
        t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        t_env.execute_sql(
            "CREATE TEMPORARY VIEW v AS SELECT * FROM (VALUES (1, 'a'), (2, '3')) AS t(i, s)"
        )
        yield t_env


def message(t_env: TableEnvironment, query: str) -> str:
    with pytest.raises(MillraceError) as caught:
        list(t_env.execute_sql(query).collect())
    return str(caught.value)


@pytest.mark.parametrize(
    ("query", "place", "reason", "marked"),
    [
        ("SELECT i,\n  CAST(s AS INT) FROM v", (2, 3), "'a' cannot be cast to INT", 14),
        ("SELECT i FROM v WHERE CAST(s AS DATE) > DATE '2020-01-01'", (1, 23), "'a'", 15),
        ("SELECT SUM(CAST(s AS INT)) FROM v", (1, 12), "'a' cannot", 14),
        ("SELECT i FROM v\nGROUP BY i HAVING 1 / (SUM(i) - 1) > 0", (2, 19), "/ by zero", 16),
        ("SELECT i + 1 / (i - i) FROM v", (1, 12), "/ by zero", 11),
        ("SELECT CASE WHEN s = 'a' THEN CAST(s AS INT) END FROM v", (1, 31), "'a'", 14),
        ("SELECT x FROM (SELECT i / (i - 1) AS x FROM v) WHERE x > 0", (1, 23), "zero", 11),
        ("SELECT a.i FROM v a JOIN v b ON a.i = CAST(b.s AS INT)", (1, 39), "'a'", 16),
        ("SELECT i FROM v ORDER BY CAST(s AS INT)", (1, 26), "'a' cannot", 14),
        ("SELECT s LIKE 'a' ESCAPE s FROM v", (1, 8), "escape 'a'", 19),
    ],
)  # fmt: skip
def test_the_place_of_an_expression(
    env: TableEnvironment, query: str, place: tuple[int, int], reason: str, marked: int
) -> None:
    told = message(env, query)
    assert "Traceback" not in told
    assert f"line {place[0]}, column {place[1]}: " in told
    assert reason in told
    assert "(in the row " in told
    assert told.endswith("^" * marked)
    assert not told.endswith("^" * (marked + 1))


@pytest.mark.parametrize(
    ("query", "row"),
    [
        ("SELECT 1 / (n - 2) FROM numbered", r"\(in the row n = 2\)"),
        ("SELECT n FROM numbered WHERE CAST(t AS INT) > 0", r"\(in the row n = [3-9]\)"),
        ("SELECT 'a' FROM numbered a JOIN v ON i = 1 / (n - 4)", r"\(in the row n = 4\)"),
    ],
)
def test_the_row_is_told(env: TableEnvironment, query: str, row: str) -> None:
    env.execute_sql(
        "CREATE TABLE IF NOT EXISTS numbered (n INT, t AS CONCAT(CASE WHEN n > 2 THEN 'x' ELSE '' "
        "END, CAST(n AS STRING))) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', "
        "'fields.n.start' = '1', 'fields.n.end' = '9')"
    )
    told = message(env, query)
    assert re.search(row, told)
    assert re.search(r"operator '(Calc|Join)", told)


def test_there_are_no_watermarks_in_batch_mode(env: TableEnvironment) -> None:
    query = "SELECT i FROM v WHERE CURRENT_WATERMARK(CAST(s AS TIMESTAMP(3))) IS NULL"
    assert "CURRENT_WATERMARK is for streams" in message(env, query)


def test_in_a_view_it_is_the_text_of_the_view(env: TableEnvironment) -> None:
    env.execute_sql("CREATE TEMPORARY VIEW numbers AS SELECT CAST(s AS INT) AS n FROM v")
    told = message(env, "SELECT n + 1 FROM numbers")
    assert "'a' cannot be cast to INT" in told
    assert "CAST(s AS INT)\n" in told or "CAST(s AS INT) AS n" in told


def test_functions_of_users_show_their_own_lines(env: TableEnvironment) -> None:
    @udf(result_type=DataTypes.BIGINT())
    def broken(value: Any) -> Any:
        raise ValueError(f"not {value}")

    env.create_temporary_function("broken", broken)
    told = message(env, "SELECT ABS(broken(i)) FROM v")
    assert "ValueError: not 1" in told
    assert "for the arguments (1)" in told
    assert "test_runtime_errors.py" in told


@pytest.mark.parametrize(
    "value",
    [
        "DATE '9999-12-31' + INTERVAL '1' DAY",
        "TIMESTAMPADD(YEAR, 9000, TIMESTAMP '2020-01-01 00:00:00')",
        "MAX(DATE '9999-12-31' + i * INTERVAL '1' DAY)",
    ],
)
def test_times_that_python_does_not_have(env: TableEnvironment, value: str) -> None:
    assert "years 1 to 9999" in message(env, f"SELECT {value} FROM v")
    ((text,),) = env.execute_sql(f"SELECT CAST({value} AS STRING) FROM v LIMIT 1").collect()
    assert text.startswith("1")
