"""What catalogs keep: tables, views, functions and databases, as they were declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.table.schema import Schema

__all__ = [
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogFunction",
    "CatalogTable",
    "CatalogTableStatistics",
    "CatalogView",
]


@dataclass(frozen=True)
class CatalogDatabase:
    """A database: properties and a comment."""

    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None


@dataclass(frozen=True)
class CatalogDescriptor:
    """What a catalog was made with. Flink: ``CatalogDescriptor``."""

    options: Mapping[str, str]
    comment: str | None = None


@dataclass(frozen=True)
class CatalogColumnStatistics:
    """What ANALYZE TABLE found in a column. Flink: ``CatalogColumnStatisticsDataBase`` and kin.

    Attributes:
        minimum, maximum: as text, of columns of numbers and times.
        average_length, max_length: in characters, of texts.
    """

    null_count: int
    distinct_count: int | None = None
    minimum: str | None = None
    maximum: str | None = None
    average_length: float | None = None
    max_length: int | None = None


@dataclass(frozen=True)
class CatalogTableStatistics:
    """What ANALYZE TABLE counted. Flink: ``CatalogTableStatistics``."""

    row_count: int
    columns: Mapping[str, CatalogColumnStatistics] = field(default_factory=dict)


@dataclass(frozen=True)
class CatalogTable:
    """A table: its schema, options and partition columns. Flink: ``CatalogTable``.

    Attributes:
        access: of a table that is not made by a connector's options: its own `TableAccess`. Such a
            table is never persisted.
        bounded: whether it ends, where its own access is asked for nothing.
        statistics: of ANALYZE TABLE, by partition such as ``year=2026``; under "" of all rows.
    """

    schema: Schema
    options: Mapping[str, str] = field(default_factory=dict)
    partition_keys: tuple[str, ...] = ()
    comment: str | None = None
    access: Any = None
    bounded: bool = False
    statistics: Mapping[str, CatalogTableStatistics] = field(default_factory=dict)


@dataclass(frozen=True)
class CatalogView:
    """A view: a query as SQL text, or as a tree (of a `Table`).

    Attributes:
        query: the relational tree, or None: ``text`` says what it is.
        text: the query as it was written, as far as it was one.
        columns: names of its columns, if the view gives them others.
        place: the catalog and the database from which names in the text are found: those that
            were the current ones when it was written.
    """

    text: str
    query: Any = None
    columns: tuple[str, ...] = ()
    comment: str | None = None
    place: tuple[str, str] | None = None


@dataclass(frozen=True)
class CatalogFunction:
    """A function: the module and name of a Python function, or the function itself."""

    class_name: str
    language: str = "PYTHON"
    function: Any = None
