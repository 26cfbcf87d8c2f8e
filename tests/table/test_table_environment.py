"""Tables of Python objects and of connectors run, and print as Flink prints them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from millrace.common.errors import JobDefinitionError, JobExecutionError, MillraceError
from millrace.common.types.row import Row, RowKind
from millrace.planner.relational.sink_nodes import CollectSink
from millrace.table import (
    DataTypes,
    ResultKind,
    Schema,
    TableDescriptor,
    TableEnvironment,
)
from millrace.table.catalog.errors import CatalogError


def test_elements_come_back_as_they_went_in(t_env: TableEnvironment) -> None:
    row_type = DataTypes.ROW(
        [
            DataTypes.FIELD("id", DataTypes.BIGINT()),
            DataTypes.FIELD("price", DataTypes.DECIMAL(10, 2)),
            DataTypes.FIELD("at", DataTypes.TIMESTAMP_LTZ(3)),
            DataTypes.FIELD("tags", DataTypes.ARRAY(DataTypes.STRING())),
            DataTypes.FIELD("counts", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
            DataTypes.FIELD("r", DataTypes.of("ROW<x INT, y ARRAY<ROW<z STRING>>>")),
        ]
    )
    at = datetime(2024, 1, 2, 3, 4, 5, 678_000, UTC)
    values = (1, Decimal("1.50"), at, ["a", None], {"k": 1}, Row(x=1, y=[Row(z="q")]))
    table = t_env.from_elements([values, (None,) * 6], row_type)
    first, second = list(table.execute().collect())
    assert tuple(first) == values
    assert tuple(second) == (None,) * 6


def test_types_of_elements_are_found_in_their_values(t_env: TableEnvironment) -> None:
    table = t_env.from_elements([(1, "a", None), (2, None, 2.5)], ["id", "name", "x"])
    assert str(table.get_schema()) == "root\n |-- id: BIGINT\n |-- name: STRING\n |-- x: DOUBLE\n"
    assert t_env.from_elements([{"a": True}]).get_schema().get_field_names() == ["a"]
    assert t_env.from_elements([7]).get_schema().get_field_names() == ["_1"]


def test_data_classes_and_numbers_of_numpy(t_env: TableEnvironment) -> None:
    @dataclass
    class Reading:
        sensor: str
        degrees: float

    table = t_env.from_elements([Reading("a", 21.5), Reading("b", 20.0)])
    assert str(table.node.row_type) == "ROW<`sensor` STRING, `degrees` DOUBLE> NOT NULL"
    assert [tuple(row) for row in table.execute().collect()] == [("a", 21.5), ("b", 20.0)]
    numbers = t_env.from_elements([(np.int64(1), np.float32(0.5))], ["i", "f"])
    assert str(numbers.node.row_type) == "ROW<`i` BIGINT, `f` DOUBLE> NOT NULL"
    assert [tuple(row) for row in numbers.execute().collect()] == [(1, 0.5)]


@pytest.mark.parametrize("element", [(2,), (2, "b", 3), 2])
def test_elements_of_different_lengths(t_env: TableEnvironment, element: object) -> None:
    with pytest.raises(JobDefinitionError, match="element 2 is .*a row of 2 columns"):
        t_env.from_elements([(1, "a"), element], ["id", "name"])


def test_no_elements_have_no_types(t_env: TableEnvironment) -> None:
    with pytest.raises(JobDefinitionError, match="cannot infer types without elements"):
        t_env.from_elements([])


def test_an_element_that_does_not_fit_is_shown(t_env: TableEnvironment) -> None:
    with pytest.raises(JobExecutionError, match="'x' does not fit the column '_1'"):
        t_env.from_elements([(1,), ("x",)])


def test_a_frame_becomes_a_table_and_back(t_env: TableEnvironment) -> None:
    frame = pandas.DataFrame({"id": [1, 2, 3], "name": ["a", None, "c"]})
    read = t_env.from_pandas(frame, splits_num=2).to_pandas()
    assert read.sort_values("id").to_dict("list") == frame.to_dict("list")  # type: ignore[attr-defined]


def test_a_changelog_of_elements_keeps_its_kinds(t_env: TableEnvironment) -> None:
    rows = [Row(1), Row.of_kind(RowKind.UPDATE_BEFORE, 1), Row.of_kind(RowKind.UPDATE_AFTER, 2)]
    table = t_env.from_elements(rows, DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT())]))
    kinds = [row.get_row_kind() for row in table.execute().collect()]
    assert kinds == [RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER]
    assert table.to_pandas()["n"].to_list() == [2]  # type: ignore[index]


PRINTED = """\
+----+----------------------+--------------------------------+
| op |                   id |                           name |
+----+----------------------+--------------------------------+
| +I |                    1 |                              a |
| +I |                    2 |                         <NULL> |
+----+----------------------+--------------------------------+
2 rows in set
"""


def test_print_shows_a_stream_with_its_kinds(t_env: TableEnvironment, capsys: Any) -> None:
    t_env.from_elements([(1, "a"), (2, None)], ["id", "name"]).execute().print()
    assert capsys.readouterr().out == PRINTED


def test_print_of_a_batch_has_no_kinds(batch_env: TableEnvironment, capsys: Any) -> None:
    batch_env.from_elements([(1, "a")], ["id", "name"]).execute().print()
    assert capsys.readouterr().out.splitlines()[1] == "| id | name |"


def test_a_table_is_written_into_another(t_env: TableEnvironment, capsys: Any) -> None:
    t_env.execute_sql("CREATE TABLE p (id BIGINT, name STRING) WITH ('connector' = 'print')")
    result = t_env.from_elements([(1, "a"), (2, None)], ["id", "name"]).execute_insert("p")
    result.wait()
    assert capsys.readouterr().out == "+I[1, a]\n+I[2, null]\n"
    assert result.get_table_schema().get_field_names() == ["default_catalog.default_database.p"]
    assert [tuple(row) for row in result.collect()] == [(-1,)]


def test_a_table_of_other_types_is_not_written(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE p (id INT) WITH ('connector' = 'blackhole')")
    with pytest.raises(
        JobDefinitionError, match="gives BIGINT for id, which is of type INT; cast its columns"
    ):
        t_env.from_elements([(1,)], ["id"]).execute_insert("p")


def test_views_and_tables_of_programs_have_names(t_env: TableEnvironment) -> None:
    table = t_env.from_elements([(1,)], ["id"])
    t_env.create_temporary_view("v", table)
    schema = Schema.new_builder().column("n", DataTypes.INT()).build()
    made = TableDescriptor.for_connector("datagen").schema(schema).option("number-of-rows", 2)
    t_env.create_temporary_table("t", made.build())
    assert t_env.list_tables() == ["t", "v"]
    assert t_env.list_views() == t_env.list_temporary_views() == ["v"]
    assert [tuple(row) for row in t_env.from_path("v").execute().collect()] == [(1,)]
    assert len(list(t_env.from_path("t").execute().collect())) == 2
    assert t_env.drop_temporary_view("v")
    assert not t_env.drop_temporary_view("v")
    with pytest.raises(CatalogError, match="there is no table v; there are t"):
        t_env.from_path("v")


def test_a_statement_without_rows_prints_ok(t_env: TableEnvironment, capsys: Any) -> None:
    result = t_env.execute_sql("CREATE DATABASE d")
    assert result.get_result_kind() is ResultKind.SUCCESS
    result.print()
    assert capsys.readouterr().out == "OK\n"


def test_what_never_ends_is_refused_in_batch_mode(batch_env: TableEnvironment) -> None:
    batch_env.execute_sql("CREATE TABLE t (n INT) WITH ('connector' = 'datagen')")
    with pytest.raises(JobDefinitionError, match="never ends, so it cannot be read in batch mode"):
        batch_env.from_path("t").execute()


def test_deep_projections_that_use_columns_twice_do_not_explode(t_env: TableEnvironment) -> None:
    t_env.create_temporary_view("ones", t_env.from_elements([(1,)], ["n"]))
    query = "SELECT n + n AS n FROM (" * 40 + "SELECT n FROM ones" + ")" * 40
    assert [tuple(row) for row in t_env.execute_sql(query).collect()] == [(2**40,)]


def test_a_source_keeps_its_uid_when_its_options_change(t_env: TableEnvironment) -> None:
    """So that a job goes on from its savepoint with another password, or at another rate."""

    def uid(rate: int) -> str:
        t_env.execute_sql(
            "CREATE TEMPORARY TABLE n (i BIGINT) WITH ('connector' = 'datagen', "
            f"'rows-per-second' = '{rate}')"
        )
        session = t_env._session
        [end] = session.transformations([CollectSink(t_env.from_path("n").node)])
        t_env.drop_temporary_table("n")
        while end.inputs:
            end = end.inputs[0].transformation
        return end.uid or ""

    assert uid(10) == uid(20) != ""


def test_tables_and_views_come_and_go(t_env: TableEnvironment) -> None:
    descriptor = TableDescriptor.for_connector("blackhole").schema(
        Schema.new_builder().column("id", DataTypes.BIGINT()).build()
    )
    assert t_env.create_table("t", descriptor.build())
    assert not t_env.create_table("t", descriptor.build(), ignoreIfExists=True)
    t_env.create_temporary_table("tmp", descriptor.build())
    t_env.create_temporary_table("tmp", descriptor.build(), ignoreIfExists=True)
    with pytest.raises(CatalogError, match="tmp"):
        t_env.create_temporary_table("tmp", descriptor.build())
    assert t_env.create_view("v", t_env.from_path("t"))
    with pytest.raises(CatalogError, match="v"):
        t_env.create_view("v", t_env.from_path("t"))
    assert t_env.drop_view("v")
    assert t_env.drop_table("t")
    assert not t_env.drop_table("t")
    with pytest.raises(CatalogError, match="t"):
        t_env.drop_table("t", ignore_if_not_exists=False)
    assert t_env.list_tables() == ["tmp"]


def test_the_one_module(t_env: TableEnvironment) -> None:
    t_env.use_modules("core")
    assert t_env.list_modules() == ["core"]
    [entry] = t_env.list_full_modules()
    assert (entry.name(), entry.used()) == ("core", True)
    with pytest.raises(MillraceError, match="core"):
        t_env.unload_module("core")
    with pytest.raises(MillraceError, match="hive"):
        t_env.use_modules("hive")
    assert t_env.list_materialized_tables() == []


def test_what_workers_get_is_an_option(t_env: TableEnvironment, tmp_path: Path) -> None:
    module = tmp_path / "shop.py"
    module.write_text("TAX = 7\n")
    t_env.add_python_file(str(module))
    assert str(module) in t_env.get_config().to_map()["python.files"]
    t_env.get_config().set_python_executable(sys.executable)
    assert t_env.get_config().get_python_executable() == sys.executable
