"""Tables of Delta Lake and Iceberg: made, appended to, upserted, read, followed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from millrace.common.errors import JobDefinitionError, JobExecutionError, UserFunctionError
from millrace.connectors.iceberg import changed_rows
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.table import TableEnvironment
from millrace.table.table_result import TableResult, materialized

COLUMNS = "id BIGINT, name STRING, price DECIMAL(10, 2), at_time TIMESTAMP(3), dt DATE"
VALUES = (
    "(1, 'a', 2.50, TIMESTAMP '2024-02-29 01:02:03.004', DATE '2024-02-29'), "
    "(2, CAST(NULL AS STRING), 0.01, TIMESTAMP '1970-01-01 00:00:00', DATE '1970-01-01')"
)


ICEBERG = pytest.param("iceberg", marks=pytest.mark.connectors)


@pytest.fixture(params=["delta", ICEBERG])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Options of a connector and a place for its tables."""
    if request.param == "delta":
        return f"'connector' = 'delta', 'table-path' = '{tmp_path}/TABLE'"
    return iceberg_options(tmp_path)


def iceberg_options(tmp_path: Path) -> str:
    (tmp_path / "warehouse").mkdir()
    properties = {"uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"file://{tmp_path}/warehouse"}
    load_catalog("tests", type="sql", **properties).create_namespace("shop")
    given = "".join(f", '{key}' = '{value}'" for key, value in properties.items())
    return (
        "'connector' = 'iceberg', 'catalog-name' = 'tests', 'catalog-type' = 'sql', "
        f"'catalog-database' = 'shop'{given}"
    )


def declare(
    t_env: TableEnvironment, options: str, columns: str, name: str = "t", more: str = ""
) -> None:
    given = options.replace("TABLE", name)
    t_env.execute_sql(f"CREATE TABLE {name} ({columns}) {more} WITH ({given})")


def rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, materialized(t_env.execute_sql(query).collect())), key=str)


@pytest.mark.parametrize("partitions", ["", "PARTITIONED BY (dt)"])
def test_what_is_written_is_read_again(
    t_env: TableEnvironment, options: str, partitions: str
) -> None:
    declare(t_env, options, COLUMNS, more=partitions)
    t_env.execute_sql(f"INSERT INTO t VALUES {VALUES}").wait()
    names = "id, name, price, at_time, dt"
    expected = rows(t_env, f"SELECT * FROM (VALUES {VALUES}) AS t({names})")
    assert rows(t_env, "SELECT * FROM t") == expected
    assert rows(t_env, "SELECT price FROM t WHERE name = 'a'") == [(expected[0][2],)]


def test_results_are_upserted_by_the_primary_key(t_env: TableEnvironment, options: str) -> None:
    declare(t_env, options, "name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED", "totals")
    for values in ("('a', 1), ('b', 1), ('a', 1)", "('a', 1)"):
        t_env.execute_sql(
            f"INSERT INTO totals SELECT name, COUNT(*) FROM (VALUES {values}) AS v(name, x) "
            "GROUP BY name"
        ).wait()
    assert rows(t_env, "SELECT * FROM totals") == [("a", 1), ("b", 1)]


def test_a_table_without_a_key_takes_inserts_only(t_env: TableEnvironment, options: str) -> None:
    declare(t_env, options, "name STRING, n BIGINT", "totals")
    with pytest.raises(UnsupportedQueryError, match="doesn't support consuming update"):
        t_env.execute_sql("INSERT INTO totals SELECT name, SUM(n) FROM totals GROUP BY name")


def test_changes_of_a_delta_table(t_env: TableEnvironment, tmp_path: Path) -> None:
    options = f"'connector' = 'delta', 'table-path' = '{tmp_path}/t'"
    declare(t_env, options, "id BIGINT, n BIGINT")
    t_env.execute_sql("INSERT INTO t VALUES (1, 10), (2, 20)").wait()
    table = DeltaTable(tmp_path / "t")
    table.alter.set_table_properties({"delta.enableChangeDataFeed": "true"})
    table.update({"n": "n + 1"}, predicate="id = 1")
    table.delete("id = 2")
    more = "'startingVersion' = '3'"  # after those that made and filled it
    query = f"SELECT SUM(n), COUNT(*) FROM t /*+ OPTIONS({more}) */"
    with pytest.raises(UserFunctionError, match="gives updates or deletes"):
        rows(t_env, query)
    declare(t_env, f"{options}, {more}, 'readChangeFeed' = 'true'", "id BIGINT, n BIGINT", "c")
    found = [tuple(row) for row in t_env.execute_sql("SELECT * FROM c").collect()]
    assert sorted(found) == [(1, 10), (1, 11), (2, 20)]


