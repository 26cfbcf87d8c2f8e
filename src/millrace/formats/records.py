"""Records with named fields: `Row` or dict when read; also tuples and objects when written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.record_fields import declared_names
from millrace.common.types.row import Row, named_row

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "field_columns",
    "field_names",
    "field_values",
    "records_from_columns",
    "require_record_type",
]


def require_record_type(record_type: type[Any]) -> type[Any]:
    """The record type, which must be ``Row`` or ``dict``.

    Raises:
        JobDefinitionError: the record type is neither ``Row`` nor ``dict``.
    """
    if record_type not in (Row, dict):
        raise JobDefinitionError(f"record_type must be Row or dict, not {record_type!r}")
    return record_type


def records_from_columns(
    record_type: type[Any], names: tuple[str, ...], columns: Sequence[Sequence[Any]]
) -> list[Any]:
    """Records of the columns, one for each position.

    >>> records_from_columns(dict, ("a", "b"), [[1, 2], ["x", "y"]])
    [{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y'}]
    """
    rows = zip(*columns, strict=True)
    if record_type is dict:
        return [dict(zip(names, row, strict=True)) for row in rows]
    return [named_row(names, row) for row in rows]


def field_names(value: Any) -> tuple[str, ...]:
    """Names of a record's fields, in order.

    Raises:
        SerializationError: the record has no field names.
    """
    names = tuple(value) if isinstance(value, Mapping) else declared_names(value)
    if names is not None:
        return names
    raise SerializationError(
        f"a record has no field names: {value!r}. Emit dicts or Rows with names, or declare the "
        "fields where the sink is built"
    )


def field_values(names: tuple[str, ...], value: Any) -> Sequence[Any]:
    """Values of a record's fields, in the order of ``names``; a missing key of a dict is None.

    Raises:
        SerializationError: the record has other fields, or is no record.
    """
    if isinstance(value, Mapping):
        return _mapping_values(names, value)
    if isinstance(value, Row) and value._fields is not None:
        return _mapping_values(names, value.as_dict())
    if isinstance(value, (tuple, list, Row)):
        if len(value) != len(names):
            raise SerializationError(f"{value!r} does not have the fields {', '.join(names)}")
        return list(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _mapping_values(names, {name: getattr(value, name) for name in field_names(value)})
    raise SerializationError(
        f"a value of type {type(value).__name__} has no fields {', '.join(names)}: {value!r}. "
        "Map it to a dict, Row or tuple first"
    )


def field_columns(names: tuple[str, ...], batch: ColumnBatch) -> list[pyarrow.Array] | None:
    """Columns of a batch, in the order of ``names``; a missing one is all null.

    None if only the Python form of the records tells their fields: use `field_values` for these.

    Raises:
        SerializationError: the batch has other columns.
    """
    import pyarrow as pa

    data, columns = batch.data, batch.data.schema.names
    if batch.form == "tuple":
        if len(columns) != len(names):
            raise SerializationError(f"columns {columns} are not the fields {', '.join(names)}")
        return list(data.columns)
    if batch.form == "value" or len(set(columns)) < len(columns):
        return None
    unknown = [name for name in columns if name not in names]
    if unknown:
        raise SerializationError(f"unknown column {unknown[0]!r}; known are {', '.join(names)}")
    return [data.column(name) if name in columns else pa.nulls(len(batch)) for name in names]


def _mapping_values(names: tuple[str, ...], value: Mapping[str, Any]) -> list[Any]:
    values = [value.get(name) for name in names]
    # Most records have exactly the fields that are asked for: then counting them is enough.
    if len(value) != len(names) or not all(map(value.__contains__, names)):
        unknown = [name for name in value if name not in names]
        if unknown:
            raise SerializationError(
                f"{value!r} has the unknown field {unknown[0]!r}; known are {', '.join(names)}"
            )
    return values
