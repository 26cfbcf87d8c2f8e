"""Objects in catalogs: tables, views, functions and databases, as statements declare them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobDefinitionError
from millrace.planner.execution.table_factory import DataStreamAccess, TableFactory
from millrace.sql.position import OptionPosition
from millrace.table.schema import Schema
from millrace.table.table_schema import TableSchema

__all__ = [
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogColumnStatisticsData",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogFunction",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTable",
    "CatalogTableStatistics",
    "CatalogView",
]


class _Described(ABC):
    """Base class of objects in catalogs, with options and a comment."""

    options: Mapping[str, str]
    comment: str | None

    def get_comment(self) -> str | None:
        """The object's comment."""
        return self.comment

    def get_description(self) -> str | None:
        """The object's comment."""
        return self.comment

    def get_detailed_description(self) -> str | None:
        """The object's comment."""
        return self.comment

    def copy(self) -> Self:
        """The same object, because it is immutable."""
        return self


@dataclass(frozen=True)
class CatalogDatabase(_Described):
    """A database: properties and a comment."""

    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogDatabase:
        """A database with the given properties."""
        return CatalogDatabase(dict(properties), comment)

    def get_properties(self) -> dict[str, str]:
        """Properties of the database."""
        return dict(self.options)


@dataclass(frozen=True)
class CatalogDescriptor:
    """Name and options of a catalog. Flink: ``CatalogDescriptor``."""

    options: Mapping[str, str]
    comment: str | None = None
    catalog_name: str = ""

    @staticmethod
    def of(
        catalog_name: str, configuration: Configuration, comment: str | None = None
    ) -> CatalogDescriptor:
        """The descriptor with a name and the options of ``CREATE CATALOG``."""
        return CatalogDescriptor(configuration.to_dict(), comment, catalog_name)


@dataclass(frozen=True)
class CatalogColumnStatisticsData:
    """Statistics of a column from ANALYZE TABLE. Flink: ``CatalogColumnStatisticsDataBase`` and
    subclasses.

    Attributes:
        minimum, maximum: least and greatest value as text, for columns of numbers and times.
        average_length, max_length: lengths of texts, in characters.
    """

    null_count: int
    distinct_count: int | None = None
    minimum: str | None = None
    maximum: str | None = None
    average_length: float | None = None
    max_length: int | None = None


@dataclass(frozen=True)
class CatalogColumnStatistics:
    """Statistics of the columns of a table or partition. Flink: ``CatalogColumnStatistics``."""

    column_statistics_data: Mapping[str, CatalogColumnStatisticsData] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)

    def get_column_statistics_data(self) -> dict[str, CatalogColumnStatisticsData]:
        """Statistics by the column's name."""
        return dict(self.column_statistics_data)

    def get_properties(self) -> dict[str, str]:
        """Further properties of the statistics."""
        return dict(self.properties)

    def copy(self) -> CatalogColumnStatistics:
        """The same object, because it is immutable."""
        return self


@dataclass(frozen=True)
class CatalogTableStatistics:
    """Statistics of a table from ANALYZE TABLE. Flink: ``CatalogTableStatistics``."""

    row_count: int
    columns: Mapping[str, CatalogColumnStatisticsData] = field(default_factory=dict)
    file_count: int = -1
    total_size: int = -1
    raw_data_size: int = -1
    properties: Mapping[str, str] = field(default_factory=dict)

    def get_row_count(self) -> int:
        """Number of rows; -1 if unknown."""
        return self.row_count

    def get_field_count(self) -> int:
        """Number of files; always -1, because it is not counted."""
        return self.file_count

    def get_total_size(self) -> int:
        """Size of the files in bytes; always -1, because it is not counted."""
        return self.total_size

    def get_raw_data_size(self) -> int:
        """Size of the rows in memory, in bytes; always -1, because it is not counted."""
        return self.raw_data_size

    def get_properties(self) -> dict[str, str]:
        """Further properties of the statistics."""
        return dict(self.properties)

    def copy(self) -> CatalogTableStatistics:
        """The same object, because it is immutable."""
        return self


@dataclass(frozen=True)
class CatalogPartitionSpec:
    """Values of partition columns, as text. Flink: ``CatalogPartitionSpec``.

    Example:
        >>> CatalogPartitionSpec({"month": "2", "year": "2026"}).path(["year", "month"])
        'year=2026/month=2'
    """

    partition_spec: Mapping[str, str] = field(hash=False)

    def get_partition_spec(self) -> dict[str, str]:
        """Values by the column's name."""
        return dict(self.partition_spec)

    def path(self, keys: Sequence[str]) -> str:
        """The partition's name, with the partition columns in a table's order."""
        return "/".join(
            f"{key}={self.partition_spec[key]}" for key in keys if key in self.partition_spec
        )


