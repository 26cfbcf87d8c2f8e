"""`CatalogStatistics`: statistics of the rows of tables and partitions.

ANALYZE TABLE counts them. Flink: the methods of statistics of interface ``Catalog``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace

from millrace.table.catalog.catalog_objects import (
    CatalogColumnStatistics,
    CatalogPartitionSpec,
    CatalogTable,
    CatalogTableStatistics,
    CatalogView,
)
from millrace.table.catalog.errors import CatalogError
from millrace.table.catalog.object_path import ObjectPath

__all__ = ["CatalogStatistics"]

_UNKNOWN = CatalogTableStatistics(-1)
_WHOLE = CatalogPartitionSpec({})


class CatalogStatistics(ABC):
    """Base class of catalogs with the methods for statistics, which are stored with the table.

    Of a table or partition that nobody has looked at there are -1 rows, and no columns.
    """

    @abstractmethod
    def get_table(self, table_path: ObjectPath) -> CatalogTable | CatalogView:
        """A table or view.

        Raises:
            CatalogError: no table or view has this name.
        """

    @abstractmethod
    def table_exists(self, table_path: ObjectPath) -> bool:
        """Whether a table or view of this name exists."""

    @abstractmethod
    def _alter_table(self, path: ObjectPath, table: CatalogTable | CatalogView) -> None: ...

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """Statistics of a table.

        Raises:
            CatalogError: there is no table of this name.
        """
        return self.get_partition_statistics(table_path, _WHOLE)

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """Statistics of a table's columns.

        Raises:
            CatalogError: there is no table of this name.
        """
        return self.get_partition_column_statistics(table_path, _WHOLE)

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        """Statistics of a partition.

        Raises:
            CatalogError: there is no table of this name.
        """
        table = self.get_table(table_path)
        if not isinstance(table, CatalogTable):
            return _UNKNOWN
        return table.statistics.get(partition_spec.path(table.partition_keys), _UNKNOWN)

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        """Statistics of a partition's columns.

        Raises:
            CatalogError: there is no table of this name.
        """
        statistics = self.get_partition_statistics(table_path, partition_spec)
        return CatalogColumnStatistics(statistics.columns)

    def bulk_get_partition_statistics(
        self, table_path: ObjectPath, partition_specs: Sequence[CatalogPartitionSpec]
    ) -> list[CatalogTableStatistics]:
        """Call `get_partition_statistics` for each partition."""
        return [self.get_partition_statistics(table_path, spec) for spec in partition_specs]

    def bulk_get_partition_column_statistics(
        self, table_path: ObjectPath, partition_specs: Sequence[CatalogPartitionSpec]
    ) -> list[CatalogColumnStatistics]:
        """Call `get_partition_column_statistics` for each partition."""
        return [self.get_partition_column_statistics(table_path, spec) for spec in partition_specs]

    def alter_table_statistics(
        self,
        table_path: ObjectPath,
        table_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool = False,
    ) -> None:
        """Replace the statistics of a table.

        Raises:
            CatalogError: the table does not exist, or is a view.
        """
        self.alter_partition_statistics(table_path, _WHOLE, table_statistics, ignore_if_not_exists)

    def alter_table_column_statistics(
        self,
        table_path: ObjectPath,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool = False,
    ) -> None:
        """Replace the statistics of some columns of a table.

        Raises:
            CatalogError: the table does not exist, or is a view.
        """
        self.alter_partition_column_statistics(
            table_path, _WHOLE, column_statistics, ignore_if_not_exists
        )

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool = False,
    ) -> None:
        """Replace the statistics of a partition.

        Raises:
            CatalogError: the table does not exist, or is a view.
        """
        if not ignore_if_not_exists or self.table_exists(table_path):
            self._change(table_path, partition_spec, lambda _: partition_statistics)

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool = False,
    ) -> None:
        """Replace the statistics of some columns of a partition.

        Raises:
            CatalogError: the table does not exist, or is a view.
        """
        if ignore_if_not_exists and not self.table_exists(table_path):
            return
        given = column_statistics.column_statistics_data
        self._change(
            table_path,
            partition_spec,
            lambda known: replace(known, columns={**known.columns, **given}),
        )

    def _change(
        self,
        path: ObjectPath,
        spec: CatalogPartitionSpec,
        change: Callable[[CatalogTableStatistics], CatalogTableStatistics],
    ) -> None:
        table = self.get_table(path)
        if not isinstance(table, CatalogTable):
            raise CatalogError(f"{path} is a view: it has no statistics")
        name = spec.path(table.partition_keys)
        made = change(table.statistics.get(name, _UNKNOWN))
        self._alter_table(path, replace(table, statistics={**table.statistics, name: made}))
