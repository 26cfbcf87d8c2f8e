"""`Catalog`: what all catalogs can do. Flink: interface ``Catalog``."""

from __future__ import annotations

from abc import ABC, abstractmethod

from millrace.table.catalog.catalog_objects import (
    CatalogDatabase,
    CatalogFunction,
    CatalogTable,
    CatalogView,
)
from millrace.table.catalog.errors import CatalogError
from millrace.table.catalog.object_path import ObjectPath

__all__ = ["Catalog"]


class Catalog(ABC):
    """Keeps databases with tables, views and functions. What changes it is refused by default.

    Methods raise a `CatalogError` for what is not there, or is there already; callers decide
    about IF EXISTS before.
    """

    name: str = ""

    @property
    @abstractmethod
    def default_database(self) -> str:
        """The database that is current after USE CATALOG."""

    @abstractmethod
    def list_databases(self) -> list[str]:
        """Names of all databases."""

    @abstractmethod
    def database(self, name: str) -> CatalogDatabase:
        """A database."""

    @abstractmethod
    def list_tables(self, database: str) -> list[str]:
        """Names of the tables and views of a database."""

    @abstractmethod
    def table(self, path: ObjectPath) -> CatalogTable | CatalogView | None:
        """A table or view; None: there is none of this name."""

    def list_functions(self, database: str) -> list[str]:
        """Names of the functions of a database."""
        return []

    def function(self, path: ObjectPath) -> CatalogFunction | None:
        """A function; None: there is none of this name."""
        return None

    def create_database(self, name: str, database: CatalogDatabase) -> None:
        """Add a database."""
        raise self._read_only("databases")

    def alter_database(self, name: str, database: CatalogDatabase) -> None:
        """Replace a database's properties."""
        raise self._read_only("databases")

    def drop_database(self, name: str, cascade: bool) -> None:
        """Remove a database; one that is not empty with ``cascade`` only."""
        raise self._read_only("databases")

    def create_table(self, path: ObjectPath, table: CatalogTable | CatalogView) -> None:
        """Add a table or view."""
        raise self._read_only("tables")

    def alter_table(self, path: ObjectPath, table: CatalogTable | CatalogView) -> None:
        """Replace a table or view."""
        raise self._read_only("tables")

    def rename_table(self, path: ObjectPath, name: str) -> None:
        """Give a table or view another name in its database."""
        raise self._read_only("tables")

    def drop_table(self, path: ObjectPath) -> None:
        """Remove a table or view."""
        raise self._read_only("tables")

    def create_function(self, path: ObjectPath, function: CatalogFunction) -> None:
        """Add a function, or replace it."""
        raise self._read_only("functions")

    def drop_function(self, path: ObjectPath) -> None:
        """Remove a function."""
        raise self._read_only("functions")

    def _read_only(self, what: str) -> CatalogError:
        return CatalogError(f"{what} of catalog {self.name!r} cannot be changed from here")
