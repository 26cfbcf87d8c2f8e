"""`CatalogManager`: the catalogs of a session, the current ones, and temporary objects.

Flink: ``CatalogManager``. Temporary objects hide those of a catalog that have their name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from millrace.planner.catalog_reader import NameKind
from millrace.table.catalog.catalog import Catalog
from millrace.table.catalog.catalog_objects import (
    CatalogDescriptor,
    CatalogFunction,
    CatalogTable,
    CatalogView,
)
from millrace.table.catalog.errors import CatalogError, already_exists, not_found
from millrace.table.catalog.generic_in_memory_catalog import GenericInMemoryCatalog
from millrace.table.catalog.object_path import ObjectIdentifier, ObjectPath
from millrace.table.catalog.session_models import SessionModels
from millrace.table.catalog.spark_catalog import SparkCatalog

__all__ = ["CatalogManager"]

T = TypeVar("T")

SPARK_CATALOG = "spark_catalog"
"""Spark's own name of the catalog of its session."""


class CatalogManager:
    """All catalogs of a session, and the resolution of partial names.

    Example:
        >>> manager = CatalogManager("default_catalog", "default_database")
        >>> print(manager.qualified(("orders",)))
        `default_catalog`.`default_database`.`orders`
    """

    def __init__(self, catalog: str, database: str) -> None:
        self.builtin = catalog
        self._catalogs: dict[str, Catalog] = {catalog: GenericInMemoryCatalog(catalog, database)}
        kept = {"type": "generic_in_memory", "default-database": database}
        self._declared = {catalog: CatalogDescriptor(kept)}
        self.current_catalog = catalog
        self.current_database = database
        self._temporary: dict[ObjectIdentifier, CatalogTable | CatalogView] = {}
        self._temporary_functions: dict[ObjectIdentifier, CatalogFunction] = {}
        self.system_functions: dict[str, CatalogFunction] = {}
        self.models = SessionModels(self.qualified, self.catalog)

    # -- catalogs ----------------------------------------------------------------------

    def catalog(self, name: str) -> Catalog:
        """The catalog with the given name.

        Raises:
            CatalogError: no object has this name.
        """
        if not self._known(name):
            raise not_found("catalog", name, self._catalogs)
        return self._catalogs[name]

    def _known(self, name: str) -> bool:
        """Whether a catalog is known; Spark's is known from its first use."""
        if name == SPARK_CATALOG and name not in self._catalogs:
            self._catalogs[name] = SparkCatalog(name)
            self._declared[name] = CatalogDescriptor({"type": "spark"})
        return name in self._catalogs

    def list_catalogs(self) -> list[str]:
        """Names of all catalogs."""
        return sorted(self._catalogs)

    def register_catalog(
        self, name: str, catalog: Catalog, declared: CatalogDescriptor | None = None
    ) -> None:
        """Add a catalog, with its descriptor if that is known.

        Raises:
            CatalogError: the name is taken.
        """
        if name in self._catalogs:
            raise already_exists("catalog", name)
        catalog.name = name
        self._catalogs[name] = catalog
        if declared is not None:
            self._declared[name] = declared

    def declared(self, name: str) -> CatalogDescriptor:
        """The descriptor that a catalog was made with.

        Raises:
            CatalogError: the catalog does not exist, or was made by the program instead of CREATE
                CATALOG.
        """
        self.catalog(name)
        descriptor = self._declared.get(name)
        if descriptor is None:
            raise CatalogError(f"catalog {name} was created by the program, not by CREATE CATALOG")
        return descriptor

    def unregister_catalog(self, name: str) -> None:
        """Remove a catalog, but not its content.

        Raises:
            CatalogError: the catalog does not exist, or is the current one.
        """
        self.catalog(name)
        if name == self.current_catalog:
            raise CatalogError(f"catalog {name} is in use; use another one first (USE CATALOG)")
        del self._catalogs[name]
        self._declared.pop(name, None)

    def use_catalog(self, name: str) -> None:
        """Make a catalog and its default database the current ones."""
        self.current_database = self.catalog(name).default_database
        self.current_catalog = name

    def use_database(self, path: Sequence[str]) -> None:
        """Make a database the current one.

        Raises:
            CatalogError: no object has this name.
        """
        catalog, database = self.qualified_database(path)
        self.catalog(catalog).database(database)
        self.current_catalog, self.current_database = catalog, database

    @property
    def place(self) -> tuple[str, str]:
        """The current catalog and database."""
        return self.current_catalog, self.current_database

    def qualified(self, path: Sequence[str]) -> ObjectIdentifier:
        """The full name for a name of one to three parts."""
        if len(path) > 3:
            raise CatalogError(f"{'.'.join(path)} has more parts than catalog, database and name")
        whole = [self.current_catalog, self.current_database, ""]
        whole[3 - len(path) :] = path
        return ObjectIdentifier(*whole)

    def qualified_database(self, path: Sequence[str]) -> tuple[str, str]:
        """The full name of a database for a name of one or two parts."""
        if len(path) > 2:
            raise CatalogError(f"{'.'.join(path)} has more parts than catalog and database")
        return (self.current_catalog, path[0]) if len(path) == 1 else (path[0], path[1])

    # -- tables and views --------------------------------------------------------------

    def table(self, name: ObjectIdentifier) -> CatalogTable | CatalogView | None:
        """The table or view with the given name, temporary ones first; None if there is none."""
        temporary = self._temporary.get(name)
        if temporary is not None or not self._known(name.catalog):
            return temporary
        return self._catalogs[name.catalog].table(name.path)

    def is_temporary(self, name: ObjectIdentifier) -> bool:
        """Whether the name belongs to a temporary table or view."""
        return name in self._temporary

    def create_temporary(
        self, name: ObjectIdentifier, table: CatalogTable | CatalogView, replaced: bool = False
    ) -> None:
        """Add a temporary table or view.

        Raises:
            CatalogError: a temporary object has this name.
        """
        if name in self._temporary and not replaced:
            raise already_exists("temporary table or view", name)
        self._temporary[name] = table

    def alter_table(self, name: ObjectIdentifier, table: CatalogTable | CatalogView) -> None:
        """Replace a table or view in its catalog."""
        if name in self._temporary:
            self._temporary[name] = table
        else:
            self.catalog(name.catalog).alter_table(name.path, table)

    def rename_table(self, name: ObjectIdentifier, to: str) -> None:
        """Give a table or view another name."""
        if name in self._temporary:
            self._temporary[ObjectIdentifier(name.catalog, name.database, to)] = (
                self._temporary.pop(name)
            )
        else:
            self.catalog(name.catalog).rename_table(name.path, to)

    def drop_temporary(self, name: ObjectIdentifier, kind: type[T]) -> bool:
        """Remove a temporary table or view; False if there is none of that name and kind."""
        if not isinstance(self._temporary.get(name), kind):
            return False
        del self._temporary[name]
        return True

    def list_tables(self, catalog: str | None = None, database: str | None = None) -> list[str]:
        """Names of tables and views of a database, by default the current one."""
        catalog, database = catalog or self.current_catalog, database or self.current_database
        names = set(self.catalog(catalog).list_tables(database))
        return sorted(names | set(self._temporary_in(catalog, database)))

    def list_views(self, catalog: str | None = None, database: str | None = None) -> list[str]:
        """Names of views of a database, by default the current one."""
        catalog, database = catalog or self.current_catalog, database or self.current_database
        return [
            name
            for name in self.list_tables(catalog, database)
            if isinstance(self.table(ObjectIdentifier(catalog, database, name)), CatalogView)
        ]

    def list_temporary(self, views: bool | None = None) -> list[str]:
        """Names of the temporary tables and views of the current database; with a kind, only of
        this kind.
        """
        temporary = self._temporary_in(self.current_catalog, self.current_database)
        return sorted(
            name
            for name, table in temporary.items()
            if views is None or isinstance(table, CatalogView) == views
        )

    def _temporary_in(self, catalog: str, database: str) -> dict[str, CatalogTable | CatalogView]:
        return {
            name.name: table
            for name, table in self._temporary.items()
            if (name.catalog, name.database) == (catalog, database)
        }

    # -- functions ---------------------------------------------------------------------

    def function(self, path: Sequence[str]) -> CatalogFunction | None:
        """The user's function with a name: a system function, a temporary function or one of a
        catalog; None if there is none."""
        if len(path) == 1 and path[0].lower() in self.system_functions:
            return self.system_functions[path[0].lower()]
        name = self.qualified(path)
        temporary = self._temporary_functions.get(_lower(name))
        if temporary is not None or name.catalog not in self._catalogs:
            return temporary
        return self._catalogs[name.catalog].function(ObjectPath(name.database, name.name))

    def register_temporary_function(self, path: Sequence[str], function: CatalogFunction) -> None:
        """Add a temporary function.

        Raises:
            CatalogError: the name is taken.
        """
        if _lower(self.qualified(path)) in self._temporary_functions:
            raise already_exists("temporary function", ".".join(path))
        self.create_temporary_function(path, function)

    def register_system_function(self, name: str, function: CatalogFunction) -> None:
        """Add a temporary system function.

        Raises:
            CatalogError: the name is taken.
        """
        if name.lower() in self.system_functions:
            raise already_exists("temporary system function", name)
        self.system_functions[name.lower()] = function

    def create_temporary_function(self, path: Sequence[str], function: CatalogFunction) -> None:
        """Add a temporary function, or replace it."""
        self._temporary_functions[_lower(self.qualified(path))] = function

    def drop_temporary_function(self, path: Sequence[str]) -> bool:
        """Remove a temporary function; False if there is none."""
        return self._temporary_functions.pop(_lower(self.qualified(path)), None) is not None

    def list_functions(self) -> list[str]:
        """Names of the user's functions that need no database."""
        here = self.catalog(self.current_catalog).list_functions(self.current_database)
        temporary = [
            name.name
            for name in self._temporary_functions
            if (name.catalog, name.database) == (self.current_catalog, self.current_database)
        ]
        return sorted({*here, *temporary, *self.system_functions})

    # -- for errors --------------------------------------------------------------------

    def names(self, kind: NameKind) -> list[str]:
        """Names of all objects of a kind, relative to the current database."""
        if kind is NameKind.CATALOG:
            return self.list_catalogs()
        if kind is NameKind.DATABASE:
            return self.catalog(self.current_catalog).list_databases()
        if kind is NameKind.MODEL:
            return self.models.names(self.current_catalog, self.current_database)
        return self.list_tables() if kind is NameKind.TABLE else self.list_functions()


def _lower(name: ObjectIdentifier) -> ObjectIdentifier:
    return name._replace(name=name.name.lower())
