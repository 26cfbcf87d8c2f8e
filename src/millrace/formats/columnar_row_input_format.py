"""`ColumnarRowInputFormat`: common base of the columnar file formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import Row
from millrace.formats.file_format import BulkFormat
from millrace.formats.records import require_record_type

__all__ = ["ColumnarRowInputFormat", "with_missing_columns"]


class ColumnarRowInputFormat(BulkFormat[Any]):
    """Reads each row of a file as a `Row` with names, or as a dict. Nested rows are the same, and
    maps are dicts.

    Args:
        row_type: the columns to read, by name (``Types.ROW_NAMED`` or ``DataTypes.ROW``); None for
            all. The values have the file's types; those of a column that a file does not have are
            None.
        batch_size: rows handed on at a time.
        record_type: ``Row`` or ``dict``.
        columnar: keep the rows in columns for `DataStream.map_batches`; functions of single rows
            get them as ``record_type``, with dicts for nested rows.

    Raises:
        JobDefinitionError: the record type is neither.
    """

    def __init__(
        self,
        row_type: RowTypeInfo | RowType | None = None,
        batch_size: int = 8192,
        record_type: type[Any] = Row,
        columnar: bool = False,
    ) -> None:
        self._columnar = columnar
        self._columns: tuple[str, ...] | None = None
        if row_type is not None:
            self._columns = _names_of(row_type)
        self._batch_size = batch_size
        self._record_type = require_record_type(record_type)

    def _names(self, available: Sequence[str]) -> tuple[str, ...]:
        """Columns to read, including columns that a file may not have."""
        return self._columns or tuple(available)


def _names_of(row_type: RowTypeInfo | RowType) -> tuple[str, ...]:
    if isinstance(row_type, RowType):
        return tuple(row_type.names)
    return tuple(row_type.get_field_names())


def with_missing_columns(batch: Any, names: Sequence[str]) -> Any:
    """A record batch with exactly the given columns. Columns that an older file lacks are NULL.
    Flink: ``ParquetVectorizedInputFormat``, ``OrcColumnarRowInputFormat``."""
    import pyarrow as pa

    known = batch.schema.names
    if list(known) == list(names):
        return batch
    fields = [
        batch.schema.field(name) if name in known else pa.field(name, pa.null()) for name in names
    ]
    columns = [batch.column(name) if name in known else pa.nulls(batch.num_rows) for name in names]
    # of a struct, for a batch of no columns has no number of rows
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_arrays(columns, fields=fields))
