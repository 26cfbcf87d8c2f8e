"""The law of batch mode: however sources are cut into epochs, a query gives the same rows, once.

Each query reads tables of 21 rows, in 1, 2, 7 and 21 epochs; the operators of streams would give
each epoch's results. See `test_law` and `test_random_queries` for queries that DuckDB answers too,
and `tests/conformance/test_batch_law.py` for those of the conformance suite.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millrace.common.config.execution_mode import RuntimeExecutionMode
from millrace.common.types.row import Row, RowKind
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    StreamTableEnvironment,
    TableEnvironment,
)
from millrace.table.udf import udaf
from millrace.testing import run_local

ROWS = 21
EPOCHS = (1, 2, 7, ROWS)
SIZES = [(epochs, -(-ROWS // epochs)) for epochs in EPOCHS]
COLUMNS = "id INT, k INT, v INT, s STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts"

QUERIES = {
    "count": "SELECT COUNT(*), SUM(v), MAX(v), AVG(v) FROM t",
    "count of nothing": "SELECT COUNT(*), SUM(v) FROM t WHERE v > 1000",
    "groups": "SELECT k, COUNT(*), MIN(s), COUNT(DISTINCT s) FROM t GROUP BY k HAVING COUNT(*) > 1",
    "groups of groups": "SELECT n, COUNT(*) FROM (SELECT v, COUNT(*) AS n FROM t GROUP BY v) "
    "GROUP BY n",
    "sets": "SELECT k, s, GROUPING(k) AS g, COUNT(*) FROM t GROUP BY GROUPING SETS ((k, s), (k), "
    "())",
    "cube": "SELECT k, s, SUM(v) FROM t GROUP BY CUBE (k, s)",
    "distinct": "SELECT DISTINCT k, s FROM t",
    "scalar": "SELECT id, (SELECT COUNT(*) FROM u) AS n FROM t WHERE v > (SELECT AVG(v) FROM t)",
    "correlated": "SELECT id, (SELECT MAX(v) FROM u WHERE u.k = t.k) AS m FROM t",
    "in": "SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE v > 9)",
    "not in": "SELECT id FROM t WHERE v NOT IN (SELECT v FROM u WHERE v IS NOT NULL)",
    "not exists": "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.v = t.v + 1)",
    "left": "SELECT t.id, u.id FROM t LEFT JOIN u ON t.v = u.v AND t.id < u.id",
    "full": "SELECT t.id, u.id FROM t FULL JOIN u ON t.id = u.v",
    "join of groups": "SELECT a.k, a.n, b.m FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) a "
    "JOIN (SELECT k, MAX(v) AS m FROM u GROUP BY k) b ON a.k = b.k",
    "first of each": "SELECT id, k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v "
    "DESC, id) AS r FROM t) WHERE r = 1",
    "ranks": "SELECT id, r FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY v) AS r FROM t) "
    "WHERE r BETWEEN 2 AND 3",
    "last by time": "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) "
    "AS r FROM t) WHERE r = 1",
    "sorted": "SELECT id, v FROM t ORDER BY v DESC, id",
    "first rows": "SELECT id, v FROM t ORDER BY v, id LIMIT 5 OFFSET 2",
    "any rows": "SELECT id FROM t LIMIT 5 OFFSET 3",
    "count of any rows": "SELECT COUNT(*) FROM (SELECT id FROM t LIMIT 5)",
    "sorted groups": "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC, k LIMIT 3",
    "over": "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 "
    "FOLLOWING), LEAD(v) OVER (ORDER BY id), COUNT(*) OVER () FROM t",
    "window": "SELECT k, window_start, COUNT(*) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '7' "
    "SECOND) GROUP BY k, window_start, window_end",
    "sessions": "SELECT k, COUNT(*), SESSION_START(ts, INTERVAL '3' SECOND) FROM t "
    "GROUP BY k, SESSION(ts, INTERVAL '3' SECOND)",
    "window of groups": "WITH g AS (SELECT k, ts, COUNT(*) AS n FROM t GROUP BY k, ts) SELECT "
    "window_start, SUM(n) FROM TUMBLE(TABLE g, DESCRIPTOR(ts), INTERVAL '9' SECOND) "
    "GROUP BY window_start, window_end",
    "window of ranked": "WITH g AS (SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY v "
    "ORDER BY id) AS r FROM t) WHERE r = 1) SELECT window_start, COUNT(*) FROM TUMBLE(TABLE g, "
    "DESCRIPTOR(ts), INTERVAL '9' SECOND) GROUP BY window_start, window_end",
    "window of over": "WITH g AS (SELECT ts, SUM(v) OVER (ORDER BY id) AS n FROM t) SELECT "
    "window_start, MAX(n) FROM HOP(TABLE g, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' "
    "SECOND) GROUP BY window_start, window_end",
    "union": "SELECT k FROM t UNION SELECT v FROM u",
    "intersect": "SELECT v FROM t INTERSECT ALL SELECT v FROM u",
    "except": "SELECT v FROM t EXCEPT SELECT k FROM u",
    "unnest": "SELECT k, COUNT(x) FROM t LEFT JOIN UNNEST(ARRAY[v, k]) AS a (x) ON TRUE GROUP BY k",
    "matches": "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS a, "
    "LAST(B.id) AS b ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) DEFINE B AS "
    "B.v > A.v, C AS C.v < A.v)",
    "matches of groups": "WITH g AS (SELECT k, ts, SUM(v) AS n FROM t GROUP BY k, ts) SELECT * "
    "FROM g MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.n AS a, B.n AS b PATTERN (A B) "
    "DEFINE B AS B.n > A.n)",
    "groups of matches": "SELECT COUNT(*), SUM(a) FROM (SELECT *, PROCTIME() AS p FROM t) "
    "MATCH_RECOGNIZE (PARTITION BY k ORDER BY p MEASURES A.id AS a PATTERN (A B) DEFINE B AS "
    "B.v > A.v)",
    "function": "SELECT k, longest(s) FROM t GROUP BY k",
    "collected": "SELECT k, CARDINALITY(ARRAY_AGG(v)), CARDINALITY(COLLECT(s)), "
    "CHAR_LENGTH(LISTAGG(s)) FROM t GROUP BY k",
    "instant": "SELECT DISTINCT NOW(), PROCTIME() FROM t",
    "view": "SELECT k, total + 1 FROM totals WHERE total > 10",
    "with twice": "WITH w AS (SELECT k, COUNT(*) AS n FROM t GROUP BY k) SELECT a.k, b.n FROM w a "
    "JOIN w b ON a.n = b.n",
}


class Longest(AggregateFunction):
    """The longest text."""

    def create_accumulator(self) -> Row:
        return Row("")

    def accumulate(self, accumulator: Row, text: str | None) -> None:
        if text is not None and len(text) >= len(accumulator[0]):
            accumulator[0] = text

    def get_value(self, accumulator: Row) -> str:
        return str(accumulator[0])


def record(number: int, shift: int) -> str:
    """A row, as JSON; some columns have no value."""
    k = number * 7 % 5
    v = "null" if number % 11 == shift else number * 17 % 23 + shift
    text = "x" * (number % 4)
    time = f"2026-01-01 00:00:{number % 40:02}"
    return f'{{"id": {number}, "k": {k}, "v": {v}, "s": "{text}", "ts": "{time}"}}'


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tables")
    for shift, name in enumerate("tu"):
        lines = [record(number, shift) for number in range(ROWS)]
        (made / f"{name}.json").write_text("\n".join(lines) + "\n")
    return made


@contextmanager
def session(directory: Path, size: int, epochs: int, parallelism: int) -> Iterator[Any]:
    """A batch session whose sources give ``size`` rows per epoch."""
    with run_local(parallelism, 1, epoch_records=size) as cluster:
        t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        t_env.get_config().set("parallelism.default", str(parallelism))
        for name in "tu":
            t_env.execute_sql(
                f"CREATE TABLE {name} ({COLUMNS}) WITH ('connector' = 'filesystem', "
                f"'path' = '{directory}/{name}.json', 'format' = 'json')"
            )
        t_env.create_temporary_function("longest", udaf(Longest(), result_type=DataTypes.STRING()))
        t_env.execute_sql("CREATE VIEW totals AS SELECT k, SUM(v) AS total FROM t GROUP BY k")
        yield t_env
        assert max(job.epochs for job in cluster.progress) >= epochs


def rows_of(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    found = list(t_env.execute_sql(query).collect())
    assert all(row.get_row_kind() is RowKind.INSERT for row in found)
    return [tuple(row) for row in found]


@pytest.mark.turns(7)
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_any_number_of_epochs_gives_the_same_rows(query: str, directory: Path) -> None:
    found: dict[int, list[tuple[Any, ...]]] = {}
    for epochs, size in SIZES:
        with session(directory, size, epochs, parallelism=1) as t_env:
            found[epochs] = rows_of(t_env, query)
    assert found[1], "a query that gives nothing shows nothing"
    ordered = "ORDER BY v" in query and "OVER" not in query
    for epochs, rows in found.items():
        assert Counter(rows) == Counter(found[1]), epochs
        assert not ordered or rows == found[1]


@pytest.mark.turns(7)
@pytest.mark.parametrize("name", ["groups", "full", "sets", "first of each", "window of ranked"])
def test_so_does_any_number_of_subtasks(name: str, directory: Path) -> None:
    with session(directory, ROWS, 1, parallelism=1) as t_env:
        expected = Counter(rows_of(t_env, QUERIES[name]))
    with session(directory, 3, 7, parallelism=3) as t_env:
        assert Counter(rows_of(t_env, QUERIES[name])) == expected


@pytest.mark.parametrize(("epochs", "size"), SIZES)
def test_a_sink_that_appends_gets_each_row_once(
    epochs: int, size: int, directory: Path, tmp_path: Path
) -> None:
    with session(directory, size, epochs, parallelism=1) as t_env:
        for name in ("counts", "maxima"):
            t_env.execute_sql(
                f"CREATE TABLE {name} (k INT, n BIGINT) WITH ('connector' = 'filesystem', "
                f"'path' = '{tmp_path}/{name}', 'format' = 'json')"
            )
        statements = t_env.create_statement_set()
        statements.add_insert_sql("INSERT INTO counts SELECT k, COUNT(*) FROM t GROUP BY k")
        statements.add_insert_sql("INSERT INTO maxima SELECT MAX(k), COUNT(*) FROM u")
        statements.execute().wait()
        t_env.execute_sql("INSERT OVERWRITE maxima SELECT k, n + 1 FROM maxima").wait()
        assert sorted(rows_of(t_env, "SELECT * FROM counts")) == [
            (0, 5),
            (1, 4),
            (2, 4),
            (3, 4),
            (4, 4),
        ]
        assert rows_of(t_env, "SELECT * FROM maxima") == [(4, 22)]


def test_parts_of_a_database_table_are_one_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = sqlite3.connect(tmp_path / "x.db")
    database.execute("CREATE TABLE nums (id INTEGER)")
    database.executemany("INSERT INTO nums VALUES (?)", [(number,) for number in range(10)])
    database.commit()
    with run_local(epoch_records=2):
        t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        t_env.get_config().set("parallelism.default", "1")
        t_env.execute_sql(
            f"CREATE TABLE nums (id INT) WITH ('connector' = 'jdbc', 'url' = "
            f"'jdbc:sqlite:{tmp_path}/x.db', 'table-name' = 'nums', 'scan.partition.column' = 'id',"
            " 'scan.partition.num' = '3', 'scan.partition.lower-bound' = '0', "
            "'scan.partition.upper-bound' = '9')"
        )
        t_env.execute_sql("SELECT COUNT(*) AS n FROM nums").print()
        assert capsys.readouterr().out == "+----+\n|  n |\n+----+\n| 10 |\n+----+\n1 row in set\n"
        above = rows_of(t_env, "SELECT id FROM nums WHERE id > (SELECT AVG(id) FROM nums)")
        assert sorted(above) == [(5,), (6,), (7,), (8,), (9,)]


def test_a_source_of_so_many_rows_per_second_takes_epochs_of_its_own() -> None:
    with run_local() as cluster:
        t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        t_env.get_config().set("parallelism.default", "1")
        t_env.execute_sql(
            "CREATE TABLE g (id INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10', "
            "'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '20')"
        )
        assert rows_of(t_env, "SELECT COUNT(*), MAX(id) FROM g") == [(20, 20)]
        assert cluster.progress[-1].epochs > 1


def test_streams_and_tables_of_one_batch_job() -> None:
    with run_local(epoch_records=3):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        t_env = StreamTableEnvironment.create(env)
        t_env.create_temporary_view(
            "t", t_env.from_elements([(number, number % 3) for number in range(20)], ["n", "k"])
        )
        totals = t_env.to_data_stream(t_env.sql_query("SELECT k, SUM(n) AS s FROM t GROUP BY k"))
        summed = totals.map(lambda row: (0, row.s)).key_by(lambda pair: pair[0]).sum(1)
        assert list(summed.execute_and_collect()) == [(0, 190)]
