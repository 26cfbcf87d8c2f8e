"""`Catalog`: the interface of all catalogs. Flink: interface ``Catalog``."""

from __future__ import annotations

from abc import abstractmethod

from millrace.table.catalog.catalog_models import CatalogModels
from millrace.table.catalog.catalog_objects import (
    CatalogDatabase,
    CatalogFunction,
    CatalogTable,
    CatalogView,
)
from millrace.table.catalog.catalog_partitions import CatalogPartitions
from millrace.table.catalog.catalog_statistics import CatalogStatistics
from millrace.table.catalog.errors import CatalogError, already_exists, not_found
from millrace.table.catalog.object_path import ObjectPath

__all__ = ["Catalog"]


class Catalog(CatalogStatistics, CatalogPartitions, CatalogModels):
    """Databases with tables, views and functions. Changes are refused by default.

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
        """The database with the given name."""

    @abstractmethod
    def list_tables(self, database_name: str) -> list[str]:
        """Names of the tables and views of a database."""

    @abstractmethod
    def table(self, path: ObjectPath) -> CatalogTable | CatalogView | None:
        """The table or view at the given path; None if there is none."""

    def list_functions(self, database_name: str) -> list[str]:
        """Names of the functions of a database."""
        return []

    def function(self, path: ObjectPath) -> CatalogFunction | None:
        """The function at the given path; None if there is none."""
        return None

    # -- what there is -----------------------------------------------------------------

    def get_default_database(self) -> str:
        """The database that is current after USE CATALOG."""
        return self.default_database

    def database_exists(self, database_name: str) -> bool:
        """Whether a database of this name exists."""
        return database_name in self.list_databases()

    def get_database(self, database_name: str) -> CatalogDatabase:
        """The database with the given name.

        Raises:
            CatalogError: no object has this name.
        """
        return self.database(database_name)

    def list_views(self, database_name: str) -> list[str]:
        """Names of the views of a database."""
        return [
            name
            for name in self.list_tables(database_name)
            if isinstance(self.table(ObjectPath(database_name, name)), CatalogView)
        ]

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """Names of the materialized tables of a database; always empty here."""
        return []

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Whether a table or view of this name exists."""
        return self.database_exists(table_path.database) and self.table(table_path) is not None

    def get_table(self, table_path: ObjectPath) -> CatalogTable | CatalogView:
        """The table or view at the given path.

        Raises:
            CatalogError: no object has this name.
        """
        table = self.table(table_path)
        if table is None:
            there = self.database_exists(table_path.database)
            names = self.list_tables(table_path.database) if there else ()
            raise not_found("table", table_path.name if there else table_path, names)
        return table

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Whether a function of this name exists."""
        return self.function(function_path) is not None

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """The function at the given path.

        Raises:
            CatalogError: no object has this name.
        """
        function = self.function(function_path)
        if function is None:
            there = self.database_exists(function_path.database)
            names = self.list_functions(function_path.database) if there else ()
            raise not_found("function", function_path.name if there else function_path, names)
        return function

    # -- changes -----------------------------------------------------------------------

    def create_database(
        self, name: str, database: CatalogDatabase, ignore_if_exists: bool = False
    ) -> None:
        """Add a database; with ``ignore_if_exists`` an existing one stays.

        Raises:
            CatalogError: an object with this name exists already.
        """
        if not (ignore_if_exists and self.database_exists(name)):
            self._create_database(name, database)

    def alter_database(
        self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool = False
    ) -> None:
        """Replace a database's properties.

        Raises:
            CatalogError: the object does not exist.
        """
        if not ignore_if_not_exists or self.database_exists(name):
            self._alter_database(name, new_database)

    def drop_database(
        self, name: str, ignore_if_exists: bool = False, cascade: bool = False
    ) -> None:
        """Remove a database. With ``cascade`` its content is removed, too; without, it must be
        empty.

        Args:
            ignore_if_exists: whether it may be missing (the name is PyFlink's).

        Raises:
            CatalogError: the database does not exist, or is not empty.
        """
        if not ignore_if_exists or self.database_exists(name):
            self._drop_database(name, cascade)

    def create_table(
        self,
        table_path: ObjectPath,
        table: CatalogTable | CatalogView,
        ignore_if_exists: bool = False,
    ) -> None:
        """Add a table or view; with ``ignore_if_exists`` an existing one stays.

        Raises:
            CatalogError: an object with this name exists already.
        """
        if not (ignore_if_exists and self.table_exists(table_path)):
            self._create_table(table_path, table)

    def alter_table(
        self,
        table_path: ObjectPath,
        new_table: CatalogTable | CatalogView,
        ignore_if_not_exists: bool = False,
    ) -> None:
        """Replace a table or view.

        Raises:
            CatalogError: the object does not exist.
        """
        if not ignore_if_not_exists or self.table_exists(table_path):
            self._alter_table(table_path, new_table)

    def rename_table(
        self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool = False
    ) -> None:
        """Give a table or view another name in its database.

        Raises:
            CatalogError: the object does not exist, or the new name is taken.
        """
        if not ignore_if_not_exists or self.table_exists(table_path):
            self._rename_table(table_path, new_table_name)

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool = False) -> None:
        """Remove a table or view.

        Raises:
            CatalogError: the object does not exist.
        """
        if not ignore_if_not_exists or self.table_exists(table_path):
            self._drop_table(table_path)

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool = False
    ) -> None:
        """Add a function; with ``ignore_if_exists`` an existing one stays.

        Raises:
            CatalogError: an object with this name exists already.
        """
        if not self.function_exists(function_path):
            self._create_function(function_path, function)
        elif not ignore_if_exists:
            raise already_exists("function", function_path)

    def alter_function(
        self,
        function_path: ObjectPath,
        new_function: CatalogFunction,
        ignore_if_not_exists: bool = False,
    ) -> None:
        """Replace a function.

        Raises:
            CatalogError: the object does not exist.
        """
        if ignore_if_not_exists and not self.function_exists(function_path):
            return
        self.get_function(function_path)
        self._create_function(function_path, new_function)

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool = False) -> None:
        """Remove a function.

        Raises:
            CatalogError: the object does not exist.
        """
        if not ignore_if_not_exists or self.function_exists(function_path):
            self._drop_function(function_path)

    # -- for catalogs that can be changed ----------------------------------------------

    def _create_database(self, name: str, database: CatalogDatabase) -> None:
        raise self._read_only("databases")

    def _alter_database(self, name: str, database: CatalogDatabase) -> None:
        raise self._read_only("databases")

    def _drop_database(self, name: str, cascade: bool) -> None:
        raise self._read_only("databases")

    def _create_table(self, path: ObjectPath, table: CatalogTable | CatalogView) -> None:
        raise self._read_only("tables")

    def _alter_table(self, path: ObjectPath, table: CatalogTable | CatalogView) -> None:
        raise self._read_only("tables")

    def _rename_table(self, path: ObjectPath, name: str) -> None:
        raise self._read_only("tables")

    def _drop_table(self, path: ObjectPath) -> None:
        raise self._read_only("tables")

    def _create_function(self, path: ObjectPath, function: CatalogFunction) -> None:
        raise self._read_only("functions")

    def _drop_function(self, path: ObjectPath) -> None:
        raise self._read_only("functions")

    def _read_only(self, what: str) -> CatalogError:
        return CatalogError(f"{what} of catalog {self.name!r} cannot be changed by this program")
