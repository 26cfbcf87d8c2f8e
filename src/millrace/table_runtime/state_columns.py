"""State columns of operators, with the column names of the query."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowType
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.row_log import RowLog

__all__ = ["logged_rows", "values_by_key"]


def logged_rows(
    row_type: RowType,
    key: Sequence[int],
    values: Sequence[ValueColumn] = (),
    kept: Sequence[int] | None = None,
) -> ColumnsOf:
    """Columns of a `RowLog` of rows.

    Args:
        row_type: columns of the rows.
        key: positions of the key's columns.
        values: numbers per row.
        kept: positions of the columns that are stored. None for all.
    """
    fields = row_type.fields
    row = [fields[index] for index in (range(len(fields)) if kept is None else kept)]
    keys = [fields[index] for index in key]
    return RowLog.columns_of(
        [arrow_type(field.type) for field in keys],
        [arrow_type(field.type) for field in row],
        values,
        [field.name for field in keys],
        [field.name for field in row],
    )


def values_by_key(
    row_type: RowType,
    key: Sequence[int],
    values: Sequence[ValueColumn],
    inner: Sequence[pa.DataType] = (),
) -> ColumnsOf:
    """Columns of a `SlotTable` with values per key.

    Args:
        row_type: columns of the rows that have the key.
        key: positions of the key's columns.
        values: values stored per key.
        inner: types of the columns that distinguish several entries of a key.
    """
    keys = [row_type.fields[index] for index in key]
    return ColumnsOf(
        tuple(arrow_type(field.type) for field in keys),
        tuple(inner),
        (),
        tuple(values),
        tuple(field.name for field in keys),
    )
