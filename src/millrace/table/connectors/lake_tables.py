"""Shared parts of tables of Delta Lake, Iceberg and Spark."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from millrace.common.errors import JobDefinitionError
from millrace.common.types.batch import RowBatch
from millrace.common.types.logical.logical_type import (
    LocalZonedTimestampType,
    LogicalType,
    RowType,
    TimestampType,
    rewritten,
)
from millrace.common.types.row import INSERT_ONLY, UPSERTS, RowKind
from millrace.planner.catalog_reader import ColumnKind, ResolvedTable
from millrace.planner.execution.table_factory import OptionValues, Rows, TableFactory
from millrace.table_runtime.columns import ColumnConversion

if TYPE_CHECKING:
    import pyarrow

__all__ = ["LakeTableFactory", "require_physical", "stored_columns", "stored_keys", "stored_type"]

_MICROSECONDS = 6


class LakeTableFactory(TableFactory):
    """Base of the factories of Delta Lake and Iceberg: rows are changed in versions of the table,
    by primary key."""

    def accepts(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        return UPSERTS if table.primary_key else INSERT_ONLY

    def truncate(self, table: ResolvedTable, options: OptionValues) -> None:
        self.delete_rows(table, options, None)

    def delete_rows(
        self,
        table: ResolvedTable,
        options: OptionValues,
        keys: Rows | None,
        read: int | None = None,
    ) -> None:
        self._change(table, options, stored_keys(table, keys), True, read)

    def update_rows(
        self, table: ResolvedTable, options: OptionValues, rows: Rows, read: int | None = None
    ) -> None:
        self._change(table, options, stored_columns(table.sink_type, rows), False, read)

    change_rows: ClassVar[Callable[..., None]]
    """The connector's function that changes the rows of a table by key."""

    @abstractmethod
    def lake_options(self, table: ResolvedTable, options: OptionValues) -> Any:
        """Options of a table in the form of the connector's own modules."""

    def _change(
        self,
        table: ResolvedTable,
        options: OptionValues,
        rows: pyarrow.RecordBatch | None,
        deletes: bool,
        read: int | None,
    ) -> None:
        """Delete the rows with these keys, or replace the rows that have their keys.

        Args:
            rows: keys, or whole rows; None for all rows of the table.
            deletes: whether the rows are deleted.
            read: version in which the rows were found, or one before it.
        """
        lake = self.lake_options(table, options)
        type(self).change_rows(lake, table.primary_key, rows, deletes=deletes, read=read)


def require_physical(table: ResolvedTable, identifier: str) -> None:
    """Refuse metadata columns.

    Raises:
        JobDefinitionError: there is one.
    """
    for column in table.columns:
        if column.kind is ColumnKind.METADATA:
            raise JobDefinitionError(
                f"table {'.'.join(table.path)}: 'connector' = '{identifier}' has no "
                f"metadata, but the column {column.name} requests metadata"
            )


def stored_type(columns: RowType) -> RowType:
    """Row type of the columns as they are stored: times are in microseconds.

    >>> str(stored_type(RowType.of(("t", TimestampType(3)))))
    'ROW<`t` TIMESTAMP(6)>'
    """

    def stored(kind: LogicalType) -> LogicalType:
        if isinstance(kind, (TimestampType, LocalZonedTimestampType)):
            return type(kind)(_MICROSECONDS, nullable=kind.is_nullable)
        return kind

    row_type = rewritten(columns, stored)
    assert isinstance(row_type, RowType)
    return row_type


def stored_columns(row_type: RowType, rows: Sequence[tuple[Any, ...]]) -> pyarrow.RecordBatch:
    """Rows in the stored Arrow types."""
    data: pyarrow.RecordBatch = ColumnConversion(stored_type(row_type))(RowBatch(list(rows))).data
    return data


def stored_keys(
    table: ResolvedTable, keys: Sequence[tuple[Any, ...]] | None
) -> pyarrow.RecordBatch | None:
    """Values of the primary key in the stored types; None stays None."""
    by_name = {field.name: field for field in table.sink_type.fields}
    columns = RowType(tuple(by_name[name] for name in table.primary_key))
    return None if keys is None else stored_columns(columns, keys)
