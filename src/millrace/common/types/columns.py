"""Conversion of Python records to an Arrow record batch and back.

What a record of a columnar batch is as a Python object is its *form*: a dict or `Row` of its fields
by name, a tuple, or the value of its only column.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobExecutionError
from millrace.common.types.column_values import column_values
from millrace.common.types.record_fields import declared_names, positions
from millrace.common.types.row import Row, RowKind, named_row

if TYPE_CHECKING:
    import pyarrow

__all__ = ["FORMS", "VALUE", "from_records", "kinds_of", "to_records"]

FORMS = ("dict", "row", "tuple", "value")
"""Forms that the records of a columnar batch can have as Python objects."""
VALUE = "value"
"""The one column of records that have no fields."""


def to_records(
    data: pyarrow.RecordBatch, form: str, row_kinds: pyarrow.Int8Array | None = None
) -> list[Any]:
    """The records of a record batch as Python objects.

    Args:
        data: the columns.
        form: one of `FORMS`.
        row_kinds: the numbers of the records' `RowKind`; None if all are inserts.

    Raises:
        JobExecutionError: ``form`` is "value" and there are several columns, "dict" and two columns
            have one name, or it is not "row" and some records are no inserts.
    """
    kinds = None if row_kinds is None else row_kinds.to_pylist()
    if kinds is not None and form != "row" and any(kinds):
        raise JobExecutionError(
            f"records of the form {form!r} cannot say that they update or delete others; ask for "
            'rows (records="row")'
        )
    columns = [column_values(column) for column in data.columns]
    if form == "value":
        if len(columns) != 1:
            raise JobExecutionError(
                f'records="value" needs batches with one column, got {data.schema.names}'
            )
        return list(columns[0])
    tuples = list(zip(*columns, strict=True)) if columns else [()] * data.num_rows
    if form == "tuple":
        return tuples
    names = tuple(data.schema.names)
    if form == "dict":
        if len(set(names)) < len(names):
            raise JobExecutionError(f"two columns of a dict have one name: {', '.join(names)}")
        return [dict(zip(names, values, strict=True)) for values in tuples]
    if kinds is None:
        return [named_row(names, values) for values in tuples]
    return [named_row(names, values, kind) for values, kind in zip(tuples, kinds, strict=True)]


def from_records(values: Sequence[Any]) -> pyarrow.RecordBatch:
    """The records as a record batch. Fields of dicts, rows, named tuples and data classes become
    columns by name; fields of tuples become f0, f1, ...; a plain value becomes the column
    ``value``.

    Raises:
        JobExecutionError: they do not all have the same fields, or Arrow has no type for one.

    Example:
        >>> from_records([(1, "a"), (2, "b")]).schema.names
        ['f0', 'f1']
    """
    import pyarrow as pa

    first = values[0]
    try:
        if isinstance(first, dict):
            return _of_dicts(values, first)
        names = _names(first)
        if names is None:
            return pa.RecordBatch.from_arrays([pa.array(values)], [VALUE])
        columns = _columns(values, first, names)
        return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names)
    except (pa.ArrowException, AttributeError, OverflowError, TypeError, ValueError) as error:
        raise JobExecutionError(
            f"records like {first!r} cannot be made into columns ({error}); all records of "
            "a batch must have the same fields, of types that Arrow knows"
        ) from error


def kinds_of(values: Sequence[Any]) -> pyarrow.Int8Array | None:
    """The numbers of the `RowKind` of each row; None if all are inserts, or if no record is a
    row."""
    if not values or type(values[0]) is not Row:
        return None
    kinds = [value.get_row_kind() for value in values]
    if kinds.count(RowKind.INSERT) == len(kinds):
        return None
    import pyarrow as pa

    return pa.array([kind.value for kind in kinds], pa.int8())


def _of_dicts(values: Sequence[Any], first: dict[str, Any]) -> pyarrow.RecordBatch:
    import pyarrow as pa

    # Arrow would take the fields of the first one, and leave out what others have more
    if any(value.keys() != first.keys() for value in values):
        raise ValueError("the values do not all have its fields")
    return pa.RecordBatch.from_pylist(list(values))


def _names(first: Any) -> list[str] | None:
    """Column names for a record's fields; None for a plain value."""
    names = declared_names(first)
    if names is None and isinstance(first, (Row, tuple)):
        names = positions(len(first))
    return None if names is None else list(names)


def _columns(values: Sequence[Any], first: Any, names: list[str]) -> list[Any]:
    if any(type(value) is not type(first) or _names(value) != names for value in values):
        raise ValueError("the values are not all of its type, with its fields in its order")
    if dataclasses.is_dataclass(first):
        return [[getattr(value, name) for value in values] for name in names]
    return [list(column) for column in zip(*values, strict=True)]