@dataclass(frozen=True)
class CatalogPartition(_Described):
    """A partition in a catalog: properties and a comment. Flink: ``CatalogPartition``.

    Example:
        >>> CatalogPartition.create_instance({"owner": "ada"}, "the first").get_comment()
        'the first'
    """

    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    comment: str | None = None

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogPartition:
        """A partition with the given properties."""
        return CatalogPartition(dict(properties), comment)

    def get_properties(self) -> dict[str, str]:
        """Properties of the partition."""
        return dict(self.options)


class CatalogBaseTable(_Described):
    """A table or a view. Flink: ``CatalogBaseTable``."""

    @staticmethod
    def create_table(
        schema: TableSchema | Schema,
        partition_keys: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogTable:
        """A table with the given columns and options."""
        return CatalogTable(
            _unresolved(schema), dict(properties or {}), tuple(partition_keys), comment
        )

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: TableSchema | Schema,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogView:
        """A view of a query, with these column names.

        Args:
            original_query: the query as the statement has it.
            expanded_query: the query with all names in full, which is run.
            properties: ignored, since a view has no properties.
        """
        names = tuple(column.name for column in _unresolved(schema).columns)
        return CatalogView(expanded_query or original_query, None, names, comment)

    @abstractmethod
    def get_options(self) -> dict[str, str]:
        """Options of the table."""

    @abstractmethod
    def get_unresolved_schema(self) -> Schema:
        """The columns as they were declared, before their types are resolved."""


def _unresolved(schema: TableSchema | Schema) -> Schema:
    if isinstance(schema, Schema):
        return schema
    return Schema.new_builder().from_row_data_type(schema.to_row_data_type()).build()


@dataclass(frozen=True)
class CatalogTable(CatalogBaseTable):
    """A table: its schema, options and partition columns. Flink: ``CatalogTable``.

    Attributes:
        access: the stream or the source of a table of the program, which has no connector; None
            for other tables. A table of the program is never persisted.
        bounded: whether it ends, where its own access is asked for nothing.
        statistics: results of ANALYZE TABLE by partition, such as ``year=2026``; the key "" stands
            for all rows.
        partitions: partitions that `Catalog.create_partition` added.
        option_places: positions of the options in the statements that declare them, by key; empty
            for tables that are not declared in SQL, or were by another process.
    """

    schema: Schema
    options: Mapping[str, str] = field(default_factory=dict)
    partition_keys: tuple[str, ...] = ()
    comment: str | None = None
    access: DataStreamAccess | TableFactory | None = None
    bounded: bool = False
    statistics: Mapping[str, CatalogTableStatistics] = field(default_factory=dict)
    partitions: tuple[tuple[CatalogPartitionSpec, CatalogPartition], ...] = ()
    option_places: Mapping[str, OptionPosition] = field(
        default_factory=dict, compare=False, repr=False
    )

    def get_options(self) -> dict[str, str]:
        return dict(self.options)

    def get_unresolved_schema(self) -> Schema:
        return self.schema


@dataclass(frozen=True)
class CatalogView(CatalogBaseTable):
    """A view: a query as SQL text, or as the syntax tree of a `Table`.

    Attributes:
        query: the relational tree; None if ``text`` contains the query.
        text: the query as it was written, as far as it was one.
        columns: names of the view's columns; empty if they are the query's.
        place: the catalog and the database from which names in the text are found: those that
            were the current ones when it was written.
    """

    text: str
    query: Any = None
    columns: tuple[str, ...] = ()
    comment: str | None = None
    place: tuple[str, str] | None = None

    def get_options(self) -> dict[str, str]:
        return {}

    def get_unresolved_schema(self) -> Schema:
        """Columns of a view made from a `Table`; columns of a view made from SQL text become known
        when the view is used.

        Raises:
            JobDefinitionError: the view is made from SQL text.
        """
        if self.query is None:
            raise JobDefinitionError(
                "the columns of a view are those of its query: t_env.from_path(...).get_schema()"
            )
        return Schema.new_builder().from_row_data_type(self.query.row_type).build()


@dataclass(frozen=True)
class CatalogFunction(_Described):
    """A function: the module and name of a Python function, or the function itself."""

    class_name: str
    language: str = "PYTHON"
    function: Any = None
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    comment: str | None = None

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """The function ``module.function``.

        Raises:
            JobDefinitionError: the function has another language.
        """
        if function_language.upper() != "PYTHON":
            raise JobDefinitionError(
                f"functions must be written in Python, not in {function_language}"
            )
        return CatalogFunction(class_name)

    def get_class_name(self) -> str:
        """Full name of the function: ``module.function``."""
        return self.class_name

    def get_function_language(self) -> str:
        """Language of the function: ``PYTHON``."""
        return self.language

    def get_options(self) -> dict[str, str]:
        """Options of the function; always empty here."""
        return dict(self.options)
