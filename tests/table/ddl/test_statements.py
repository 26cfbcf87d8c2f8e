"""DDL, SHOW, DESCRIBE, USE, SET and RESET do what Flink's documentation says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import ConfigurationError, JobDefinitionError
from millrace.sql.errors import SqlParserError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.catalog import (
    CatalogPartition,
    CatalogPartitionSpec,
    GenericInMemoryCatalog,
    ObjectPath,
)
from millrace.table.catalog.errors import CatalogError

BLACKHOLE = "WITH ('connector' = 'blackhole')"


def rows(t_env: TableEnvironment, statement: str) -> list[Any]:
    """The rows of a statement; of one column its values."""
    found = [tuple(row) for row in t_env.execute_sql(statement).collect()]
    return [row[0] for row in found] if found and len(found[0]) == 1 else found


def refusal(t_env: TableEnvironment, statement: str) -> str:
    with pytest.raises((JobDefinitionError, ConfigurationError)) as raised:
        t_env.execute_sql(statement)
    return str(raised.value)


def test_tables_come_and_go(t_env: TableEnvironment) -> None:
    t_env.execute_sql(f"CREATE TABLE t (a INT) {BLACKHOLE}")
    assert "there is a table or view `default_catalog`.`default_database`.`t` already" in refusal(
        t_env, f"CREATE TABLE t (a INT) {BLACKHOLE}"
    )
    t_env.execute_sql(f"CREATE TABLE IF NOT EXISTS t (b INT) {BLACKHOLE}")
    assert rows(t_env, "SHOW TABLES") == ["t"]
    assert "did you mean 't'" in refusal(t_env, "DROP TABLE tt")
    assert "is not a view" in refusal(t_env, "DROP VIEW t")
    t_env.execute_sql("DROP TABLE t")
    t_env.execute_sql("DROP TABLE IF EXISTS t")
    assert rows(t_env, "SHOW TABLES") == []


def test_temporary_tables_hide_others(t_env: TableEnvironment) -> None:
    t_env.execute_sql(f"CREATE TABLE t (a INT) {BLACKHOLE}")
    t_env.execute_sql(f"CREATE TEMPORARY TABLE t (b INT) {BLACKHOLE}")
    assert t_env.from_path("t").get_schema().get_field_names() == ["b"]
    assert "use DROP TEMPORARY TABLE first" in refusal(t_env, "DROP TABLE t")
    t_env.execute_sql("DROP TEMPORARY TABLE t")
    assert t_env.from_path("t").get_schema().get_field_names() == ["a"]


def test_describe(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TABLE t (id BIGINT COMMENT 'who', m STRING METADATA FROM 'k' VIRTUAL, "
        f"PRIMARY KEY (id) NOT ENFORCED) {BLACKHOLE}"
    )
    assert rows(t_env, "DESCRIBE t") == [
        ("id", "BIGINT", False, "PRI(id)", None, None, "who"),
        ("m", "STRING", True, None, "METADATA FROM 'k' VIRTUAL", None, None),
    ]
    assert [row[0] for row in rows(t_env, "SHOW COLUMNS FROM t LIKE 'i%'")] == ["id"]
    assert "there is no table x" in refusal(t_env, "DESCRIBE x")


def test_show_create_gives_a_statement_that_makes_the_table(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TABLE t (id BIGINT NOT NULL, `a b` ROW<x INT>, PRIMARY KEY (id) NOT ENFORCED) "
        f"COMMENT 'it''s' PARTITIONED BY (id) {BLACKHOLE}"
    )
    [text] = rows(t_env, "SHOW CREATE TABLE t")
    t_env.execute_sql("DROP TABLE t")
    t_env.execute_sql(text)
    assert rows(t_env, "SHOW CREATE TABLE t") == [text]


def test_like_takes_over_another_table(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TABLE base (a INT, b AS a + 1, PRIMARY KEY (a) NOT ENFORCED) "
        "WITH ('connector' = 'print', 'print-identifier' = 'x')"
    )
    t_env.execute_sql(
        "CREATE TABLE more (c INT) WITH ('print-identifier' = 'y') "
        "LIKE base (EXCLUDING GENERATED OVERWRITING OPTIONS)"
    )
    [text] = rows(t_env, "SHOW CREATE TABLE more")
    assert "`a` INT,\n  `c` INT,\n  PRIMARY KEY (`a`)" in text
    assert "'print-identifier' = 'y'" in text
    assert "OVERWRITING OPTIONS" in refusal(
        t_env, "CREATE TABLE x (c INT) WITH ('connector' = 'print') LIKE base (INCLUDING OPTIONS)"
    )


def test_alter_table(t_env: TableEnvironment) -> None:
    t_env.execute_sql(f"CREATE TABLE t (a INT, b INT) {BLACKHOLE}")
    for action in (
        "ADD (c STRING FIRST, d INT AFTER a)",
        "MODIFY b BIGINT COMMENT 'big'",
        "RENAME d TO e",
        "DROP a",
        "SET ('sink.parallelism' = '2')",
        "ADD PRIMARY KEY (b) NOT ENFORCED",
    ):
        t_env.execute_sql(f"ALTER TABLE t {action}")
    [text] = rows(t_env, "SHOW CREATE TABLE t")
    assert text.splitlines()[1:5] == [
        "  `c` STRING,",
        "  `e` INT,",
        "  `b` BIGINT COMMENT 'big',",
        "  PRIMARY KEY (`b`) NOT ENFORCED",
    ]
    assert "'sink.parallelism' = '2'" in text
    assert "used by the primary key; drop that first" in refusal(t_env, "ALTER TABLE t DROP b")
    t_env.execute_sql("ALTER TABLE t DROP PRIMARY KEY")
    t_env.execute_sql("ALTER TABLE t RESET ('sink.parallelism')")
    t_env.execute_sql("ALTER TABLE t RENAME TO u")
    assert rows(t_env, "SHOW TABLES") == ["u"]
    assert "did you mean 'e'" in refusal(t_env, "ALTER TABLE u DROP ee")
    assert "has no watermark" in refusal(t_env, "ALTER TABLE u DROP WATERMARK")


def test_views_are_kept_as_text(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE VIEW v (x) COMMENT 'one' AS SELECT 1")
    assert rows(t_env, "SHOW VIEWS") == ["v"]
    assert rows(t_env, "SHOW CREATE VIEW v")[0].endswith("(`x`)\nCOMMENT 'one'\nAS SELECT 1")
    t_env.execute_sql("ALTER VIEW v RENAME TO w")
    t_env.execute_sql("ALTER VIEW w AS SELECT 2")
    assert rows(t_env, "SHOW CREATE VIEW w")[0].endswith("AS SELECT 2")
    t_env.execute_sql("DROP VIEW w")


def test_databases_and_catalogs(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE DATABASE d COMMENT 'c' WITH ('k' = 'v')")
    t_env.execute_sql("USE d")
    assert rows(t_env, "SHOW CURRENT DATABASE") == ["d"]
    t_env.execute_sql(f"CREATE TABLE t (a INT) {BLACKHOLE}")
    assert ("comment", "c") in rows(t_env, "DESCRIBE DATABASE d")
    assert "database d is in use" in refusal(t_env, "DROP DATABASE d")
    t_env.execute_sql("USE default_database")
    assert "is not empty" in refusal(t_env, "DROP DATABASE d")
    t_env.execute_sql("ALTER DATABASE d SET ('k' = 'w')")
    assert ("k", "w") in rows(t_env, "DESCRIBE DATABASE d")
    t_env.execute_sql("DROP DATABASE d CASCADE")
    t_env.execute_sql("CREATE CATALOG c WITH ('type' = 'generic_in_memory')")
    assert rows(t_env, "SHOW CATALOGS") == ["c", "default_catalog"]
    t_env.execute_sql("USE CATALOG c")
    assert rows(t_env, "SHOW CURRENT CATALOG") == ["c"]
    assert rows(t_env, "SHOW DATABASES") == ["default"]
    assert "did you mean 'c'" in refusal(t_env, "USE CATALOG cc")
    t_env.execute_sql("USE CATALOG default_catalog")
    t_env.execute_sql("DROP CATALOG c")


def test_show_takes_patterns(t_env: TableEnvironment) -> None:
    for name in ("orders", "users", "Other"):
        t_env.execute_sql(f"CREATE TABLE `{name}` (a INT) {BLACKHOLE}")
    assert rows(t_env, "SHOW TABLES LIKE 'o%'") == ["orders"]
    assert rows(t_env, "SHOW TABLES ILIKE 'o%'") == ["Other", "orders"]
    assert rows(t_env, "SHOW TABLES NOT LIKE 'o%'") == ["Other", "users"]
    assert rows(t_env, "SHOW TABLES FROM default_database LIKE '_sers'") == ["users"]


def test_functions(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TEMPORARY SYSTEM FUNCTION F AS 'm.f' LANGUAGE PYTHON")
    t_env.execute_sql("CREATE FUNCTION g AS 'm.g' LANGUAGE PYTHON")
    assert rows(t_env, "SHOW USER FUNCTIONS") == ["f", "g"]
    assert "JAVA are not supported" in refusal(t_env, "CREATE FUNCTION h AS 'h' LANGUAGE JAVA")
    t_env.execute_sql("DROP FUNCTION g")
    t_env.execute_sql("DROP TEMPORARY SYSTEM FUNCTION f")
    assert "there is no function g" in refusal(t_env, "DROP FUNCTION g")


@pytest.mark.parametrize("kind", ["", "TEMPORARY ", "TEMPORARY SYSTEM "])
def test_alter_function_replaces_it(t_env: TableEnvironment, kind: str) -> None:
    alter = f"ALTER {kind}FUNCTION f AS 'math.floor' LANGUAGE PYTHON"
    assert "there is no function f" in refusal(t_env, alter)
    t_env.execute_sql(alter.replace("FUNCTION", "FUNCTION IF EXISTS"))
    t_env.execute_sql(f"CREATE {kind}FUNCTION f AS 'm.f' LANGUAGE PYTHON")
    t_env.execute_sql(alter)
    function = t_env._session.catalogs.function(("f",))
    assert function is not None
    assert function.class_name == "math.floor"


def test_options(t_env: TableEnvironment) -> None:
    t_env.execute_sql("SET 'table.exec.state.ttl' = '1 h'")
    mode = ("execution.runtime-mode", "STREAMING")
    assert rows(t_env, "SET") == [mode, ("table.exec.state.ttl", "1 h")]
    assert "did you mean" in refusal(t_env, "SET 'table.exec.state.tl' = '1 h'")
    t_env.execute_sql("RESET 'table.exec.state.ttl'")
    assert rows(t_env, "SET") == [mode]


def test_errors_of_syntax_show_the_place(t_env: TableEnvironment) -> None:
    with pytest.raises(SqlParserError) as raised:
        t_env.execute_sql("CREATE TABLE t (a INT,\n b INTT)")
    assert "line 2, column 4" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("ADD JAR 'a.jar'", "ADD JAR", "there is no JVM"),
        ("REMOVE JAR 'a.jar'", "REMOVE JAR", "there is no JVM"),
        ("CALL f()", "CALL", "no catalog here has procedures"),
        ("ALTER CATALOG c SET ('a' = 'b')", "ALTER CATALOG", "use DROP CATALOG, then CREATE"),
    ],
)
def test_what_cannot_be_executed_is_refused_with_the_reason(
    t_env: TableEnvironment, text: str, name: str, reason: str
) -> None:
    assert refusal(t_env, text).startswith(f"{name} cannot be executed here: {reason}")


def test_modules(t_env: TableEnvironment) -> None:
    t_env.execute_sql("USE MODULES core")
    assert rows(t_env, "SHOW FULL MODULES") == [("core", True)]
    assert "there is no module hive; there are core" in refusal(t_env, "USE MODULES core, hive")
    assert "CREATE FUNCTION" in refusal(t_env, "LOAD MODULE hive")
    assert "already" in refusal(t_env, "LOAD MODULE core")
    assert "cannot be unloaded" in refusal(t_env, "UNLOAD MODULE core")
    assert rows(t_env, "SHOW JARS") == []


def test_catalogs_tell_what_they_were_made_with(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE CATALOG c COMMENT 'mine' WITH ('type'='generic_in_memory', 'default-database'='d')"
    )
    assert rows(t_env, "DESCRIBE CATALOG c") == [
        ("name", "c"),
        ("type", "generic_in_memory"),
        ("comment", "mine"),
    ]
    assert rows(t_env, "DESCRIBE CATALOG EXTENDED c")[3:] == [("option:default-database", "d")]
    [text] = rows(t_env, "SHOW CREATE CATALOG c")
    t_env.execute_sql("DROP CATALOG c")
    t_env.execute_sql(text)
    assert rows(t_env, "SHOW CREATE CATALOG c") == [text]
    assert "generic_in_memory" in rows(t_env, "SHOW CREATE CATALOG default_catalog")[0]
    assert "did you mean 'c'" in refusal(t_env, "SHOW CREATE CATALOG cc")
    t_env.register_catalog("own", GenericInMemoryCatalog("own"))
    assert "created by the program" in refusal(t_env, "DESCRIBE CATALOG own")


def test_partitions_are_those_of_the_files(t_env: TableEnvironment, tmp_path: Path) -> None:
    t_env.execute_sql(
        "CREATE TABLE f (n INT, shop STRING, y INT) PARTITIONED BY (shop, y) WITH ("
        f"'connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
    )
    assert rows(t_env, "SHOW PARTITIONS f") == []
    t_env.execute_sql("INSERT INTO f VALUES (1, 'a b', 1), (2, 'a b', 2), (3, 'c', 1)").wait()
    assert rows(t_env, "SHOW PARTITIONS f") == ["shop=a b/y=1", "shop=a b/y=2", "shop=c/y=1"]
    assert rows(t_env, "SHOW PARTITIONS f PARTITION (y = 1)") == ["shop=a b/y=1", "shop=c/y=1"]
    added = CatalogPartitionSpec({"y": "3", "shop": "b"})
    catalog = t_env.get_catalog("default_catalog")
    catalog.create_partition(ObjectPath("default_database", "f"), added, CatalogPartition())
    assert rows(t_env, "SHOW PARTITIONS f PARTITION (shop = 'b')") == ["shop=b/y=3"]
    assert "no partition column n" in refusal(t_env, "SHOW PARTITIONS f PARTITION (n = 1)")
    t_env.execute_sql(f"CREATE TABLE b (a INT) {BLACKHOLE}")
    assert "is not partitioned" in refusal(t_env, "SHOW PARTITIONS b")


def test_expressions_that_are_added_are_checked(t_env: TableEnvironment) -> None:
    t_env.execute_sql(f"CREATE TABLE t (a INT, ts TIMESTAMP(3)) {BLACKHOLE}")
    assert "did you mean 'a'" in refusal(t_env, "ALTER TABLE t ADD (b AS aa + 1)")
    assert "WATERMARK FOR a" in refusal(t_env, "ALTER TABLE t ADD (WATERMARK FOR a AS a)")
    assert [row[0] for row in rows(t_env, "DESCRIBE t")] == ["a", "ts"]


@pytest.mark.parametrize(
    ("statement", "marked", "reason"),
    [
        ("DROP TABLE\n  main.`shop`.ordres", "main.`shop`.ordres", "no table"),
        ("ALTER TABLE ordres RENAME TO x", "ordres", "no table"),
        ("DESCRIBE ordres", "ordres", "no table ordres; did you mean 'orders'"),
        ("SHOW COLUMNS FROM ordres", "ordres", "no table"),
        ("CREATE TABLE more LIKE ordres", "ordres", "no table"),
        ("CREATE VIEW orders AS SELECT 1", "orders", "already"),
        ("ALTER TABLE orders DROP x", "x", "no column x"),
        ("SHOW TABLES FROM shop", "shop", "no database"),
        ("USE CATALOG x", "x", "no catalog"),
        ("DROP FUNCTION f", "f", "no function"),
    ],
)
def test_names_that_are_not_there_are_marked(statement: str, marked: str, reason: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("CREATE CATALOG main WITH ('type' = 'generic_in_memory')")
    t_env.execute_sql("CREATE DATABASE main.shop")
    t_env.execute_sql("CREATE TABLE orders (i INT) WITH ('connector' = 'datagen')")
    with pytest.raises(CatalogError, match=reason) as caught:
        t_env.execute_sql(statement)
    told, line, carets = str(caught.value).split("\n")
    column = line.index(marked) if marked != "x" else line.rindex(marked)
    assert carets == " " * column + "^" * len(marked)
    number = 1 + statement[: statement.rindex(marked)].count("\n")
    assert told.startswith(f"line {number}, column {column + 1}: there is")


@pytest.mark.parametrize(
    ("statement", "reason", "column"),
    [
        ("INSERT INTO sink (a, a) SELECT 1, 2", "the column 'a' is written more than once", 13),
        ("INSERT INTO sink SELECT 1", "the query gives 1 column for 2", 13),
        (
            "INSERT INTO sink SELECT 'x', 'y'",
            "gives CHAR(1) NOT NULL for a, which is of type INT",
            13,
        ),
        ("CREATE VIEW v (x, y) AS SELECT 1", "the view has 2 columns, but its query has 1", 13),
        ("CREATE TABLE t (k INT, k INT)", "two columns have the name 'k'", 24),
        ("CREATE TABLE t (k INT, WATERMARK FOR b AS b)", "there is no such column", 43),
        ("CREATE TABLE t (k INT, WATERMARK FOR k AS k)", "the type of a time attribute", 43),
        ("CREATE TABLE t (k INT, PRIMARY KEY (b) NOT ENFORCED)", "the primary key names", 37),
        ("CREATE TABLE t (k INT) PARTITIONED BY (b)", "PARTITIONED BY names 'b'", 40),
    ],
)
def test_columns_that_do_not_fit_are_told_with_their_place(
    t_env: TableEnvironment, statement: str, reason: str, column: int
) -> None:
    t_env.execute_sql(f"CREATE TABLE sink (a INT, b STRING) {BLACKHOLE}")
    said = refusal(t_env, f"{statement} {BLACKHOLE}" if " TABLE " in statement else statement)
    assert reason in said
    assert said.startswith(f"line 1, column {column}: ")
    assert "^" in said


def test_partitions_are_added_and_dropped(t_env: TableEnvironment, tmp_path: Path) -> None:
    files = f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/t', 'format' = 'csv')"
    t_env.execute_sql(f"CREATE TABLE t (a INT, d STRING, n INT) PARTITIONED BY (d, n) {files}")
    t_env.execute_sql(
        "ALTER TABLE t ADD PARTITION (d = 'x', n = -1) WITH ('owner' = 'ada') "
        "PARTITION (d = 'y', n = 2)"
    )
    assert rows(t_env, "SHOW PARTITIONS t") == ["d=x/n=-1", "d=y/n=2"]
    catalog = t_env.get_catalog("default_catalog")
    spec = CatalogPartitionSpec({"d": "x", "n": "-1"})
    found = catalog.get_partition(ObjectPath("default_database", "t"), spec)
    assert found.get_properties() == {"owner": "ada"}
    assert "already" in refusal(t_env, "ALTER TABLE t ADD PARTITION (d = 'y', n = 2)")
    t_env.execute_sql("ALTER TABLE t ADD IF NOT EXISTS PARTITION (d = 'y', n = 2)")
    t_env.execute_sql("ALTER TABLE t DROP PARTITION (d = 'x', n = -1)")
    assert rows(t_env, "SHOW PARTITIONS t") == ["d=y/n=2"]
    assert "no partition" in refusal(t_env, "ALTER TABLE t DROP PARTITION (d = 'x', n = -1)")
    t_env.execute_sql("ALTER TABLE t DROP IF EXISTS PARTITION (d = 'x', n = -1)")
    assert "is named by d, n, not by d" in refusal(t_env, "ALTER TABLE t ADD PARTITION (d = 'z')")


def test_partitions_of_tables_that_cannot_have_them_are_refused(t_env: TableEnvironment) -> None:
    t_env.execute_sql(f"CREATE TABLE t (a INT) {BLACKHOLE}")
    assert "is not partitioned" in refusal(t_env, "ALTER TABLE t ADD PARTITION (a = 1)")
    t_env.execute_sql(f"CREATE TEMPORARY TABLE s (a INT) PARTITIONED BY (a) {BLACKHOLE}")
    assert "is temporary" in refusal(t_env, "ALTER TABLE s ADD PARTITION (a = 1)")
