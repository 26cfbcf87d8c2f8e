"""Entries of columnar state as the columns of a canonical savepoint.

The columns equal the result of `table_rows.rows_of` with the types inferred from values, but need
no Python object per value for Arrow's own types: whole numbers, floats, booleans, texts and bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.bridged import bridged
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.record_fields import positions
from millrace.state.canonical.columns import UNTYPED, column_of, common_type
from millrace.state.column_key_groups import key_groups_of_sql_keys
from millrace.state.columns.column_entries import ColumnEntries
from millrace.state.kinds.table_kind import TableKind
from millrace.state.serialization.schema import Schema

__all__ = ["ArrowRows", "arrow_rows", "groups_of_entries"]


class ArrowRows(NamedTuple):
    """Columns and their schemas, by name. Each column has the Arrow type of its schema."""

    columns: dict[str, Any]
    schemas: dict[str, Schema]


def arrow_rows(kind: TableKind, entries: ColumnEntries) -> ArrowRows:
    """Arrow columns with some entries of a table."""
    (key, *inner), (value,) = kind.columns.outer, kind.columns.value
    end = entries.key + entries.inner
    parts = {key: _part(entries, range(entries.key), entries.key != 1)}
    if inner:
        parts[inner[0]] = _part(entries, range(entries.key, end), entries.inner != 1)
    parts[value] = _part(entries, range(end, entries.batch.num_columns), True)
    return ArrowRows(
        {name: array for name, (_, array) in parts.items()},
        {name: str(of_part) for name, (of_part, _) in parts.items()},
    )


def groups_of_entries(entries: ColumnEntries, max_parallelism: int) -> npt.NDArray[np.int32]:
    """Key group of each entry."""
    keys = entries.key_columns()[: entries.key]
    return key_groups_of_sql_keys(keys, len(entries), max_parallelism).astype(np.int32)


def _part(entries: ColumnEntries, columns: range, is_tuple: bool) -> tuple[LogicalType, pa.Array]:
    """Type and column of one part of the entries: single values, or tuples."""
    typed_arrays = [_column(entries, index) for index in columns]
    if not is_tuple:
        return typed_arrays[0]
    if not typed_arrays:
        return UNTYPED, column_of(str(UNTYPED)).write([()] * len(entries))
    kinds, arrays = zip(*typed_arrays, strict=True)
    kind = bridged(logical.RowType.of(*zip(positions(len(kinds)), kinds, strict=True)), "tuple")
    fields = list(column_of(str(kind)).arrow)
    return kind, pa.StructArray.from_arrays(arrays, fields=fields)


def _column(entries: ColumnEntries, index: int) -> tuple[LogicalType, pa.Array]:
    array = entries.batch.column(index)
    kind = None if entries.holds_objects(index) else _logical(array.type)
    if kind is not None:
        return kind, array.cast(column_of(str(kind)).arrow)
    values = entries.python_values(index)
    kind = common_type(values, 1)
    return kind, column_of(str(kind)).write(values)


def _logical(kind: pa.DataType) -> LogicalType | None:
    """Type of plain data that holds all values of an Arrow type; None if it depends on the
    values."""
    types = pa.types
    if types.is_integer(kind) and not types.is_uint64(kind):
        return logical.BigIntType()
    if types.is_floating(kind):
        return logical.DoubleType()
    if types.is_boolean(kind):
        return logical.BooleanType()
    if types.is_string(kind) or types.is_large_string(kind):
        return logical.VarCharType()
    if types.is_binary(kind) or types.is_large_binary(kind):
        return logical.VarBinaryType()
    return None
