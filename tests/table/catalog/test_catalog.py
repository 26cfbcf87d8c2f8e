"""What programs do with catalogs, under PyFlink's names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millrace.common.config.configuration import Configuration
from millrace.table import DataTypes, Schema, TableEnvironment, TableSchema
from millrace.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogColumnStatisticsData,
    CatalogDatabase,
    CatalogDescriptor,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTable,
    CatalogTableStatistics,
    CatalogView,
    FileCatalog,
    GenericInMemoryCatalog,
    ObjectIdentifier,
    ObjectPath,
)
from millrace.table.catalog.errors import CatalogError

SCHEMA = Schema.new_builder().column("id", DataTypes.BIGINT()).build()
TABLE = CatalogBaseTable.create_table(SCHEMA, ["id"], {"connector": "blackhole"}, "all")
VIEW = CatalogBaseTable.create_view("SELECT id FROM t", "", SCHEMA)
PATH = ObjectPath("db", "t")


@pytest.fixture(params=["memory", "file"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    if request.param == "memory":
        return GenericInMemoryCatalog("c", "db")
    return FileCatalog("c", str(tmp_path), "db")


def test_databases(catalog: Catalog) -> None:
    made = CatalogDatabase.create_instance({"owner": "ann"}, "of shops")
    catalog.create_database("sales", made)
    catalog.create_database("sales", CatalogDatabase(), True)
    kept = catalog.get_database("sales")
    assert (kept.get_properties(), kept.get_comment()) == ({"owner": "ann"}, "of shops")
    with pytest.raises(CatalogError, match="sales"):
        catalog.create_database("sales", made)
    catalog.alter_database("sales", CatalogDatabase.create_instance({}), False)
    catalog.alter_database("none", made, True)
    assert catalog.get_database("sales").get_properties() == {}
    with pytest.raises(CatalogError, match="none"):
        catalog.alter_database("none", made)
    catalog.create_table(ObjectPath("sales", "t"), TABLE)
    with pytest.raises(CatalogError, match="sales"):
        catalog.drop_database("sales", False)
    catalog.drop_database("sales", False, True)
    catalog.drop_database("sales", True)
    assert not catalog.database_exists("sales")
    assert catalog.get_default_database() == "db"
    with pytest.raises(CatalogError, match="sales"):
        catalog.drop_database("sales")


def test_tables_and_views(catalog: Catalog) -> None:
    catalog.create_table(PATH, TABLE)
    catalog.create_table(PATH, VIEW, True)
    catalog.create_table(ObjectPath("db", "v"), VIEW)
    assert (catalog.list_tables("db"), catalog.list_views("db")) == (["t", "v"], ["v"])
    kept = catalog.get_table(PATH)
    assert isinstance(kept, CatalogTable)
    assert (kept.get_options(), kept.partition_keys, kept.get_comment()) == (
        {"connector": "blackhole"},
        ("id",),
        "all",
    )
    assert [column.name for column in kept.get_unresolved_schema().columns] == ["id"]
    with pytest.raises(CatalogError, match="'t'|`t`"):
        catalog.create_table(PATH, TABLE)
    catalog.rename_table(PATH, "u")
    catalog.rename_table(PATH, "w", True)
    assert catalog.list_tables("db") == ["u", "v"]
    with pytest.raises(CatalogError, match="t"):
        catalog.get_table(PATH)
    renamed = ObjectPath("db", "u")
    catalog.alter_table(renamed, CatalogBaseTable.create_table(SCHEMA, [], {"connector": "print"}))
    assert catalog.get_table(renamed).get_options() == {"connector": "print"}
    refusing: list[Any] = [catalog.alter_table, catalog.alter_table_statistics]
    for missing in refusing:
        with pytest.raises(CatalogError):
            missing(PATH, TABLE)
    catalog.alter_table(PATH, TABLE, True)
    catalog.drop_table(renamed)
    catalog.drop_table(renamed, True)
    with pytest.raises(CatalogError):
        catalog.drop_table(renamed)
    assert not catalog.table_exists(renamed)
    assert not catalog.table_exists(ObjectPath("nowhere", "u"))


def test_statistics(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_table(PATH, TABLE)
    assert catalog.get_table_statistics(PATH).get_row_count() == -1
    assert catalog.get_table_column_statistics(PATH).get_column_statistics_data() == {}
    catalog.alter_table_statistics(PATH, CatalogTableStatistics(7, total_size=90))
    found = catalog.get_table_statistics(PATH)
    assert (found.get_row_count(), found.get_total_size(), found.get_field_count()) == (7, 90, -1)
    one, two = (CatalogColumnStatisticsData(count) for count in (1, 2))
    catalog.alter_table_column_statistics(PATH, CatalogColumnStatistics({"id": one, "x": two}))
    catalog.alter_table_column_statistics(PATH, CatalogColumnStatistics({"id": two}))
    columns = catalog.get_table_column_statistics(PATH).get_column_statistics_data()
    assert columns == {"id": two, "x": two}
    if isinstance(catalog, FileCatalog):
        catalog = FileCatalog("again", str(tmp_path), "db")
    assert catalog.get_table_statistics(PATH).get_total_size() == 90
    catalog.create_table(ObjectPath("db", "v"), VIEW)
    with pytest.raises(CatalogError, match="is a view"):
        catalog.alter_table_statistics(ObjectPath("db", "v"), CatalogTableStatistics(7))
    assert catalog.get_table_statistics(ObjectPath("db", "v")).get_row_count() == -1
    catalog.alter_table_statistics(ObjectPath("db", "x"), CatalogTableStatistics(7), True)
    catalog.alter_table_column_statistics(ObjectPath("db", "x"), CatalogColumnStatistics(), True)


def test_statistics_of_partitions(batch_env: TableEnvironment, tmp_path: Path) -> None:
    batch_env.execute_sql(
        "CREATE TABLE p (v INT, year_ INT, month_ INT) PARTITIONED BY (year_, month_) WITH ("
        f"'connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
    )
    batch_env.execute_sql("INSERT INTO p VALUES (1, 2026, 1), (2, 2026, 1), (3, 2026, 2)").wait()
    batch_env.execute_sql(
        "ANALYZE TABLE p PARTITION (year_, month_) COMPUTE STATISTICS FOR ALL COLUMNS"
    )
    catalog = batch_env.get_catalog("default_catalog")
    path = ObjectPath("default_database", "p")
    specs = [CatalogPartitionSpec({"month_": m, "year_": "2026"}) for m in ("1", "2", "3")]
    found = catalog.bulk_get_partition_statistics(path, specs)
    assert [each.get_row_count() for each in found] == [2, 1, -1]
    columns = catalog.bulk_get_partition_column_statistics(path, specs)
    assert columns[0].get_column_statistics_data()["v"].maximum == "2"
    catalog.alter_partition_statistics(path, specs[2], CatalogTableStatistics(5))
    assert catalog.get_partition_statistics(path, specs[2]).get_row_count() == 5
    assert catalog.get_partition_statistics(path, specs[0]).get_row_count() == 2


def test_partitions(catalog: Catalog, tmp_path: Path) -> None:
    path = ObjectPath("db", "p")
    options = {"connector": "filesystem", "path": str(tmp_path / "files"), "format": "csv"}
    (tmp_path / "files" / "k=b" / "id=1").mkdir(parents=True)
    (tmp_path / "files" / "k=b" / "id=1" / "part-0").write_text("")
    schema = Schema.new_builder().column("id", DataTypes.INT()).column("k", "STRING").build()
    catalog.create_table(path, CatalogTable(schema, options, ("k", "id")))
    found, made = (CatalogPartitionSpec({"id": "1", "k": each}) for each in "ba")
    assert catalog.list_partitions(path) == [found]
    assert catalog.get_partition(path, found).get_properties() == {}
    catalog.create_partition(path, made, CatalogPartition.create_instance({"x": "1"}, "mine"))
    with pytest.raises(CatalogError, match="there is a partition k=a/id=1 already"):
        catalog.create_partition(path, made, CatalogPartition())
    catalog.create_partition(path, found, CatalogPartition({"x": "2"}), True)
    if isinstance(catalog, FileCatalog):
        catalog = FileCatalog("again", str(tmp_path), "db")
    assert catalog.list_partitions(path) == [made, found]
    assert catalog.list_partitions(path, CatalogPartitionSpec({"k": "a"})) == [made]
    assert catalog.get_partition(path, made) == CatalogPartition({"x": "1"}, "mine")
    assert catalog.get_partition(path, found).get_properties() == {}
    catalog.alter_partition(path, found, CatalogPartition({"x": "3"}))
    assert catalog.get_partition(path, found).get_properties() == {"x": "3"}
    catalog.drop_partition(path, made)
    catalog.drop_partition(path, made, True)
    catalog.drop_partition(path, found)
    assert catalog.get_partition(path, found).get_properties() == {}
    assert not catalog.partition_exists(path, made)
    for attempt, reason in (
        (lambda: catalog.drop_partition(path, found), "as long as it has rows"),
        (lambda: catalog.drop_partition(path, made), "partition k=a/id=1"),
        (lambda: catalog.alter_partition(path, made, CatalogPartition()), "partition k=a/id=1"),
        (lambda: catalog.get_partition(path, made), "partition k=a/id=1"),
        (lambda: catalog.list_partitions(path, CatalogPartitionSpec({"n": "1"})), "column n"),
        (
            lambda: catalog.create_partition(
                path, CatalogPartitionSpec({"k": "c"}), CatalogPartition()
            ),
            "named by k, id, not by k",
        ),
    ):
        with pytest.raises(CatalogError, match=reason):
            attempt()
    catalog.create_table(PATH, CatalogTable(SCHEMA, {"connector": "blackhole"}))
    with pytest.raises(CatalogError, match=r"table `db`.`t` is not partitioned"):
        catalog.list_partitions(PATH)


def test_functions(catalog: Catalog) -> None:
    path = ObjectPath("db", "f")
    catalog.create_function(path, CatalogFunction.create_instance("m.f"))
    catalog.create_function(path, CatalogFunction.create_instance("m.g"), True)
    assert catalog.get_function(path).get_class_name() == "m.f"
    catalog.alter_function(path, CatalogFunction.create_instance("m.g"))
    assert catalog.get_function(path).get_class_name() == "m.g"
    assert catalog.list_functions("db") == ["f"]
    catalog.drop_function(path)
    catalog.drop_function(path, True)
    catalog.alter_function(path, CatalogFunction.create_instance("m.g"), True)
    assert not catalog.function_exists(path)
    with pytest.raises(CatalogError, match="f"):
        catalog.get_function(path)
    with pytest.raises(CatalogError):
        catalog.alter_function(path, CatalogFunction.create_instance("m.g"))


def test_a_table_of_another_schema_class() -> None:
    schema = TableSchema.builder().field("a", DataTypes.INT()).build()
    made = CatalogBaseTable.create_table(schema)
    assert [column.name for column in made.get_unresolved_schema().columns] == ["a"]


def test_a_view_of_a_table_goes_into_memory_only(t_env: TableEnvironment, tmp_path: Path) -> None:
    t_env.create_view("one", t_env.from_elements([(1,)], ["id"]))
    assert not t_env.create_view("one", t_env.from_path("one"), True)
    assert [tuple(row) for row in t_env.from_path("one").execute().collect()] == [(1,)]
    view = t_env.get_catalog("default_catalog").get_table(ObjectPath("default_database", "one"))
    assert isinstance(view, CatalogView)
    assert [column.name for column in view.get_unresolved_schema().columns] == ["id"]
    options = Configuration()
    options.set_string("type", "file")
    options.set_string("path", str(tmp_path))
    t_env.create_catalog("kept", CatalogDescriptor.of("kept", options))
    with pytest.raises(CatalogError, match="has no SQL text, which a file could store"):
        t_env.create_view("kept.`default`.one", t_env.from_path("one"))


def test_paths() -> None:
    path = ObjectPath.from_string("shop.orders")
    assert (path.get_database_name(), path.get_object_name()) == ("shop", "orders")
    assert path.compare_to(ObjectPath("shop", "parts")) == -1
    full = ObjectIdentifier.of("c", "shop", "my orders")
    assert full.to_list() == ["c", "shop", "my orders"]
    assert full.as_serializable_string() == "`c`.`shop`.`my orders`"
    assert full.as_summary_string() == "c.shop.my orders"
    assert full.to_object_path() == ObjectPath("shop", "my orders")
