"""Conversion of records to the columns of a table's row type (``DataTypes.ROW``), for written
files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.errors import JobExecutionError, SerializationError
from millrace.common.serialization import BulkWriter
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.common.types.logical.logical_type import (
    BinaryType,
    LogicalType,
    RowType,
    VarBinaryType,
    rewritten,
)
from millrace.formats.records import field_values
from millrace.table_runtime.columns import ColumnConversion

__all__ = ["RowTypeBulkWriter", "type_in_files"]


def type_in_files(row_type: RowType) -> RowType:
    """The row type that is stored in files: a BINARY becomes a VARBINARY, whose bytes are not
    padded.
    """

    def stored(kind: LogicalType) -> LogicalType:
        if isinstance(kind, BinaryType):
            return VarBinaryType(kind.length, nullable=kind.is_nullable)
        return kind

    kind = rewritten(row_type, stored)
    assert isinstance(kind, RowType)
    return kind


class RowTypeBulkWriter(BulkWriter[Any]):
    """Converts columns to exactly the types of a table, and passes them to another writer. Decimals
    are rounded to the scale of their column, and points in time stay points in time.

    Args:
        writer: writer that takes the columns.
        maker: name of the class that declares the columns, for error messages.
    """

    def __init__(self, row_type: RowType, writer: BulkWriter[Any], maker: str) -> None:
        self._names = tuple(row_type.names)
        self._convert = ColumnConversion(type_in_files(row_type))
        self._writer = writer
        self._maker = maker

    def add_elements(self, elements: Sequence[Any]) -> None:
        if elements:
            self._add(RowBatch([tuple(field_values(self._names, element)) for element in elements]))

    def add_columns(self, batch: ColumnBatch) -> None:
        self._add(batch)

    def flush(self) -> None:
        self._writer.flush()

    def finish(self) -> None:
        self._writer.finish()

    def _add(self, batch: Batch) -> None:
        try:
            columns = self._convert(batch)
        except JobExecutionError as error:
            kind = self._maker.removesuffix("BulkWriters")
            raise SerializationError(f"records do not fit the {kind} columns: {error}") from None
        self._writer.add_columns(columns)
