"""SHOW PARTITIONS, and ADD and DROP PARTITION of ALTER TABLE."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import RowType, VarCharType
from millrace.planner.execution.table_factory import table_factory
from millrace.sql.statements import AddPartitions, DropPartitions, Show
from millrace.sql.statements.modify import PartitionSpec
from millrace.table.catalog.catalog_objects import (
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTable,
)
from millrace.table.catalog.errors import CatalogError, not_found
from millrace.table.catalog.object_path import ObjectIdentifier
from millrace.table.inserts import literal_text, written_table
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["change_partitions", "show_partitions"]


def show_partitions(session: TableSession, statement: Show) -> TableResult:
    """The result of SHOW PARTITIONS, with one row per partition, such as ``year=2026/month=2``.

    Raises:
        JobDefinitionError: the table has no PARTITIONED BY, or its connector knows of none.
    """
    table = written_table(session, statement.path or ())
    keys = table.partition_keys
    if not keys:
        raise JobDefinitionError(f"table {'.'.join(table.path)} is not partitioned")
    for name in statement.partition:
        if name not in keys:
            raise not_found("partition column", name, keys)
    wanted = {name: literal_text(value) for name, value in statement.partition.items() if value}
    factory = table_factory(table, table.options)
    declared = session.catalogs.table(session.catalogs.qualified(statement.path or ()))
    added = declared.partitions if isinstance(declared, CatalogTable) else ()
    known = {tuple(spec.partition_spec[key] for key in keys) for spec, _ in added}
    names = []
    for values in sorted(
        known.union(factory.partitions(table, factory.options_of(table, table.options)))
    ):
        partition = dict(zip(keys, values, strict=True))
        if wanted.items() <= partition.items():
            names.append("/".join(f"{key}={value}" for key, value in partition.items()))
    row_type = RowType.of(("partition name", VarCharType()))
    return TableResult.of_rows(row_type, [(name,) for name in names])


def change_partitions(
    session: TableSession, name: ObjectIdentifier, action: AddPartitions | DropPartitions
) -> TableResult:
    """Add partitions to a table in the catalog, or remove them.

    Raises:
        CatalogError: the table is temporary or not partitioned, a partition is there already, or
            there is none.
    """
    if session.catalogs.is_temporary(name):
        raise CatalogError(
            f"{name} is temporary, but only tables of catalogs have stored partitions", name.name
        )
    catalog = session.catalogs.catalog(name.catalog)
    if isinstance(action, DropPartitions):
        for spec in action.partitions:
            catalog.drop_partition(name.path, _spec(spec), action.if_exists)
        return TableResult.ok()
    for spec, properties in action.partitions:
        partition = CatalogPartition(dict(properties))
        catalog.create_partition(name.path, _spec(spec), partition, action.if_not_exists)
    return TableResult.ok()


def _spec(spec: PartitionSpec) -> CatalogPartitionSpec:
    for key, value in spec.items():
        if value is None:
            raise CatalogError(f"PARTITION ({key}) needs a value: {key} = '...'", key)
    return CatalogPartitionSpec({key: literal_text(value) for key, value in spec.items() if value})
