"""Tables of a database server, found by a catalog."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "connectors" / "jdbc"))

from databases import Database

from millrace.common.errors import JobDefinitionError
from millrace.table import TableEnvironment
from millrace.table.catalog import JdbcCatalog, ObjectPath
from millrace.table.catalog.errors import CatalogError


@pytest.fixture
def shop(postgresql: Any) -> Iterator[Database]:
    database = Database(postgresql.url(postgresql.create_database()))
    database.run(
        "CREATE TABLE items (id bigint PRIMARY KEY, name varchar(20), price decimal(8, 2))",
        "INSERT INTO items VALUES (1, 'pen', 2.50), (2, NULL, 7)",
        "CREATE SCHEMA sales",
        "CREATE TABLE sales.orders (item bigint, amount integer)",
    )
    yield database
    database.close()


def catalog_of(database: Database) -> JdbcCatalog:
    url = urlsplit(database.url)
    base = f"jdbc:postgresql://{url.hostname}:{url.port}/"
    name = url.path.strip("/")
    return JdbcCatalog("db", name, url.username or "", url.password or "", base)


def test_what_there_is(shop: Database) -> None:
    catalog = catalog_of(shop)
    name = catalog.get_default_database()
    assert name in catalog.list_databases()
    assert catalog.list_tables(name) == ["public.items", "sales.orders"]
    table = catalog.get_table(ObjectPath(name, "items"))
    assert table.get_unresolved_schema().primary_key is not None
    assert catalog.table_exists(ObjectPath(name, "sales.orders"))
    assert not catalog.table_exists(ObjectPath(name, "nothing"))
    with pytest.raises(CatalogError, match="nothing"):
        catalog.list_tables("nothing")
    with pytest.raises(CatalogError, match="cannot be changed"):
        catalog.drop_table(ObjectPath(name, "items"))


def test_tables_are_read_and_written(shop: Database, batch_env: TableEnvironment) -> None:
    batch_env.register_catalog("db", catalog_of(shop))
    batch_env.use_catalog("db")
    with batch_env.execute_sql("SELECT name, price * 2 FROM items WHERE id = 1").collect() as rows:
        assert [(name, str(price)) for name, price in rows] == [("pen", "5.00")]
    batch_env.execute_sql("INSERT INTO `sales.orders` SELECT id, 3 FROM items").wait()
    assert sorted(shop.rows("SELECT * FROM sales.orders")) == [(1, 3), (2, 3)]


def test_a_catalog_by_its_options(shop: Database, batch_env: TableEnvironment) -> None:
    made = catalog_of(shop)
    url = urlsplit(shop.url)
    batch_env.execute_sql(
        f"CREATE CATALOG other WITH ('type' = 'jdbc', 'username' = '{url.username or ''}', "
        f"'password' = '{url.password or ''}', 'default-database' = '{made.default_database}', "
        f"'base-url' = 'jdbc:postgresql://{url.hostname}:{url.port}')"
    )
    assert batch_env.get_catalog("other").table_exists(ObjectPath(made.default_database, "items"))
    with pytest.raises(JobDefinitionError, match="needs the option 'base-url', 'username'"):
        batch_env.execute_sql("CREATE CATALOG bad WITH ('type' = 'jdbc', 'password' = 'x')")


def test_only_of_servers() -> None:
    with pytest.raises(JobDefinitionError, match="PostgreSQL or MySQL"):
        JdbcCatalog("db", "x", "u", "p", "sqlite:///x")
