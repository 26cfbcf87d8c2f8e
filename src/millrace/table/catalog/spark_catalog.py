"""`SparkCatalog`: makes the tables and views of Spark's catalog available as bounded tables."""

from __future__ import annotations

from typing import Any

from millrace.common.types.logical.arrow_type import logical_row_type
from millrace.table.catalog.catalog import Catalog
from millrace.table.catalog.catalog_objects import CatalogDatabase, CatalogTable, CatalogView
from millrace.table.catalog.errors import CatalogError, not_found
from millrace.table.catalog.object_path import ObjectPath
from millrace.table.schema import Schema

__all__ = ["SparkCatalog"]


class SparkCatalog(Catalog):
    """The catalog of this process's Spark session. It is changed through Spark.

    The session, and with it the JVM, is started by the first name that is looked up.
    """

    def __init__(self, name: str = "spark_catalog", default_database: str = "default") -> None:
        self.name = name
        self._default = default_database

    @property
    def default_database(self) -> str:
        return self._default

    def list_databases(self) -> list[str]:
        return sorted(_spark().databases())

    def database(self, name: str) -> CatalogDatabase:
        known = self.list_databases()
        if name not in known:
            raise not_found("database", name, known)
        return CatalogDatabase()

    def list_tables(self, database_name: str) -> list[str]:
        self.database(database_name)
        return sorted(_spark().tables(database_name))

    def table(self, path: ObjectPath) -> CatalogTable | CatalogView | None:
        frame = _spark().table(path.database, path.name)
        if frame is None:
            return None
        try:
            row_type = logical_row_type(_spark().arrow_schema(frame))
        except (TypeError, NotImplementedError, ValueError) as error:
            raise CatalogError(f"table {path} of Spark cannot be read here: {error}") from error
        schema = Schema.new_builder().from_row_data_type(row_type).build()
        named = {"spark.database": path.database, "spark.table": path.name}
        return CatalogTable(schema, {"connector": "spark", **named})


def _spark() -> Any:
    """The module that queries Spark's catalog; imported only on use, because it imports pyspark."""
    from millrace.spark import session_catalog

    return session_catalog
