"""Creation of catalogs from the options of CREATE CATALOG."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.common.errors import JobDefinitionError
from millrace.table.catalog.catalog import Catalog
from millrace.table.catalog.errors import CatalogError, missing_option, name_hint
from millrace.table.catalog.file_catalog import FileCatalog
from millrace.table.catalog.generic_in_memory_catalog import GenericInMemoryCatalog
from millrace.table.catalog.jdbc_catalog import JdbcCatalog
from millrace.table.catalog.spark_catalog import SparkCatalog

__all__ = ["catalog_of"]

_OPTIONS = {
    "generic_in_memory": (),
    "file": ("path",),
    "spark": (),
    "jdbc": ("base-url", "username", "password"),
}
"""Of each type, the options that it needs."""


def catalog_of(name: str, options: Mapping[str, str]) -> Catalog:
    """The catalog with these options.

    Raises:
        JobDefinitionError: the option ``type`` is missing, or names none.
    """
    kind = options.get("type")
    database = options.get("default-database", "default")
    if kind is None:
        raise missing_option("a catalog", "type", options, _OPTIONS)
    if kind not in _OPTIONS:
        hint = name_hint(kind, _OPTIONS)
        raise CatalogError(f"there is no catalog of 'type' = '{kind}'{hint}", kind)
    known = {"type", "default-database", *_OPTIONS[kind]}
    for key in options:
        if key not in known:
            hint = name_hint(key, known)
            raise CatalogError(f"a catalog of 'type' = '{kind}' has no option {key!r}{hint}", key)
    if kind == "generic_in_memory":
        return GenericInMemoryCatalog(name, database)
    if kind == "spark":
        return SparkCatalog(name, database)
    missing = [key for key in _OPTIONS[kind] if key not in options]
    if missing:
        raise JobDefinitionError(
            f"a catalog of 'type' = '{kind}' needs the option {', '.join(map(repr, missing))}"
        )
    if kind == "file":
        return FileCatalog(name, options["path"], database)
    user, password = options["username"], options["password"]
    return JdbcCatalog(name, database, user, password, options["base-url"])
