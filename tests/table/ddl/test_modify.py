"""INSERT OVERWRITE and TRUNCATE TABLE of files, DELETE, UPDATE and TRUNCATE TABLE of databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.connectors.jdbc.databases import Database

from millrace.common.errors import JobDefinitionError
from millrace.planner.binder.errors import SqlValidationError
from millrace.table import TableEnvironment

Rows = list[tuple[object, ...]]


def rows(t_env: TableEnvironment, query: str) -> Rows:
    return sorted(tuple(row) for row in t_env.execute_sql(query).collect())


def refusal(t_env: TableEnvironment, text: str) -> str:
    with pytest.raises(JobDefinitionError) as raised:
        t_env.execute_sql(text)
    return str(raised.value)


def declare_files(t_env: TableEnvironment, path: Path, partitions: str = "") -> None:
    t_env.execute_sql(
        f"CREATE TABLE files (id INT, shop STRING, n INT) {partitions} WITH "
        f"('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"
    )


def test_rows_of_files_are_replaced_by_some_of_them(
    batch_env: TableEnvironment, tmp_path: Path
) -> None:
    declare_files(batch_env, tmp_path)
    batch_env.execute_sql("INSERT INTO files VALUES (1, 'a', 1), (2, 'b', 2)")
    (tmp_path / ".begun").write_text("of a job that runs")
    batch_env.execute_sql("INSERT OVERWRITE files SELECT id + 10, shop, n FROM files WHERE id > 1")
    assert rows(batch_env, "SELECT * FROM files") == [(12, "b", 2)]
    batch_env.execute_sql("INSERT OVERWRITE files SELECT * FROM files WHERE id > 100")
    assert rows(batch_env, "SELECT * FROM files") == []
    assert (tmp_path / ".begun").exists()


def test_partitions_with_new_rows_are_replaced(batch_env: TableEnvironment, tmp_path: Path) -> None:
    declare_files(batch_env, tmp_path, "PARTITIONED BY (shop, n)")
    batch_env.execute_sql("INSERT INTO files VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1)")
    batch_env.execute_sql("INSERT OVERWRITE files VALUES (4, 'a', 1)")
    assert rows(batch_env, "SELECT * FROM files") == [(2, "a", 2), (3, "b", 1), (4, "a", 1)]
    batch_env.execute_sql("INSERT OVERWRITE files PARTITION (shop = 'a') SELECT 5, 2")
    assert rows(batch_env, "SELECT * FROM files") == [(3, "b", 1), (4, "a", 1), (5, "a", 2)]
    nothing = (
        "INSERT OVERWRITE files PARTITION (shop = 'a', n = 2) SELECT id FROM files WHERE 1 = 0"
    )
    batch_env.execute_sql(nothing)
    assert rows(batch_env, "SELECT * FROM files") == [(3, "b", 1), (4, "a", 1)]


def test_a_failed_overwrite_leaves_what_was_there(
    batch_env: TableEnvironment, tmp_path: Path
) -> None:
    declare_files(batch_env, tmp_path)
    batch_env.execute_sql("INSERT INTO files VALUES (1, 'a', 0)")
    with pytest.raises(Exception, match="zero"):
        batch_env.execute_sql("INSERT OVERWRITE files SELECT id / n, shop, n FROM files")
    assert rows(batch_env, "SELECT * FROM files") == [(1, "a", 0)]


def test_files_are_not_truncated(batch_env: TableEnvironment, tmp_path: Path) -> None:
    """As in Flink: INSERT OVERWRITE of no rows empties them."""
    declare_files(batch_env, tmp_path)
    batch_env.execute_sql("INSERT INTO files VALUES (1, 'a', 1), (3, 'b', 1)")
    with pytest.raises(JobDefinitionError, match="cannot be emptied by TRUNCATE TABLE"):
        batch_env.execute_sql("TRUNCATE TABLE files")
    assert len(rows(batch_env, "SELECT * FROM files")) == 2
    batch_env.execute_sql("INSERT OVERWRITE files SELECT * FROM files WHERE FALSE")
    assert rows(batch_env, "SELECT * FROM files") == []


@pytest.fixture(params=["sqlite", "postgresql"])
def items(
    request: pytest.FixtureRequest, batch_env: TableEnvironment, tmp_path: Path
) -> TableEnvironment:
    """An environment with the table of a database."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'test.db'}"
    else:
        server = request.getfixturevalue(request.param)
        url = server.url(server.create_database())
    database = Database(url)
    database.run(
        "CREATE TABLE items (id bigint NOT NULL PRIMARY KEY, name varchar(20), "
        "price decimal(10, 2), born date, happened timestamp)"
    )
    database.close()
    for name, key in (("items", ", PRIMARY KEY (id) NOT ENFORCED"), ("keyless", "")):
        batch_env.execute_sql(
            f"CREATE TABLE {name} (id BIGINT, name STRING, price DECIMAL(10, 2), born DATE, "
            f"happened TIMESTAMP(3){key}) WITH ('connector' = 'jdbc', 'url' = '{url}', "
            "'table-name' = 'items')"
        )
    batch_env.execute_sql(
        "INSERT INTO items VALUES "
        "(1, 'a', 2.50, DATE '2024-02-29', TIMESTAMP '2024-02-29 01:02:03.004'), "
        "(2, 'b', 0.01, CAST(NULL AS DATE), TIMESTAMP '1969-01-01 00:00:00'), "
        "(3, CAST(NULL AS STRING), 1.00, DATE '1969-01-01', CAST(NULL AS TIMESTAMP(3)))"
    )
    return batch_env


