"""Catalogs, which give tables, views and functions their names. PyFlink's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.other_paths import late_directory, late_names

if TYPE_CHECKING:
    from millrace.common.config.configuration import Configuration
    from millrace.expressions.resolved import ResolvedExpression
    from millrace.table.catalog.catalog import Catalog
    from millrace.table.catalog.catalog_models import CatalogModel
    from millrace.table.catalog.catalog_objects import (
        CatalogBaseTable,
        CatalogColumnStatistics,
        CatalogColumnStatisticsData,
        CatalogDatabase,
        CatalogDescriptor,
        CatalogFunction,
        CatalogPartition,
        CatalogPartitionSpec,
        CatalogTable,
        CatalogTableStatistics,
        CatalogView,
    )
    from millrace.table.catalog.errors import CatalogError
    from millrace.table.catalog.file_catalog import FileCatalog
    from millrace.table.catalog.generic_in_memory_catalog import GenericInMemoryCatalog
    from millrace.table.catalog.jdbc_catalog import JdbcCatalog
    from millrace.table.catalog.object_path import ObjectIdentifier, ObjectPath
    from millrace.table.catalog.resolved_schema import (
        Column,
        ComputedColumn,
        Constraint,
        MetadataColumn,
        PhysicalColumn,
        ResolvedSchema,
        UniqueConstraint,
        WatermarkSpec,
    )
    from millrace.table.catalog.spark_catalog import SparkCatalog
    from millrace.table.schema import Schema
    from millrace.table.table_schema import TableSchema
    from millrace.table.types import DataType

__all__ = [
    "Catalog",
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogColumnStatisticsData",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogError",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTable",
    "CatalogTableStatistics",
    "CatalogView",
    "Column",
    "ComputedColumn",
    "Configuration",
    "Constraint",
    "DataType",
    "FileCatalog",
    "GenericInMemoryCatalog",
    "JdbcCatalog",
    "MetadataColumn",
    "ObjectIdentifier",
    "ObjectPath",
    "PhysicalColumn",
    "ResolvedExpression",
    "ResolvedSchema",
    "Schema",
    "SparkCatalog",
    "TableSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]

# modules that workers import, and those of expressions, need nothing of catalogs but their names
if not TYPE_CHECKING:  # a type checker knows the names by their imports, and no others
    __getattr__ = late_names(__name__)
    __dir__ = late_directory(__name__)
