"""`ColumnConversion`: converts batches of any form to columns with exactly the types of a table.

Sources return columns of types similar to the declared ones, or Python objects: rows, dicts,
tuples, or values of one column. SQL operators rely on the types that `arrow_type` returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import Batch, ColumnBatch
from millrace.common.types.columns import kinds_of
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import DecimalType, RowField, RowType
from millrace.common.types.logical.python_values import arrow_column
from millrace.common.types.row import Row

__all__ = ["ColumnConversion", "column_of", "same_rows", "schema_of"]


def schema_of(row_type: RowType) -> Any:
    """Arrow schema of rows between operators. All its columns are nullable: NOT NULL is checked by
    the planner."""
    import pyarrow as pa

    return pa.schema([pa.field(field.name, arrow_type(field.type)) for field in row_type.fields])


class ColumnConversion:
    """Converts batches to the columns of a row type: by name if the batch's columns have names,
    else by position.

    Args:
        row_type: the columns.
        table: names of all columns of the table, if ``row_type`` has only some of them. Records
            without names may have all columns.

    Example:
        >>> from millrace.common.types.batch import RowBatch
        >>> from millrace.common.types.logical.logical_type import BigIntType, VarCharType
        >>> convert = ColumnConversion(RowType.of(("id", BigIntType()), ("name", VarCharType())))
        >>> convert(RowBatch([{"name": "a", "id": 1}])).data.to_pylist()
        [{'id': 1, 'name': 'a'}]
    """

    def __init__(self, row_type: RowType, table: Sequence[str] = ()) -> None:
        self._row_type = row_type
        self._table = tuple(table)
        self._schema = schema_of(row_type)

    def __call__(self, batch: Batch) -> ColumnBatch:
        """The batch in form of columns.

        Raises:
            JobExecutionError: a column is missing, or a value is not of its column's type.
        """
        if isinstance(batch, ColumnBatch):
            return self._of_columns(batch)
        import pyarrow as pa

        values = batch.values
        columns = [
            column_of(of_field, field)
            for of_field, field in zip(self.fields(values), self._row_type.fields, strict=True)
        ]
        data = pa.RecordBatch.from_struct_array(
            pa.StructArray.from_arrays(columns, fields=list(self._schema))
            if columns
            else pa.array([{}] * len(values), pa.struct([]))
        )
        times = None if batch.timestamps is None else pa.array(batch.timestamps, pa.int64())
        return ColumnBatch(data, times, kinds_of(values), "row")

    def _of_columns(self, batch: ColumnBatch) -> ColumnBatch:
        import pyarrow as pa

        data = batch.data
        if not data.schema.equals(self._schema):
            by_name = set(self._schema.names) <= set(data.schema.names)
            if not by_name and data.num_columns != len(self._schema):
                missing = [name for name in self._schema.names if name not in data.schema.names]
                raise JobExecutionError(
                    f"the source gives the columns {', '.join(data.schema.names)}; the table "
                    f"declares {', '.join(missing)} beside them"
                )
            columns = [
                _cast(data.column(field.name if by_name else position), field)
                for position, field in enumerate(self._row_type.fields)
            ]
            data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return ColumnBatch(data, batch.timestamps, batch.row_kinds, "row")

    def fields(self, values: Sequence[Any]) -> list[list[Any]]:
        """The values of each column."""
        names, first = self._row_type.names, values[0] if values else None
        if isinstance(first, Mapping):
            return [[value.get(name) for value in values] for name in names]
        if (
            isinstance(first, Row)
            and first._fields is not None
            and set(names) <= set(first._fields)
        ):
            return [[value[name] for value in values] for name in names]
        if isinstance(first, (Row, tuple, list)):
            given = self._table if len(first) == len(self._table) else names
            for value in values:
                if len(value) != len(given):
                    expected = self._table or names
                    raise JobExecutionError(
                        f"the record {value!r} has {len(value)} fields, the table has "
                        f"{len(expected)} columns: {', '.join(expected)}"
                    )
            places = [given.index(name) for name in names]
            return [[value[place] for value in values] for place in places]
        if len(names) == 1 or not values:
            return [list(values)] if len(names) == 1 else [[] for _ in names]
        raise JobExecutionError(
            f"the record {first!r} has no fields, the table has the columns {', '.join(names)}"
        )


def column_of(values: Sequence[Any], field: Any) -> Any:
    """Python values as the column of a `RowField`.

    Raises:
        JobExecutionError: a value is not of its type; the message shows the first.
    """
    import pyarrow as pa

    try:
        return arrow_column(values, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
        for value in values:
            try:
                arrow_column([value], field.type)
            except (
                pa.ArrowException,
                TypeError,
                ValueError,
                OverflowError,
                AttributeError,
            ) as error:
                raise JobExecutionError(
                    f"{value!r} does not fit the column {field.name!r}, which is of type "
                    f"{field.type} ({error})"
                ) from error
        raise


def _cast(column: Any, field: RowField) -> Any:
    import pyarrow as pa

    kind = arrow_type(field.type)
    if column.type.equals(kind):
        return column
    try:
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(kind):
                return _floored(column, kind)
            if not (pa.types.is_decimal(column.type) and isinstance(field.type, DecimalType)):
                raise
            return arrow_column(column.to_pylist(), field.type)  # which rounds
    except (pa.ArrowException, ValueError) as error:
        raise JobExecutionError(
            f"the source gives the column {field.name!r} as {column.type}, which does not become "
            f"{kind} ({error}); declare it as what it is, and cast in the query"
        ) from error


def _floored(column: Any, kind: Any) -> Any:
    """Times with fewer digits of a second, without the others, as CAST does it."""
    import pyarrow.compute as pc

    return pc.floor_temporal(column, unit=_UNITS[kind.unit]).cast(kind)


_UNITS = {"s": "second", "ms": "millisecond", "us": "microsecond", "ns": "nanosecond"}


def same_rows(old: Sequence[Any], new: Sequence[Any], olds: Any, news: Any) -> Any:
    """Whether all values of two rows are equal. NULL equals NULL, and NaN equals NaN.

    Args:
        olds, news: positions in the old and in the new columns.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    are_same = np.ones(len(olds), np.bool_)
    for one, two in zip(old, new, strict=True):
        left, right = one.take(olds), two.take(news)
        if pa.types.is_nested(left.type):
            return np.zeros(len(olds), np.bool_)
        equal = pc.fill_null(pc.equal(left, right), False).to_numpy(zero_copy_only=False)
        if pa.types.is_floating(left.type):
            both_nan = pc.and_(pc.is_nan(left), pc.is_nan(right))
            equal |= pc.fill_null(both_nan, False).to_numpy(zero_copy_only=False)
        if left.null_count and right.null_count:
            equal |= pc.and_(pc.is_null(left), pc.is_null(right)).to_numpy(zero_copy_only=False)
        are_same &= equal
    return are_same
