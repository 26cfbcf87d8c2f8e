"""Catalogs by their options: what CREATE CATALOG makes."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.common.errors import JobDefinitionError
from millrace.table.catalog.catalog import Catalog
from millrace.table.catalog.file_catalog import FileCatalog
from millrace.table.catalog.generic_in_memory_catalog import GenericInMemoryCatalog
from millrace.table.catalog.spark_catalog import SparkCatalog

__all__ = ["catalog_of"]

_TYPES = ("generic_in_memory", "file", "spark")


def catalog_of(name: str, options: Mapping[str, str]) -> Catalog:
    """The catalog of options.

    Raises:
        JobDefinitionError: the option ``type`` is missing, or names none.
    """
    kind = options.get("type")
    database = options.get("default-database", "default")
    known = {"type", "default-database"} | ({"path"} if kind == "file" else set())
    for key in options:
        if key not in known:
            raise JobDefinitionError(
                f"a catalog of 'type' = '{kind}' has no option {key!r}; there are "
                f"{', '.join(sorted(known))}"
            )
    if kind == "generic_in_memory":
        return GenericInMemoryCatalog(name, database)
    if kind == "spark":
        return SparkCatalog(name, database)
    if kind == "file":
        if "path" not in options:
            raise JobDefinitionError("a catalog of 'type' = 'file' needs the option 'path'")
        return FileCatalog(name, options["path"], database)
    raise JobDefinitionError(
        f"CREATE CATALOG needs 'type' = one of {', '.join(_TYPES)}, got {kind!r}"
    )
