"""Conversion of records to the columns of a table, with errors that name the column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.common.errors import SerializationError
from millrace.common.types.batch import Batch

if TYPE_CHECKING:
    import pyarrow

__all__ = ["table_columns"]


def table_columns(batch: Batch, schema: pyarrow.Schema, table: str) -> pyarrow.RecordBatch:
    """Fields of records as the columns of a table.

    Fields are found by name, those of tuples by position.

    Raises:
        SerializationError: the table has no such column, needs one that the records do not have,
            or a value is not of its column's type.
    """
    import pyarrow as pa

    data = batch.to_columns().data
    names = data.schema.names
    if names == [f"f{place}" for place in range(len(names))] and len(names) == len(schema):
        data, names = data.rename_columns(schema.names), schema.names
    unknown = [name for name in names if name not in schema.names]
    if unknown:
        raise SerializationError(
            f"table {table} has no column {unknown[0]!r}; it has {', '.join(schema.names)}"
        )
    arrays = [_column(data, field, table) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(data: pyarrow.RecordBatch, field: Any, table: str) -> Any:
    import pyarrow as pa

    if field.name not in data.schema.names:
        if field.nullable:
            return pa.nulls(data.num_rows, field.type)
        raise SerializationError(
            f"column {field.name!r} of table {table} must have a value, and the records have no "
            "such field"
        )
    column = data.column(field.name)
    if column.null_count and not field.nullable:
        raise SerializationError(f"column {field.name!r} of table {table} must not be null")
    try:
        return column if column.type == field.type else column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SerializationError(
            f"column {field.name!r} of table {table} is {field.type}; the records have "
            f"{column.type}: {error}"
        ) from None