def test_rows_are_deleted(items: TableEnvironment) -> None:
    items.execute_sql("DELETE FROM items AS i WHERE i.name = 'a' OR i.id > (SELECT 2)")
    assert rows(items, "SELECT id FROM items") == [(2,)]
    items.execute_sql("DELETE FROM items WHERE id = 100")
    assert rows(items, "SELECT id FROM items") == [(2,)]
    items.execute_sql("DELETE FROM keyless")
    assert rows(items, "SELECT id FROM items") == []


def test_rows_are_updated(items: TableEnvironment) -> None:
    before = rows(items, "SELECT id, born, happened FROM items")
    items.execute_sql("UPDATE items SET name = UPPER(name) || '!', price = id WHERE price <= 1")
    found = rows(items, "SELECT id, name, CAST(price AS STRING) FROM items")
    assert found == [(1, "a", "2.50"), (2, "B!", "2.00"), (3, None, "3.00")]
    items.execute_sql("UPDATE items SET name = 'all'")
    assert rows(items, "SELECT DISTINCT name FROM items") == [("all",)]
    assert rows(items, "SELECT id, born, happened FROM items") == before


def test_a_table_of_a_database_is_truncated(items: TableEnvironment) -> None:
    items.execute_sql("TRUNCATE TABLE items")
    assert rows(items, "SELECT id FROM items") == []


def test_what_cannot_be_changed_is_refused(
    items: TableEnvironment, t_env: TableEnvironment, tmp_path: Path
) -> None:
    assert "cannot change id: it is in the primary key" in refusal(items, "UPDATE items SET id = 1")
    assert "did you mean 'name'" in refusal(items, "UPDATE items SET nam = 'x'")
    assert "has none: declare PRIMARY KEY" in refusal(items, "UPDATE keyless SET name = 'x'")
    assert "has none: declare PRIMARY KEY" in refusal(items, "DELETE FROM keyless WHERE id = 1")
    assert "TRUNCATE TABLE, then INSERT INTO" in refusal(
        items, "INSERT OVERWRITE items SELECT * FROM items"
    )
    with pytest.raises(SqlValidationError) as raised:
        items.execute_sql("DELETE FROM items WHERE nam = 'a'")
    assert "line 1, column 25" in str(raised.value)
    declare_files(items, tmp_path)
    assert "cannot be changed by DELETE" in refusal(items, "DELETE FROM files WHERE id = 1")
    assert "cannot be changed by DELETE" in refusal(items, "DELETE FROM files")
    assert "cannot be changed" in refusal(items, "UPDATE files SET id = 1")
    items.execute_sql("CREATE TABLE nothing (id INT) WITH ('connector' = 'blackhole')")
    assert "cannot be emptied by TRUNCATE TABLE" in refusal(items, "TRUNCATE TABLE nothing")


def test_streams_change_no_tables(t_env: TableEnvironment, tmp_path: Path) -> None:
    declare_files(t_env, tmp_path)
    for text in ("TRUNCATE TABLE files", "DELETE FROM files", "UPDATE files SET id = 1"):
        assert "needs batch mode" in refusal(t_env, text)
    assert "INSERT OVERWRITE needs an end" in refusal(
        t_env, "INSERT OVERWRITE files SELECT 1, 'a', 1"
    )