def test_metadata_is_refused(t_env: TableEnvironment, options: str) -> None:
    declare(t_env, options, "id INT, p STRING METADATA VIRTUAL")
    with pytest.raises(JobDefinitionError, match="has no metadata, but the column p requests"):
        t_env.execute_sql("SELECT * FROM t")


def version_of(options: str, name: str = "t") -> int:
    """The number of a table's version or snapshot."""
    if "'delta'" in options:
        return DeltaTable(options.rpartition("= '")[2].rstrip("'").replace("TABLE", name)).version()
    return len(opened(options, name).snapshots())


def opened(options: str, name: str) -> Any:
    """An Iceberg table."""
    given = dict(pair.split("' = '") for pair in options.strip("'").split("', '"))
    properties = {key: given[key] for key in ("uri", "warehouse")}
    return load_catalog("tests", type="sql", **properties).load_table(f"shop.{name}")


def test_rows_are_deleted_and_updated(
    t_env: TableEnvironment, batch_env: TableEnvironment, options: str
) -> None:
    columns = "name STRING, id BIGINT, at_time TIMESTAMP(3), dt DATE"
    key = ", PRIMARY KEY (id, name) NOT ENFORCED"
    declare(batch_env, options, columns + key, more="PARTITIONED BY (dt)")
    values = [(name, id) for name in ("a", "b") for id in (1, 2)]
    listed = ", ".join(
        f"('{name}', {id}, TIMESTAMP '2024-02-29 01:02:03.004', DATE '2024-02-0{id}')"
        for name, id in values
    )
    batch_env.execute_sql(f"INSERT INTO t VALUES {listed}")
    if "'delta'" in options:
        assert rows(batch_env, "SHOW PARTITIONS t") == [("dt=2024-02-01",), ("dt=2024-02-02",)]
    batch_env.execute_sql(
        "DELETE FROM t WHERE name = 'a' AND at_time < TIMESTAMP '2025-01-01 00:00:00'"
    )
    batch_env.execute_sql("UPDATE t SET at_time = TIMESTAMP '2025-01-01 00:00:00.5' WHERE id = 2")
    assert rows(batch_env, "SELECT name, id, CAST(at_time AS STRING) FROM t") == [
        ("b", 1, "2024-02-29 01:02:03.004"),
        ("b", 2, "2025-01-01 00:00:00.500"),
    ]
    version = version_of(options)
    batch_env.execute_sql("DELETE FROM t WHERE name = 'c'")
    batch_env.execute_sql("UPDATE t SET dt = NULL WHERE name = 'c'")
    assert version_of(options) == version
    batch_env.execute_sql("TRUNCATE TABLE t")
    assert rows(batch_env, "SELECT * FROM t") == []
    declare(t_env, options, columns + key)
    with pytest.raises(JobDefinitionError, match="needs batch mode"):
        t_env.execute_sql("DELETE FROM t")


KEYS = {
    "DATE": ("DATE '2024-02-29'", "DATE '1969-12-31'"),
    "TIMESTAMP(3)": ("TIMESTAMP '2024-02-29 01:02:03.004'", "TIMESTAMP '1969-12-31 23:00:00.001'"),
    "TIMESTAMP_LTZ(3)": ("TO_TIMESTAMP_LTZ(1500, 3)", "TO_TIMESTAMP_LTZ(-1, 3)"),
    "DECIMAL(10, 2)": ("2.50", "-0.01"),
    "STRING": ("'it''s'", "''"),
    "BYTES": ("X'00ff'", "X''"),
    "BOOLEAN": ("TRUE", "FALSE"),
    "INT": ("-1", "2147483647"),
    "DOUBLE": ("CAST(0.1 AS DOUBLE)", "CAST(1e300 AS DOUBLE)"),
}


