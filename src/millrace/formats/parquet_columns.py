"""Conversion of a stream's columns to columns of a Parquet file."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["column_as", "file_schema"]


def file_schema(schema: pa.Schema) -> pa.Schema:
    """Schema of a file whose columns come from a stream."""
    return pa.schema([field.with_type(_stored(field.type)) for field in schema])


def _stored(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.string()
    return pa.binary() if pa.types.is_binary_view(kind) else kind


def column_as(column: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """The column cast to a wider, narrower or differently encoded type of the same sort. None for
    types of another sort, because each value must then be checked.

    Raises:
        pyarrow.ArrowException: a value is outside of the type.
    """
    if column.type == kind:
        return column
    return column.cast(kind) if _same_sort(column.type, kind) else None


def _same_sort(given: pa.DataType, wanted: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(given):
        given = given.value_type
    if types.is_null(given) or given == wanted:
        return True
    if types.is_integer(given):
        return bool(types.is_integer(wanted) or types.is_floating(wanted))
    if types.is_timestamp(given) and types.is_timestamp(wanted):
        return (given.tz is None) == (wanted.tz is None)
    return any(is_sort(given) and is_sort(wanted) for is_sort in _SORTS)


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_binary(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


_SORTS = (pa.types.is_floating, pa.types.is_decimal, pa.types.is_time, _is_text, _is_binary)
