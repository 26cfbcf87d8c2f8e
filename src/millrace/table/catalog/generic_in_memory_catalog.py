"""The default catalog, which exists as long as its session."""

from __future__ import annotations

from dataclasses import dataclass, field

from millrace.table.catalog.catalog import Catalog
from millrace.table.catalog.catalog_models import CatalogModel
from millrace.table.catalog.catalog_objects import (
    CatalogDatabase,
    CatalogFunction,
    CatalogTable,
    CatalogView,
)
from millrace.table.catalog.errors import (
    CatalogError,
    DatabaseNotEmptyError,
    already_exists,
    not_found,
)
from millrace.table.catalog.object_path import ObjectPath

__all__ = ["GenericInMemoryCatalog"]


@dataclass
class _Database:
    properties: CatalogDatabase
    tables: dict[str, CatalogTable | CatalogView] = field(default_factory=dict)
    functions: dict[str, CatalogFunction] = field(default_factory=dict)
    models: dict[str, CatalogModel] = field(default_factory=dict)


class GenericInMemoryCatalog(Catalog):
    """Catalog in memory. Flink: ``GenericInMemoryCatalog``.

    Example:
        >>> catalog = GenericInMemoryCatalog("mine", "db")
        >>> catalog.create_table(ObjectPath("db", "v"), CatalogView("SELECT 1"))
        >>> catalog.list_tables("db")
        ['v']
    """

    def __init__(self, name: str, default_database: str = "default") -> None:
        self.name = name
        self._default = default_database
        self._databases = {default_database: _Database(CatalogDatabase())}

    @property
    def default_database(self) -> str:
        return self._default

    # -- databases ---------------------------------------------------------------------

    def list_databases(self) -> list[str]:
        return sorted(self._databases)

    def database(self, name: str) -> CatalogDatabase:
        return self._database(name).properties

    def _create_database(self, name: str, database: CatalogDatabase) -> None:
        if name in self._databases:
            raise already_exists("database", name)
        self._databases[name] = _Database(database)
        self.changed()

    def _alter_database(self, name: str, database: CatalogDatabase) -> None:
        self._database(name).properties = database
        self.changed()

    def _drop_database(self, name: str, cascade: bool) -> None:
        database = self._database(name)
        if name == self._default:
            raise CatalogError(f"the default database {name} of a catalog cannot be dropped")
        if not cascade and (database.tables or database.functions):
            raise DatabaseNotEmptyError(
                f"database {name} is not empty; drop its objects first, or use CASCADE"
            )
        del self._databases[name]
        self.changed()

    # -- tables and views --------------------------------------------------------------

    def list_tables(self, database_name: str) -> list[str]:
        return sorted(self._database(database_name).tables)

    def table(self, path: ObjectPath) -> CatalogTable | CatalogView | None:
        database = self._databases.get(path.database)
        return None if database is None else database.tables.get(path.name)

    def _create_table(self, path: ObjectPath, table: CatalogTable | CatalogView) -> None:
        tables = self._database(path.database).tables
        if path.name in tables:
            raise already_exists(_kind(tables[path.name]), path)
        tables[path.name] = table
        self.changed()

    def _alter_table(self, path: ObjectPath, table: CatalogTable | CatalogView) -> None:
        self._tables_with(path)[path.name] = table
        self.changed()

    def _rename_table(self, path: ObjectPath, name: str) -> None:
        tables = self._tables_with(path)
        if name in tables:
            raise already_exists(_kind(tables[name]), name)
        tables[name] = tables.pop(path.name)
        self.changed()

    def _drop_table(self, path: ObjectPath) -> None:
        del self._tables_with(path)[path.name]
        self.changed()

    # -- functions ---------------------------------------------------------------------

    def list_functions(self, database_name: str) -> list[str]:
        return sorted(self._database(database_name).functions)

    def function(self, path: ObjectPath) -> CatalogFunction | None:
        database = self._databases.get(path.database)
        return None if database is None else database.functions.get(path.name.lower())

    def _create_function(self, path: ObjectPath, function: CatalogFunction) -> None:
        self._database(path.database).functions[path.name.lower()] = function
        self.changed()

    def _drop_function(self, path: ObjectPath) -> None:
        database = self._databases.get(path.database)
        functions = {} if database is None else database.functions
        if path.name.lower() not in functions:
            raise not_found("function", path, functions)
        del functions[path.name.lower()]
        self.changed()

    def changed(self) -> None:
        """Hook after every change, for catalogs that also store their content elsewhere."""

    # -- models ------------------------------------------------------------------------

    def list_models(self, database_name: str) -> list[str]:
        return sorted(self._database(database_name).models)

    def model(self, path: ObjectPath) -> CatalogModel | None:
        return self._database(path.database).models.get(path.name)

    def _put_model(self, path: ObjectPath, model: CatalogModel) -> None:
        self._database(path.database).models[path.name] = model
        self.changed()

    def _remove_model(self, path: ObjectPath) -> None:
        del self._database(path.database).models[path.name]
        self.changed()

    def _database(self, name: str) -> _Database:
        database = self._databases.get(name)
        if database is None:
            raise not_found("database", name, self._databases)
        return database

    def _tables_with(self, path: ObjectPath) -> dict[str, CatalogTable | CatalogView]:
        database = self._databases.get(path.database)
        tables = {} if database is None else database.tables
        if path.name not in tables:
            raise not_found("table", path, tables)
        return tables


def _kind(table: CatalogTable | CatalogView) -> str:
    return "view" if isinstance(table, CatalogView) else "table"
