"""Tables of real databases: scans in parts, inserts, upserts by key."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.jdbc.databases import Database

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.lookup_functions import LookupFunction, ScanningLookupFunction
from millrace.common.types.logical.logical_type import BigIntType, RowType, VarCharType
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import LookupRequest
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.table import TableEnvironment
from millrace.table.connectors.registry import factory_of

CREATE = (
    "CREATE TABLE items (id bigint NOT NULL PRIMARY KEY, name varchar(20), price decimal(10, 2), "
    "born date, happened timestamp, size double precision, ok boolean)"
)
COLUMNS = (
    "id BIGINT, name STRING, price DECIMAL(10, 2), born DATE, happened TIMESTAMP(3), size DOUBLE, "
    "ok BOOLEAN"
)
READ = "SELECT * FROM items"
VALUES = (
    "(1, 'a', 2.50, DATE '2024-02-29', TIMESTAMP '2024-02-29 01:02:03.004', 1.5E0, TRUE), "
    "(2, CAST(NULL AS STRING), 0.01, DATE '1969-01-01', TIMESTAMP '1969-01-01 00:00:00', -1.0E10, "
    "FALSE)"
)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'test.db'}"
    else:
        server = request.getfixturevalue(request.param)
        url = server.url(server.create_database())
    database = Database(url)
    yield database
    database.close()


def declare(
    t_env: TableEnvironment, database: Database, columns: str, name: str = "items", more: str = ""
) -> None:
    t_env.execute_sql(
        f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'jdbc', 'url' = '{database.url}', "
        f"'table-name' = '{name}'{more})"
    )


def rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in t_env.execute_sql(query).collect())


def test_what_is_written_is_read_again(t_env: TableEnvironment, database: Database) -> None:
    database.run(CREATE)
    declare(t_env, database, COLUMNS)
    t_env.execute_sql(f"INSERT INTO items VALUES {VALUES}").wait()
    names = ", ".join(each.split()[0] for each in COLUMNS.replace("(10, 2)", "").split(", "))
    expected = rows(t_env, f"SELECT * FROM (VALUES {VALUES}) AS t({names})")
    assert rows(t_env, "SELECT * FROM items") == expected
    assert rows(t_env, "SELECT name FROM items WHERE id = 1") == [("a",)]
    assert rows(t_env, "SELECT COUNT(*) FROM items")[-1] == (2,)


def test_parts_are_read_side_by_side(batch_env: TableEnvironment, database: Database) -> None:
    database.run("CREATE TABLE n (id bigint, v bigint)")
    database.run(*(f"INSERT INTO n VALUES ({i if i else 'NULL'}, {i})" for i in range(20)))
    more = ", 'scan.partition.column' = 'id', 'scan.partition.num' = '4', "
    more += "'scan.partition.lower-bound' = '5', 'scan.partition.upper-bound' = '9'"
    declare(batch_env, database, "id BIGINT, v BIGINT", "n", more)
    assert rows(batch_env, "SELECT v FROM n") == [(i,) for i in range(20)]


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_results_are_upserted_and_deleted_by_the_primary_key(
    t_env: TableEnvironment, database: Database, tmp_path: Path, guarantee: str
) -> None:
    database.run("CREATE TABLE totals (name varchar(20) NOT NULL PRIMARY KEY, total bigint)")
    database.run("INSERT INTO totals VALUES ('c', 1)")
    (tmp_path / "a.json").write_text(
        '{"op": "c", "after": {"name": "a", "n": 1}}\n{"op": "c", "after": {"name": "b", "n": 2}}\n'
        '{"op": "c", "after": {"name": "a", "n": 5}}\n{"op": "d", "before": {"name": "b", "n": 2}}'
    )
    t_env.execute_sql(
        "CREATE TABLE changes (name STRING, n BIGINT) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/a.json', 'format' = 'debezium-json')"
    )
    columns = "name STRING, total BIGINT, PRIMARY KEY (name) NOT ENFORCED"
    more = f", 'sink.delivery-guarantee' = '{guarantee}', 'sink.buffer-flush.max-rows' = '0'"
    declare(t_env, database, columns, "totals", more)
    t_env.get_config().set("parallelism.default", "2")
    statement = "INSERT INTO totals SELECT name, SUM(n) FROM changes GROUP BY name"
    assert "SinkUpsertMaterializer" not in t_env.explain_sql(statement)
    t_env.execute_sql(statement).wait()
    assert sorted(database.rows("SELECT * FROM totals")) == [("a", 6), ("c", 1)]


@pytest.mark.parametrize(
    "query", ["SELECT name, SUM(n) FROM changes GROUP BY name", "SELECT name, n FROM changes"]
)
def test_a_row_of_a_lost_epoch_goes_though_its_key_comes_and_goes_in_the_next(
    t_env: TableEnvironment, database: Database, tmp_path: Path, query: str
) -> None:
    database.run("CREATE TABLE totals (name varchar(20) NOT NULL PRIMARY KEY, total bigint)")
    # a process wrote it and died; the next one reads the deletion together with the insertion
    database.run("INSERT INTO totals VALUES ('b', 2)")
    (tmp_path / "a.json").write_text(
        '{"op": "c", "after": {"name": "a", "n": 1}}\n{"op": "c", "after": {"name": "b", "n": 2}}\n'
        '{"op": "d", "before": {"name": "b", "n": 2}}'
    )
    t_env.execute_sql(
        "CREATE TABLE changes (name STRING, n BIGINT) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/a.json', 'format' = 'debezium-json')"
    )
    declare(t_env, database, "name STRING, total BIGINT, PRIMARY KEY (name) NOT ENFORCED", "totals")
    t_env.execute_sql(f"INSERT INTO totals {query}").wait()
    assert database.rows("SELECT * FROM totals") == [("a", 1)]


def test_of_rows_that_are_not_unique_by_the_key_the_last_one_is_kept(
    t_env: TableEnvironment, database: Database, tmp_path: Path
) -> None:
    database.run("CREATE TABLE totals (name varchar(20) NOT NULL PRIMARY KEY, total bigint)")
    (tmp_path / "a.csv").write_text("x,1\ny,1\nx,2\n")
    t_env.execute_sql(
        "CREATE TABLE words (name STRING, g INT) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/a.csv', 'format' = 'csv')"
    )
    declare(t_env, database, "name STRING, total BIGINT, PRIMARY KEY (name) NOT ENFORCED", "totals")
    statement = "INSERT INTO totals SELECT MAX(name), COUNT(*) FROM words GROUP BY g"
    plan = t_env.explain_sql(statement)
    assert "SinkUpsertMaterializer(partitionBy=[EXPR$0]" in plan
    t_env.execute_sql(statement).wait()
    assert sorted(database.rows("SELECT * FROM totals")) == [("x", 1), ("y", 2)]


def test_a_table_without_a_key_takes_inserts_only(
    t_env: TableEnvironment, database: Database
) -> None:
    declare(t_env, database, "name STRING, total BIGINT", "totals")
    with pytest.raises(UnsupportedQueryError, match="doesn't support consuming update"):
        t_env.execute_sql("INSERT INTO totals SELECT name, SUM(total) FROM totals GROUP BY name")


def test_keys_are_looked_up_together(database: Database) -> None:
    database.run("CREATE TABLE n (id bigint, v bigint, name varchar(9))")
    database.run(*(f"INSERT INTO n VALUES ({i % 5}, {i}, 'n{i}')" for i in range(10)))
    options = {"connector": "jdbc", "url": database.url, "table-name": "n"}
    columns = RowType.of(("v", BigIntType()), ("name", VarCharType()))
    table = ResolvedTable(("c", "d", "n"), (), options=options)
    request = LookupRequest(table, columns, ("id",), options)
    factory = factory_of(options)
    function = factory.create_lookup(request, factory.options_of(table, options))
    assert isinstance(function, LookupFunction)
    function = pickle.loads(pickle.dumps(function))
    function.open()
    found = function.lookup([(3,), (7,), (1,)])
    assert {key: sorted(rows) for key, rows in found.items()} == {
        (1,): [(1, "n1"), (6, "n6")],
        (3,): [(3, "n3"), (8, "n8")],
    }
    assert isinstance(function, ScanningLookupFunction)
    assert sorted(function.scan()) == sorted(((i % 5,), (i, f"n{i}")) for i in range(10))
    function.close()


@pytest.mark.parametrize(
    ("columns", "more", "statement", "error"),
    [
        (
            "id INT, m MAP<STRING, INT>",
            "",
            "INSERT INTO items VALUES (1, MAP['a', 1])",
            "column m is of MAP.* a database cannot hold",
        ),
        ("id INT, o INT METADATA VIRTUAL", "", READ, "no metadata, but the column o requests"),
        ("id INT", ", 'scan.partition.column' = 'id'", READ, "must be set together"),
        ("id INT", ", 'user' = 'ada'", READ, "no option 'user'; did you mean 'username'"),
    ],
)
def test_what_cannot_be_is_refused(
    t_env: TableEnvironment, tmp_path: Path, columns: str, more: str, statement: str, error: str
) -> None:
    t_env.execute_sql(
        f"CREATE TABLE items ({columns}) WITH ('connector' = 'jdbc', 'table-name' = 'items', "
        f"'url' = 'jdbc:sqlite:{tmp_path}/x.db'{more})"
    )
    with pytest.raises(JobDefinitionError, match=error):
        t_env.execute_sql(statement)
