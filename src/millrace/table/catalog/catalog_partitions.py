"""`CatalogPartitions`: the partitions of a catalog's tables.

Flink: the methods of partitions of interface ``Catalog``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from millrace.common.errors import JobDefinitionError
from millrace.planner.catalog_reader import ResolvedTable
from millrace.table.catalog.catalog_objects import (
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTable,
    CatalogView,
)
from millrace.table.catalog.errors import (
    CatalogError,
    PartitionSpecInvalidError,
    TableNotPartitionedError,
    already_exists,
    not_found,
)
from millrace.table.catalog.object_path import ObjectPath

__all__ = ["CatalogPartitions"]

_FOUND = CatalogPartition()


class CatalogPartitions(ABC):
    """Base class of catalogs, with the methods for partitions. There are partitions that the
    table's connector finds, and added partitions with properties, which the catalog stores with the
    table.
    """

    @abstractmethod
    def get_table(self, table_path: ObjectPath) -> CatalogTable | CatalogView:
        """A table or view.

        Raises:
            CatalogError: no table or view has this name.
        """

    @abstractmethod
    def _alter_table(self, path: ObjectPath, table: CatalogTable | CatalogView) -> None: ...

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """The partitions of a table, sorted by name.

        Args:
            partition_spec: values of some partition columns, which they have.

        Raises:
            CatalogError: there is no such table, it is not partitioned, or it has no such partition
                column.
        """
        table = self._partitioned(table_path)
        wanted = {} if partition_spec is None else partition_spec.get_partition_spec()
        for name in wanted:
            if name not in table.partition_keys:
                raise not_found("partition column", name, table.partition_keys)
        return [
            spec
            for spec, _ in self._partitions(table_path, table)
            if wanted.items() <= spec.partition_spec.items()
        ]

    def get_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogPartition:
        """A partition with its properties. They are empty if the connector has found the partition,
        and the catalog does not store it.

        Raises:
            CatalogError: there is no such table or partition.
        """
        table = self._partitioned(table_path)
        known = self._known(table_path, table)
        name = partition_spec.path(table.partition_keys)
        if name not in known:
            raise not_found("partition", name, sorted(known))
        return known[name]

    def partition_exists(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> bool:
        """Whether a table has a partition; False if the table does not exist."""
        try:
            table = self._partitioned(table_path)
        except CatalogError:
            return False
        return partition_spec.path(table.partition_keys) in self._known(table_path, table)

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool = False,
    ) -> None:
        """Add a partition; with ``ignore_if_exists`` an existing one stays.

        Raises:
            CatalogError: it is there already, does not name each partition column, or there is no
                such table.
        """
        table = self._partitioned(table_path)
        if set(partition_spec.partition_spec) != set(table.partition_keys):
            raise PartitionSpecInvalidError(
                f"a partition of {table_path} is named by "
                f"{', '.join(table.partition_keys)}, not by "
                f"{', '.join(partition_spec.partition_spec) or 'nothing'}"
            )
        name = partition_spec.path(table.partition_keys)
        if name in self._known(table_path, table):
            if ignore_if_exists:
                return
            raise already_exists("partition", name)
        self._put(table_path, table, partition_spec, partition)

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool = False,
    ) -> None:
        """Replace the properties of a partition.

        Raises:
            CatalogError: there is no such table or partition.
        """
        table = self._partitioned(table_path)
        if self._is_there(table_path, table, partition_spec, ignore_if_not_exists):
            self._put(table_path, table, partition_spec, new_partition)

    def drop_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        ignore_if_not_exists: bool = False,
    ) -> None:
        """Remove an added partition from the catalog. Its rows stay.

        Raises:
            CatalogError: there is no such table or partition, or the connector finds it.
        """
        table = self._partitioned(table_path)
        if not self._is_there(table_path, table, partition_spec, ignore_if_not_exists):
            return
        name = partition_spec.path(table.partition_keys)
        left = tuple(
            (spec, partition)
            for spec, partition in table.partitions
            if spec.path(table.partition_keys) != name
        )
        if len(left) == len(table.partitions):
            raise CatalogError(
                f"partition {name} of {table_path} exists as long as it has rows: delete these rows"
            )
        self._alter_table(table_path, replace(table, partitions=left))

    # ----------------------------------------------------------------------------------

    def _partitioned(self, path: ObjectPath) -> CatalogTable:
        table = self.get_table(path)
        if not isinstance(table, CatalogTable) or not table.partition_keys:
            raise TableNotPartitionedError(f"table {path} is not partitioned")
        return table

    def _known(self, path: ObjectPath, table: CatalogTable) -> dict[str, CatalogPartition]:
        """The partitions by their names."""
        return {
            spec.path(table.partition_keys): partition
            for spec, partition in self._partitions(path, table)
        }

    def _is_there(
        self, path: ObjectPath, table: CatalogTable, spec: CatalogPartitionSpec, ignored: bool
    ) -> bool:
        """Whether a partition exists; without ``ignored`` a missing one is an error."""
        known, name = self._known(path, table), spec.path(table.partition_keys)
        if name not in known and not ignored:
            raise not_found("partition", name, sorted(known))
        return name in known

    def _put(
        self,
        path: ObjectPath,
        table: CatalogTable,
        spec: CatalogPartitionSpec,
        partition: CatalogPartition,
    ) -> None:
        name = spec.path(table.partition_keys)
        others = [pair for pair in table.partitions if pair[0].path(table.partition_keys) != name]
        self._alter_table(path, replace(table, partitions=(*others, (spec, partition))))

    def _partitions(
        self, path: ObjectPath, table: CatalogTable
    ) -> list[tuple[CatalogPartitionSpec, CatalogPartition]]:
        listed = [(spec, _FOUND) for spec in _found(path, table)]
        known = {
            spec.path(table.partition_keys): (spec, partition)
            for spec, partition in (*listed, *table.partitions)
        }
        return [known[name] for name in sorted(known)]


def _found(path: ObjectPath, table: CatalogTable) -> list[CatalogPartitionSpec]:
    """The partitions that the table's connector finds; empty if it cannot list them."""
    from millrace.table.connectors.registry import factory_of  # which knows all connectors

    asked = ResolvedTable(
        (path.database, path.name), (), partition_keys=table.partition_keys, options=table.options
    )
    if table.access is not None:
        return []
    try:
        factory = factory_of(table.options)
        values = factory.partitions(asked, factory.options_of(asked, table.options))
    except JobDefinitionError:
        return []
    return [
        CatalogPartitionSpec(dict(zip(table.partition_keys, partition_values, strict=True)))
        for partition_values in values
    ]
