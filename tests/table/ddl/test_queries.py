"""Queries run, INSERT casts to its table, EXPLAIN shows what would run."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.planner.binder.errors import SqlValidationError
from millrace.table import ExplainDetail, TableEnvironment

SEQUENCE = (
    "CREATE TABLE n (i BIGINT NOT NULL, twice AS i * 2) WITH ('connector' = 'datagen', "
    "'fields.i.kind' = 'sequence', 'fields.i.start' = '1', 'fields.i.end' = '5')"
)


def rows(t_env: TableEnvironment, statement: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in t_env.execute_sql(statement).collect())


def test_select_where_with_computed_columns(t_env: TableEnvironment) -> None:
    t_env.execute_sql(SEQUENCE)
    assert rows(t_env, "SELECT i, twice + 1 AS k FROM n WHERE i > 3") == [(4, 9), (5, 11)]
    assert [tuple(row) for row in t_env.sql_query("SELECT 1, 'a'").execute().collect()] == [
        (1, "a")
    ]


def test_views_of_text_and_of_tables(t_env: TableEnvironment) -> None:
    t_env.execute_sql(SEQUENCE)
    t_env.execute_sql("CREATE VIEW big (b) AS SELECT i FROM n WHERE i > 4")
    assert rows(t_env, "SELECT b + 1 FROM big") == [(6,)]
    assert [tuple(row) for row in t_env.from_path("big").execute().collect()] == [(5,)]
    assert rows(t_env, "DESCRIBE big")[0][:3] == ("b", "BIGINT", False)


def test_insert_casts_and_fills_up(t_env: TableEnvironment, capsys: Any) -> None:
    t_env.execute_sql(SEQUENCE)
    t_env.execute_sql("CREATE TABLE p (x DOUBLE, y STRING, z INT) WITH ('connector' = 'print')")
    t_env.execute_sql("INSERT INTO p (z, x) SELECT 7, i FROM n WHERE i = 1").wait()
    t_env.execute_sql("INSERT INTO p PARTITION (z = '3') SELECT 1, 'a'").wait()
    assert capsys.readouterr().out == "+I[1.0, null, 7]\n+I[1.0, a, 3]\n"


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("INSERT INTO p SELECT 'a', 1", "CHAR(1) NOT NULL for x, which is of type DOUBLE"),
        ("INSERT INTO p SELECT 1", "gives 1 column for 2; name the columns"),
        ("INSERT INTO p (x, yy) SELECT 1, 'a'", "no column yy; did you mean 'y'?"),
        ("INSERT INTO pp SELECT 1, 'a'", "there is no table pp; did you mean 'p'?"),
        ("SELECT xx FROM p", "line 1, column 8"),
    ],
)
def test_wrong_statements(t_env: TableEnvironment, statement: str, error: str) -> None:
    t_env.execute_sql("CREATE TABLE p (x DOUBLE, y STRING) WITH ('connector' = 'print')")
    with pytest.raises((JobDefinitionError, SqlValidationError)) as raised:
        t_env.execute_sql(statement)
    assert error in str(raised.value)


def test_statement_sets_are_one_job(t_env: TableEnvironment, capsys: Any) -> None:
    t_env.execute_sql(SEQUENCE)
    t_env.execute_sql("CREATE TABLE p (x BIGINT) WITH ('connector' = 'print')")
    result = t_env.execute_sql(
        "EXECUTE STATEMENT SET BEGIN INSERT INTO p SELECT i FROM n WHERE i = 1; "
        "INSERT INTO p SELECT i FROM n WHERE i = 2; END"
    )
    result.wait()
    assert sorted(capsys.readouterr().out.split()) == ["+I[1]", "+I[2]"]
    inserts = t_env.create_statement_set().add_insert_sql("INSERT INTO p SELECT 8")
    inserts.add_insert("p", t_env.sql_query("SELECT CAST(9 AS BIGINT)"))
    inserts.execute().wait()
    assert sorted(capsys.readouterr().out.split()) == ["+I[8]", "+I[9]"]
    with pytest.raises(JobDefinitionError, match="has no INSERT"):
        inserts.execute()


def test_explain_shows_one_calc_over_the_source(t_env: TableEnvironment) -> None:
    t_env.execute_sql(SEQUENCE)
    text = t_env.explain_sql("SELECT twice FROM n WHERE i > 3", ExplainDetail.JSON_EXECUTION_PLAN)
    plan = text.partition("== Optimized Execution Plan ==")[2].partition("==")[0]
    first, second = plan.strip().splitlines()
    assert first.startswith("Calc(select=[")
    assert second == (
        "+- TableSourceScan(table=[[default_catalog, default_database, n]], fields=[i])"
    )
    assert '"stages"' in text
    assert "LogicalFilter" in text


def test_options_in_hints_reach_the_source(t_env: TableEnvironment) -> None:
    t_env.execute_sql(SEQUENCE)
    assert rows(t_env, "SELECT i FROM n /*+ OPTIONS('fields.i.end' = '2') */") == [(1,), (2,)]


def test_a_watermark_of_a_computed_column(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TABLE e (i BIGINT, ts TIMESTAMP(3), t2 AS ts, WATERMARK FOR t2 AS t2) "
        "WITH ('connector' = 'datagen', 'number-of-rows' = '4')"
    )
    assert len(rows(t_env, "SELECT i FROM e")) == 4
    with pytest.raises(JobDefinitionError, match="time attribute must be TIMESTAMP"):
        t_env.execute_sql(
            "CREATE TABLE f (i BIGINT, WATERMARK FOR i AS i) WITH ('connector' = 'datagen')"
        )


def test_explain_shows_the_kinds_of_rows_that_operators_give(t_env: TableEnvironment) -> None:
    t_env.execute_sql(SEQUENCE)
    query = "SELECT i, COUNT(*) AS c FROM n GROUP BY i"
    assert "changelogMode" not in t_env.explain_sql(query)
    text = t_env.explain_sql(query, ExplainDetail.CHANGELOG_MODE)
    text, _, executor = text.partition("== Executor ==")
    assert executor.strip()
    plan = text.partition("== Optimized Execution Plan ==")[2].strip().splitlines()
    modes = [line.partition("changelogMode=")[2] for line in plan if "Exchange" not in line]
    assert modes[0] == "[I,UB,UA])"
    assert modes[-1] == "[I])"
    t_env.execute_sql(
        "CREATE TABLE u (i BIGINT, c BIGINT, PRIMARY KEY (i) NOT ENFORCED) "
        "WITH ('connector' = 'blackhole')"
    )
    inserts = (
        f"EXPLAIN CHANGELOG_MODE STATEMENT SET BEGIN INSERT INTO u {query}; "
        "INSERT INTO u SELECT i, twice FROM n; END"
    )
    [text] = [row[0] for row in t_env.execute_sql(inserts).collect()]
    sinks = [line for line in text.splitlines() if line.startswith("Sink(")]
    assert len(sinks) == 2
    assert "changelogMode=[I,UB,UA])" in text
