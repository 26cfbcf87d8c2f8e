"""`CatalogFactory`: creation of catalogs from the options of CREATE CATALOG.

Flink: ``CatalogFactory``, with ``FactoryUtil``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from millrace.common.errors import JobDefinitionError
from millrace.common.plugins import Plugins
from millrace.table.catalog.catalog import Catalog
from millrace.table.catalog.errors import (
    CatalogError,
    UnknownCatalogOptionError,
    missing_option,
    name_hint,
    plugin_hint,
)
from millrace.table.catalog.file_catalog import FileCatalog
from millrace.table.catalog.generic_in_memory_catalog import GenericInMemoryCatalog
from millrace.table.catalog.jdbc_catalog import JdbcCatalog
from millrace.table.catalog.spark_catalog import SparkCatalog

__all__ = ["CATALOGS", "CatalogFactory", "catalog_of"]


class CatalogFactory(ABC):
    """Makes the catalogs of one ``'type'``.

    Attributes:
        required, optional: names of options, beside ``type`` and ``default-database``.
    """

    required: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def create(self, name: str, default_database: str, options: Mapping[str, str]) -> Catalog:
        """Create the catalog; the caller has checked that ``options`` has all required options."""


class _InMemory(CatalogFactory):
    def create(self, name: str, default_database: str, options: Mapping[str, str]) -> Catalog:
        return GenericInMemoryCatalog(name, default_database)


class _Files(CatalogFactory):
    required = ("path",)

    def create(self, name: str, default_database: str, options: Mapping[str, str]) -> Catalog:
        return FileCatalog(name, options["path"], default_database)


class _Spark(CatalogFactory):
    def create(self, name: str, default_database: str, options: Mapping[str, str]) -> Catalog:
        return SparkCatalog(name, default_database)


class _Jdbc(CatalogFactory):
    required = ("base-url", "username", "password")

    def create(self, name: str, default_database: str, options: Mapping[str, str]) -> Catalog:
        user, password = options["username"], options["password"]
        return JdbcCatalog(name, default_database, user, password, options["base-url"])


CATALOGS: Plugins[CatalogFactory] = Plugins(
    "millrace.catalogs",
    CatalogFactory,  # type: ignore[type-abstract]
    "type of catalogs",
    {"generic_in_memory": _InMemory(), "file": _Files(), "spark": _Spark(), "jdbc": _Jdbc()},
    CatalogError,
)
"""Factories by the value of the option ``type``."""


def catalog_of(name: str, options: Mapping[str, str]) -> Catalog:
    """The catalog that the given options of CREATE CATALOG describe.

    Raises:
        JobDefinitionError: the option ``type`` is missing, or names none.
    """
    kind = options.get("type")
    if kind is None:
        raise missing_option("a catalog", "type", options, CATALOGS)
    if kind not in CATALOGS:
        hint = plugin_hint(kind, CATALOGS)
        raise CatalogError(f"there is no catalog of 'type' = '{kind}'{hint}", kind)
    factory = CATALOGS[kind]
    known = {"type", "default-database", *factory.required, *factory.optional}
    for key in options:
        if key not in known:
            hint = name_hint(key, known)
            raise UnknownCatalogOptionError(
                f"a catalog of 'type' = '{kind}' has no option {key!r}{hint}", key
            )
    missing = [key for key in factory.required if key not in options]
    if missing:
        raise JobDefinitionError(
            f"a catalog of 'type' = '{kind}' needs the option {', '.join(map(repr, missing))}"
        )
    return factory.create(name, options.get("default-database", "default"), options)
