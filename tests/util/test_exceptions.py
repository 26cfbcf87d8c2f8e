"""The errors of catalogs under PyFlink's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTable,
    ObjectPath,
    Schema,
)
from millrace.util import exceptions

HERE, MISSING, ELSEWHERE = ObjectPath("db", "t"), ObjectPath("db", "x"), ObjectPath("no", "t")
PARTED = ObjectPath("db", "p")
DAY, OTHER = CatalogPartitionSpec({"day": "1"}), CatalogPartitionSpec({"day": "2"})
WRONG = CatalogPartitionSpec({"month": "1"})
EMPTY = CatalogPartition.create_instance({}, "")
FUNCTION = CatalogFunction.create_instance("math.sqrt", "PYTHON")
DATABASE = CatalogDatabase.create_instance({})


def table(*keys: str) -> CatalogTable:
    schema = Schema.new_builder().column("n", "INT").column("day", "STRING").build()
    return CatalogBaseTable.create_table(schema, keys, {"connector": "blackhole"})


@pytest.fixture
def catalog() -> Catalog:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode()).get_catalog(
        "default_catalog"
    )
    assert made is not None
    made.create_database("db", DATABASE)
    made.create_table(HERE, table())
    made.create_table(PARTED, table("day"))
    made.create_partition(PARTED, DAY, EMPTY)
    made.create_function(HERE, FUNCTION)
    return made


CASES: list[tuple[str, Callable[[Any], Any]]] = [
    ("DatabaseAlreadyExist", lambda c: c.create_database("db", DATABASE)),
    ("DatabaseNotEmpty", lambda c: c.drop_database("db")),
    ("DatabaseNotExist", lambda c: c.get_database("no")),
    ("DatabaseNotExist", lambda c: c.drop_database("no")),
    ("DatabaseNotExist", lambda c: c.list_tables("no")),
    ("DatabaseNotExist", lambda c: c.create_table(ELSEWHERE, table())),
    ("TableAlreadyExist", lambda c: c.create_table(HERE, table())),
    ("TableAlreadyExist", lambda c: c.rename_table(HERE, "p")),
    ("TableNotExist", lambda c: c.get_table(MISSING)),
    ("TableNotExist", lambda c: c.get_table(ELSEWHERE)),
    ("TableNotExist", lambda c: c.drop_table(MISSING)),
    ("TableNotExist", lambda c: c.drop_table(ELSEWHERE)),
    ("TableNotExist", lambda c: c.rename_table(MISSING, "y")),
    ("TableNotExist", lambda c: c.alter_table(MISSING, table())),
    ("FunctionAlreadyExist", lambda c: c.create_function(HERE, FUNCTION)),
    ("FunctionNotExist", lambda c: c.get_function(MISSING)),
    ("FunctionNotExist", lambda c: c.get_function(ELSEWHERE)),
    ("FunctionNotExist", lambda c: c.drop_function(MISSING)),
    ("FunctionNotExist", lambda c: c.drop_function(ELSEWHERE)),
    ("FunctionNotExist", lambda c: c.alter_function(MISSING, FUNCTION)),
    ("PartitionAlreadyExists", lambda c: c.create_partition(PARTED, DAY, EMPTY)),
    ("PartitionNotExist", lambda c: c.get_partition(PARTED, OTHER)),
    ("PartitionNotExist", lambda c: c.drop_partition(PARTED, OTHER)),
    ("PartitionNotExist", lambda c: c.alter_partition(PARTED, OTHER, EMPTY)),
    ("PartitionSpecInvalid", lambda c: c.create_partition(PARTED, WRONG, EMPTY)),
    ("PartitionSpecInvalid", lambda c: c.list_partitions(PARTED, WRONG)),
    ("TableNotPartitioned", lambda c: c.list_partitions(HERE)),
    ("TableNotPartitioned", lambda c: c.create_partition(HERE, DAY, EMPTY)),
]


@pytest.mark.parametrize(
    ("name", "call"), CASES, ids=[f"{i}-{n}" for i, (n, _) in enumerate(CASES)]
)
def test_catalogs_raise_flinks_exceptions(
    catalog: Catalog, name: str, call: Callable[[Any], Any]
) -> None:
    wanted = getattr(exceptions, f"{name}Exception")
    with pytest.raises(wanted) as raised:
        call(catalog)
    assert type(raised.value) is wanted
    assert isinstance(raised.value, exceptions.JavaException)
    assert isinstance(raised.value, exceptions.CatalogException)


def test_a_query_that_cannot_run_is_a_table_exception() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("CREATE TABLE t (n INT) WITH ('connector' = 'datagen')")
    with pytest.raises(exceptions.TableException):
        t_env.execute_sql("SELECT * FROM t ORDER BY n")
