"""What tables of Delta Lake, Iceberg and Spark have in common."""

from __future__ import annotations

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import (
    LocalZonedTimestampType,
    LogicalType,
    RowType,
    TimestampType,
    rewritten,
)
from millrace.planner.catalog_reader import ColumnKind, ResolvedTable

__all__ = ["require_physical", "stored_type"]

_MICROSECONDS = 6


def require_physical(table: ResolvedTable, identifier: str) -> None:
    """Refuse metadata columns.

    Raises:
        JobDefinitionError: there is one.
    """
    for column in table.columns:
        if column.kind is ColumnKind.METADATA:
            raise JobDefinitionError(
                f"table {'.'.join(table.path)}: 'connector' = '{identifier}' has no metadata, as "
                f"wanted by the column {column.name}"
            )


def stored_type(columns: RowType) -> RowType:
    """The columns as such tables have them: their times are in microseconds.

    >>> str(stored_type(RowType.of(("t", TimestampType(3)))))
    'ROW<`t` TIMESTAMP(6)>'
    """

    def stored(kind: LogicalType) -> LogicalType:
        if isinstance(kind, (TimestampType, LocalZonedTimestampType)):
            return type(kind)(_MICROSECONDS, nullable=kind.nullable)
        return kind

    found = rewritten(columns, stored)
    assert isinstance(found, RowType)
    return found
