"""SHOW PARTITIONS: what partitions a table has now, as its connector finds them."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import RowType, VarCharType
from millrace.planner.execution.table_access import TableAccess
from millrace.sql.statements import Show
from millrace.table.catalog.catalog_objects import CatalogTable
from millrace.table.catalog.errors import not_found
from millrace.table.inserts import literal_text, written_table
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["show_partitions"]


def show_partitions(session: TableSession, statement: Show) -> TableResult:
    """A row per partition, such as ``year=2026/month=2``.

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
    access: TableAccess = table.source
    declared = session.catalogs.table(session.catalogs.qualified(statement.path or ()))
    added = declared.partitions if isinstance(declared, CatalogTable) else ()
    known = {tuple(spec.partition_spec[key] for key in keys) for spec, _ in added}
    names = []
    for values in sorted(known.union(access.partitions(table))):
        found = dict(zip(keys, values, strict=True))
        if wanted.items() <= found.items():
            names.append("/".join(f"{key}={value}" for key, value in found.items()))
    row_type = RowType.of(("partition name", VarCharType()))
    return TableResult.of_rows(row_type, [(name,) for name in names])