@pytest.mark.parametrize("kind", list(KEYS))
def test_keys_of_types(batch_env: TableEnvironment, options: str, kind: str) -> None:
    one, two = KEYS[kind]
    declare(batch_env, options, f"k {kind}, n INT, PRIMARY KEY (k) NOT ENFORCED")
    batch_env.execute_sql(
        f"INSERT INTO t SELECT CAST({one} AS {kind}), 1 UNION ALL SELECT CAST({two} AS {kind}), 2"
    )
    batch_env.execute_sql(f"UPDATE t SET n = n + 10 WHERE k = CAST({two} AS {kind})")
    assert rows(batch_env, "SELECT n FROM t") == [(1,), (12,)]
    batch_env.execute_sql(f"DELETE FROM t WHERE k = CAST({one} AS {kind})")
    assert rows(batch_env, "SELECT n FROM t") == [(12,)]


def test_columns_that_are_not_declared_stay(batch_env: TableEnvironment, options: str) -> None:
    declare(batch_env, options, "id INT, a STRING, b STRING")
    batch_env.execute_sql("INSERT INTO t VALUES (1, 'a', 'b'), (2, 'c', 'd'), (1, 'e', 'f')")
    batch_env.execute_sql("DROP TABLE t")
    declare(batch_env, options, "b STRING, id INT, PRIMARY KEY (id) NOT ENFORCED")
    batch_env.execute_sql("UPDATE t SET b = 'x' WHERE id = 1 AND b = 'b'")
    batch_env.execute_sql("DROP TABLE t")
    declare(batch_env, options, "id INT, a STRING, b STRING")
    expected = [(1, "a", "x"), (1, "e", "x"), (2, "c", "d")]
    assert rows(batch_env, "SELECT * FROM t") == expected


@pytest.mark.parametrize(
    "statement", ["UPDATE t SET n = n * 10 WHERE n < 3", "DELETE FROM t WHERE n < 3"]
)
def test_a_row_that_was_changed_after_the_query_is_not_overwritten(
    batch_env: TableEnvironment, options: str, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(batch_env, options, "id INT, n INT, PRIMARY KEY (id) NOT ENFORCED")
    batch_env.execute_sql("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    between: list[str] = []
    looked_for = TableResult.collect

    def collect(result: TableResult) -> Any:
        found = list(looked_for(result))
        while between:
            batch_env.execute_sql(between.pop())
        return iter(found)

    monkeypatch.setattr(TableResult, "collect", collect)
    between += ["UPDATE t SET n = 7 WHERE id = 1"]
    with pytest.raises(
        JobExecutionError, match="another program has changed .* run the statement again"
    ):
        batch_env.execute_sql(statement)
    assert rows(batch_env, "SELECT * FROM t") == [(1, 7), (2, 2), (3, 3)]
    between += ["INSERT INTO t VALUES (4, 4)"]
    batch_env.execute_sql(statement)
    kept = [(1, 7), (3, 3), (4, 4)]
    changed = [(2, 20)] if "UPDATE" in statement else []
    assert rows(batch_env, "SELECT * FROM t") == sorted(kept + changed)


@pytest.mark.connectors
def test_a_change_that_others_keep_from_being_committed_is_made_later(
    batch_env: TableEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others append while the rows are written anew: the first commit is refused."""
    options = iceberg_options(tmp_path)
    declare(batch_env, options, "id INT, n INT, PRIMARY KEY (id) NOT ENFORCED")
    batch_env.execute_sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    replaced, times = changed_rows._replaced, [1]

    def slowly(*arguments: Any) -> Any:
        if times:
            times.pop()
            batch_env.execute_sql("INSERT INTO t VALUES (3, 3)")
        return replaced(*arguments)

    monkeypatch.setattr(changed_rows, "_replaced", slowly)
    batch_env.execute_sql("UPDATE t SET n = 10 WHERE id = 1")
    assert rows(batch_env, "SELECT * FROM t") == [(1, 10), (2, 2), (3, 3)]
