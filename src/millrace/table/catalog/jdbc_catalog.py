"""`JdbcCatalog`: the tables of a database server. Flink docs: "JDBC SQL Connector", Catalog."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.arrow_type import logical_row_type
from millrace.connectors.jdbc import JdbcConnectionOptions
from millrace.connectors.jdbc.client import JdbcError, connect, create_engine
from millrace.connectors.jdbc.column_types import columns_of, reflected
from millrace.connectors.jdbc.connection_options import database_kind
from millrace.table.catalog.catalog import Catalog
from millrace.table.catalog.catalog_objects import CatalogDatabase, CatalogTable
from millrace.table.catalog.errors import not_found
from millrace.table.catalog.object_path import ObjectPath
from millrace.table.schema import Schema

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["JdbcCatalog"]

T = TypeVar("T")
_OF_THE_SERVER = {
    "postgresql": frozenset({"information_schema"}),
    "mysql": frozenset({"information_schema", "mysql", "performance_schema", "sys"}),
}
"""Schemas that the server keeps for itself."""
_PUBLIC = "public"


class JdbcCatalog(Catalog):
    """The databases and tables of a PostgreSQL or MySQL server, as tables with ``'connector' =
    'jdbc'``. Tables are read and written; each look-up asks the server. ``CREATE CATALOG name WITH
    ('type' = 'jdbc', ...)`` makes one, too.

    A table of PostgreSQL is named with its schema, in backticks, unless that is ``public``:
    ``shop.`sales.orders```.

    Args:
        catalog_name: name of the catalog.
        default_database: the database that is current after USE CATALOG.
        username, pwd: credentials for the server.
        base_url: URL without a database: ``jdbc:postgresql://localhost:5432/``.

    Raises:
        JobDefinitionError: the URL is not of such a server.

    Example:
        >>> JdbcCatalog("db", "shop", "ada", "secret", "jdbc:postgresql://localhost:5432/")
        JdbcCatalog('jdbc:postgresql://localhost:5432', user 'ada')
    """

    def __init__(
        self, catalog_name: str, default_database: str, username: str, pwd: str, base_url: str
    ) -> None:
        self.name = catalog_name
        self._kind = database_kind(base_url).replace("mariadb", "mysql")
        if self._kind not in _OF_THE_SERVER:
            raise JobDefinitionError(
                f"a JdbcCatalog needs the URL of a PostgreSQL or MySQL server, not {base_url!r}"
            )
        self._default, self._user, self._password = default_database, username, pwd
        self._base = base_url.rstrip("/")

    def __repr__(self) -> str:
        return f"JdbcCatalog({self._base!r}, user {self._user!r})"

    @property
    def default_database(self) -> str:
        return self._default

    def list_databases(self) -> list[str]:
        return self._ask(self._default, self._databases)

    def database(self, name: str) -> CatalogDatabase:
        known = self.list_databases()
        if name not in known:
            raise not_found("database", name, known)
        return CatalogDatabase()

    def list_tables(self, database_name: str) -> list[str]:
        self.database(database_name)

        def named(connection: Connection) -> list[str]:
            from sqlalchemy import inspect

            looked = inspect(connection)
            if self._kind == "mysql":
                return sorted([*looked.get_table_names(), *looked.get_view_names()])
            schemas = set(looked.get_schema_names()) - _OF_THE_SERVER[self._kind]
            return sorted(
                f"{schema}.{name}"
                for schema in schemas
                for name in (*looked.get_table_names(schema), *looked.get_view_names(schema))
            )

        return self._ask(database_name, named)

    def table(self, path: ObjectPath) -> CatalogTable | None:
        self.database(path.database)
        try:
            schema = self._ask(path.database, lambda connection: _schema(connection, path.name))
        except JdbcError:
            return None
        options = {
            "connector": "jdbc",
            "url": f"{self._base}/{path.database}",
            "table-name": path.name.removeprefix(f"{_PUBLIC}."),
            "username": self._user,
            "password": self._password,
        }
        return CatalogTable(schema, options)

    def _databases(self, connection: Connection) -> list[str]:
        if self._kind == "postgresql":
            query = "SELECT datname FROM pg_database WHERE NOT datistemplate"
            return sorted(connection.exec_driver_sql(query).scalars())
        from sqlalchemy import inspect

        return sorted(set(inspect(connection).get_schema_names()) - _OF_THE_SERVER["mysql"])

    def _ask(self, database: str, work: Callable[[Connection], T]) -> T:
        builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        builder.with_url(f"{self._base}/{database}")
        builder.with_user_name(self._user).with_password(self._password)
        engine = create_engine(builder.build())
        try:
            with connect(engine) as connection:
                return work(connection)
        finally:
            engine.dispose()


def _schema(connection: Connection, name: str) -> Schema:
    """Columns and primary key of a table.

    Raises:
        JdbcError: no table has this name.
    """
    table: Any = reflected(connection, name)
    row_type = logical_row_type(columns_of(list(table.c), short_reals=True))
    builder = Schema.new_builder().from_row_data_type(row_type)
    key = [column.name for column in table.primary_key]
    return (builder.primary_key(*key) if key else builder).build()
