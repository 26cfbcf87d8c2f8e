"""Connectors are found by their names; what they cannot do is told."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.connectors.collection import CollectionSource
from millrace.table import TableEnvironment
from millrace.testing import CollectingSink


@pytest.fixture
def module() -> Any:
    made = ModuleType("objects_of_a_test")
    made.rows = CollectionSource([{"id": 1, "name": "a"}, {"name": "b", "id": 2}])  # type: ignore[attr-defined]
    made.sink = CollectingSink()  # type: ignore[attr-defined]
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


def test_any_source_and_sink_of_a_program(t_env: TableEnvironment, module: Any) -> None:
    t_env.execute_sql(
        "CREATE TABLE objects (id BIGINT, name STRING) WITH ('connector' = 'python', "
        "'source' = 'objects_of_a_test:rows', 'sink' = 'objects_of_a_test:sink')"
    )
    t_env.from_path("objects").execute_insert("objects").wait()
    assert [(row.id, row.name) for row in module.sink.values()] == [(1, "a"), (2, "b")]


def test_records_without_names_have_all_columns_of_the_table(
    t_env: TableEnvironment, module: Any
) -> None:
    module.tuples = CollectionSource([(1, "a", 2.5), (2, "b", 0.5)])
    t_env.execute_sql(
        "CREATE TABLE objects (id BIGINT, name STRING, price DOUBLE) WITH ("
        "'connector' = 'python', 'source' = 'objects_of_a_test:tuples')"
    )
    rows = t_env.execute_sql("SELECT price, id FROM objects WHERE id > 1").collect()
    assert [tuple(row) for row in rows] == [(0.5, 2)]


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("objects_of_a_test:nothing", "cannot be imported .*write it as 'module:name'"),
        ("no_such_module:x", "cannot be imported"),
        ("objects_of_a_test:sink", "no Source"),
    ],
)
def test_what_is_no_source_is_refused(
    t_env: TableEnvironment, module: Any, path: str, error: str
) -> None:
    t_env.execute_sql(f"CREATE TABLE t (id INT) WITH ('connector' = 'python', 'source' = '{path}')")
    with pytest.raises(JobDefinitionError, match=error):
        t_env.from_path("t").execute()


def test_an_unknown_connector_is_told_the_nearest(t_env: TableEnvironment) -> None:
    with pytest.raises(JobDefinitionError, match="no connector 'datagn'; did you mean 'datagen'"):
        t_env.execute_sql("CREATE TABLE t (id INT) WITH ('connector' = 'datagn')")
    with pytest.raises(JobDefinitionError, match="needs the option 'connector'; given are"):
        t_env.execute_sql("CREATE TABLE t (id INT)")


def test_sinks_are_not_read_and_sources_not_written(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE p (id INT) WITH ('connector' = 'print')")
    t_env.execute_sql(
        "CREATE TABLE g (id INT) WITH ('connector' = 'datagen', 'number-of-rows'='1')"
    )
    with pytest.raises(JobDefinitionError, match="cannot be read: it can only be written"):
        t_env.from_path("p").execute()
    with pytest.raises(JobDefinitionError, match="cannot be written: it can only be read"):
        t_env.from_path("g").execute_insert("g")


def test_print_names_itself_and_its_subtasks(t_env: TableEnvironment, capsys: Any) -> None:
    t_env.execute_sql(
        "CREATE TABLE p (id BIGINT) WITH ('connector' = 'print', 'print-identifier' = 'out', "
        "'sink.parallelism' = '2')"
    )
    t_env.from_elements([(1,), (2,)], ["id"]).execute_insert("p").wait()
    assert sorted(capsys.readouterr().out.split()) == sorted(["out:1>", "out:2>", "+I[1]", "+I[2]"])


def test_blackhole_takes_everything(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE b (id BIGINT) WITH ('connector' = 'blackhole')")
    t_env.from_elements([(1,), (2,)], ["id"]).execute_insert("b").wait()
