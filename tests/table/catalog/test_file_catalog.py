"""What is declared in one session is there in the next."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.catalog.catalog_objects import CatalogView
from millrace.table.catalog.errors import CatalogError
from millrace.table.catalog.file_catalog import FileCatalog
from millrace.table.catalog.object_path import ObjectPath

STATEMENTS = (
    "CREATE DATABASE sales COMMENT 'of shops' WITH ('owner' = 'ann')",
    "CREATE TABLE sales.orders (id BIGINT NOT NULL COMMENT 'key', r ROW<x INT, y STRING>, "
    "ts TIMESTAMP(3), twice AS id * 2, off BIGINT METADATA FROM 'o' VIRTUAL, "
    "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (id) NOT ENFORCED) "
    "COMMENT 'all of them' PARTITIONED BY (id) WITH ('connector' = 'blackhole')",
    "CREATE VIEW sales.v (a) COMMENT 'one' AS SELECT id FROM sales.orders",
    "CREATE FUNCTION sales.f AS 'm.f' LANGUAGE PYTHON",
)


def session(path: Path) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(f"CREATE CATALOG kept WITH ('type' = 'file', 'path' = '{path}')")
    t_env.use_catalog("kept")
    return t_env


def test_objects_outlast_their_session(tmp_path: Path) -> None:
    first = session(tmp_path)
    for statement in STATEMENTS:
        first.execute_sql(statement)
    second = session(tmp_path)
    assert second.list_databases() == ["default", "sales"]
    made: Any = second.get_catalog("kept")
    assert made.table(ObjectPath("sales", "v")).place == ("kept", "default")
    for shown in ("TABLE sales.orders", "VIEW sales.v"):
        texts = [
            next(iter(each.execute_sql(f"SHOW CREATE {shown}").collect()))[0]
            for each in (first, second)
        ]
        assert texts[0] == texts[1]
    second.execute_sql("DROP TABLE sales.orders")
    assert session(tmp_path).list_databases() == ["default", "sales"]
    third: Any = session(tmp_path).get_catalog("kept")
    assert third.list_tables("sales") == ["v"]
    assert third.list_functions("sales") == ["f"]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "catalog.json").write_text("{")
    with pytest.raises(CatalogError, match=r"catalog\.json is not a catalog of this version"):
        session(tmp_path)


def test_objects_of_the_program_are_not_kept(tmp_path: Path) -> None:
    t_env = session(tmp_path)
    t_env.create_temporary_view("v", t_env.from_elements([(1,)], ["id"]))
    assert t_env.list_tables() == ["v"]
    t_env = session(tmp_path)
    assert t_env.list_tables() == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("'type' = 'hive'", "no catalog of 'type' = 'hive'; there are file, generic_in_memory"),
        ("'type' = 'file'", "needs the option 'path'"),
        ("'type' = 'file', 'path' = 'x', 'pth' = 'y'", "has no option 'pth'"),
    ],
)
def test_wrong_options_of_catalogs(options: str, error: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with pytest.raises(Exception, match=error):
        t_env.execute_sql(f"CREATE CATALOG c WITH ({options})")


def test_a_session_does_not_undo_what_another_one_declared(tmp_path: Path) -> None:
    make = "CREATE TABLE {} (a INT) WITH ('connector' = 'blackhole')"
    first, second = session(tmp_path), session(tmp_path)
    first.execute_sql(make.format("t1"))
    with pytest.raises(CatalogError, match="changed by another session"):
        second.execute_sql(make.format("t2"))
    assert second.list_tables() == ["t1"]
    second.execute_sql(make.format("t2"))
    with pytest.raises(CatalogError, match="changed by another session"):
        first.execute_sql("DROP TABLE t1")
    assert first.list_tables() == ["t1", "t2"]
    first.execute_sql("DROP TABLE t1")
    assert session(tmp_path).list_tables() == ["t2"]


def test_sessions_that_declare_at_once_lose_nothing(tmp_path: Path) -> None:
    session(tmp_path).execute_sql("CREATE DATABASE d")
    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(_declare, tmp_path, each) for each in "ab"]:
            done.result()
    made: Any = session(tmp_path).get_catalog("kept")
    assert made.list_tables("d") == sorted(f"{each}{n}" for each in "ab" for n in range(10))


def _declare(path: Path, name: str) -> None:
    catalog = FileCatalog("kept", str(path))
    for number in range(10):
        while ObjectPath("d", f"{name}{number}").name not in catalog.list_tables("d"):
            with suppress(CatalogError):
                catalog.create_table(
                    ObjectPath("d", f"{name}{number}"), CatalogView("SELECT 1", place=("kept", "d"))
                )
