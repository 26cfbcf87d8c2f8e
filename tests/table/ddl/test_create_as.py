"""CREATE TABLE ... AS makes a table of a query's columns, and fills it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import TableEnvironment

SOURCE = (
    "CREATE TABLE n (i BIGINT NOT NULL) WITH ('connector' = 'datagen', "
    "'fields.i.kind' = 'sequence', 'fields.i.start' = '1', 'fields.i.end' = '3')"
)


def files(path: Path) -> str:
    return f"WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')"


def rows(t_env: TableEnvironment, statement: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in t_env.execute_sql(statement).collect())


def columns(t_env: TableEnvironment, table: str) -> list[tuple[Any, ...]]:
    return [tuple(row)[:3] for row in t_env.execute_sql(f"DESCRIBE {table}").collect()]


def test_a_table_has_the_columns_and_the_rows_of_its_query(
    batch_env: TableEnvironment, tmp_path: Path
) -> None:
    batch_env.execute_sql(SOURCE)
    batch_env.execute_sql(
        f"CREATE TABLE t {files(tmp_path)} AS SELECT i, i * 2 AS twice, 'x' AS s FROM n WHERE i > 1"
    )
    assert columns(batch_env, "t") == [
        ("i", "BIGINT", False),
        ("twice", "BIGINT", False),
        ("s", "CHAR(1)", False),
    ]
    assert rows(batch_env, "SELECT * FROM t") == [(2, 4, "x"), (3, 6, "x")]


def test_declared_columns_come_first_and_have_their_own_types(
    batch_env: TableEnvironment, tmp_path: Path
) -> None:
    batch_env.execute_sql(SOURCE)
    batch_env.execute_sql(
        "CREATE TABLE t (more STRING, i DOUBLE, half AS i / 2) "
        f"{files(tmp_path)} AS SELECT 'y' AS s, i FROM n"
    )
    assert [name for name, _, _ in columns(batch_env, "t")] == ["more", "i", "half", "s"]
    assert rows(batch_env, "SELECT * FROM t WHERE i = 3") == [(None, 3.0, 1.5, "y")]
    batch_env.execute_sql(f"CREATE TABLE o (b, a) {files(tmp_path / 'o')} AS SELECT 1 AS a, 2 AS b")
    assert rows(batch_env, "SELECT * FROM o") == [(2, 1)]


def test_a_table_is_replaced_by_one_of_another_query(
    batch_env: TableEnvironment, tmp_path: Path
) -> None:
    batch_env.execute_sql(SOURCE)
    make = "CREATE {} t {} AS SELECT {} FROM n"
    batch_env.execute_sql(make.format("TABLE", files(tmp_path / "1"), "i"))
    with pytest.raises(JobDefinitionError, match="already"):
        batch_env.execute_sql(make.format("TABLE", files(tmp_path / "2"), "i"))
    batch_env.execute_sql(make.format("TABLE IF NOT EXISTS", files(tmp_path / "2"), "i"))
    assert not (tmp_path / "2").exists()
    batch_env.execute_sql(make.format("OR REPLACE TABLE", files(tmp_path / "2"), "-i AS m"))
    assert rows(batch_env, "SELECT m FROM t") == [(-3,), (-2,), (-1,)]


def test_a_query_that_cannot_run_leaves_what_there_was(
    t_env: TableEnvironment, tmp_path: Path
) -> None:
    t_env.execute_sql(SOURCE)
    grouped = f"TABLE t {files(tmp_path)} AS SELECT i, COUNT(*) AS c FROM n GROUP BY i"
    with pytest.raises(JobDefinitionError):
        t_env.execute_sql(f"CREATE {grouped}")
    assert t_env.list_tables() == ["n"]
    t_env.execute_sql("CREATE TABLE t (former INT) WITH ('connector' = 'blackhole')")
    with pytest.raises(JobDefinitionError):
        t_env.execute_sql(f"CREATE OR REPLACE {grouped}")
    assert [name for name, _, _ in columns(t_env, "t")] == ["former"]


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("CREATE TEMPORARY TABLE t WITH ('connector' = 'print') AS SELECT 1 AS a", "TEMPORARY"),
        ("CREATE TABLE t (a, c) WITH ('connector' = 'print') AS SELECT 1 AS a, 2 AS b", "a, b"),
        ("CREATE TABLE t WITH ('connector' = 'print') AS SELECT NULL AS a", "CAST"),
        ("CREATE TABLE t WITH ('connector' = 'print') AS SELECT x FROM n", "line 1, column"),
        ("CREATE TABLE t WITH ('connector' = 'prnt') AS SELECT 1 AS a", "print"),
    ],
)
def test_what_is_wrong_is_told_before_there_is_a_table(
    t_env: TableEnvironment, statement: str, error: str
) -> None:
    t_env.execute_sql(SOURCE)
    with pytest.raises(JobDefinitionError, match=error):
        t_env.execute_sql(statement)
    assert t_env.list_tables() == ["n"]


def test_names_in_a_view_are_those_of_where_it_was_made(t_env: TableEnvironment) -> None:
    t_env.execute_sql(SOURCE)
    t_env.execute_sql("CREATE DATABASE other")
    t_env.execute_sql("CREATE VIEW v AS SELECT i + 1 AS j FROM n")
    t_env.execute_sql("CREATE VIEW other.w AS SELECT j FROM v WHERE j > 3")
    t_env.execute_sql("USE other")
    t_env.execute_sql(
        "CREATE TABLE n (i STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
    )
    assert rows(t_env, "SELECT * FROM w") == [(4,)]
    assert rows(t_env, "SELECT * FROM default_database.v WHERE j < 3") == [(2,)]
    assert columns(t_env, "w") == [("j", "BIGINT", False)]
    t_env.execute_sql("ALTER VIEW w AS SELECT CHAR_LENGTH(i) AS j FROM n")
    t_env.execute_sql("USE default_database")
    assert columns(t_env, "other.w") == [("j", "INT", True)]
