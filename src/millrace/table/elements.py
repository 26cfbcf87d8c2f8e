"""Tables of Python objects of a program."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.types.batch import RowBatch
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowField, RowType
from millrace.common.types.row import Row
from millrace.table_runtime.columns import ColumnConversion

__all__ = ["ElementError", "elements_table", "verify_values"]

Declared = LogicalType | Sequence[str] | Sequence[LogicalType] | None


def elements_table(
    elements: list[Any], schema: Declared, verify: bool = True
) -> tuple[RowType, Any, Any]:
    """The row type, columns and row kinds of Python objects.

    Args:
        verify: whether values are refused that fit the columns but not their types
            (`verify_values`).

    Raises:
        JobDefinitionError: there are no elements to tell types of, or none is known of a value.
        ElementError: a value does not fit its column.
    """
    elements = [_plain(element) for element in elements]
    if isinstance(schema, RowType):
        row_type = schema
    elif isinstance(schema, LogicalType):
        row_type, elements = RowType.of(("f0", schema)), [(element,) for element in elements]
    else:
        row_type = _inferred(elements, schema)
    try:
        batch = ColumnConversion(row_type)(RowBatch(elements))
    except JobExecutionError as error:
        raise ElementError(str(error)) from error
    if verify:
        verify_values(row_type, elements, batch.data)
    return row_type, batch.data, batch.row_kinds


def _inferred(elements: list[Any], names: Any) -> RowType:
    if not elements:
        raise JobDefinitionError(
            "from_elements() cannot infer types without elements; give it a schema, a DataTypes.ROW"
        )
    first = elements[0]
    if isinstance(first, Mapping):
        column_names = list(names or first)
        columns = [[row.get(name) for row in elements] for name in column_names]
    elif isinstance(first, (Row, tuple, list)):
        fields = getattr(first, "_fields", None)
        column_names = list(names or fields or [f"_{i + 1}" for i in range(len(first))])
        _check_lengths(elements, len(first))
        columns = [[row[i] for row in elements] for i in range(len(first))]
    else:
        column_names, columns = list(names or ["_1"]), [elements]
    if len(column_names) != len(columns):
        raise JobDefinitionError(
            f"{len(column_names)} names were given for {len(columns)} columns: "
            f"{', '.join(column_names)}"
        )
    pairs = zip(column_names, columns, strict=True)
    return RowType(tuple(RowField(name, _type_of(name, column)) for name, column in pairs))


def _plain(element: Any) -> Any:
    """The dict of a data class's fields."""
    if is_dataclass(element) and not isinstance(element, type):
        return {field.name: getattr(element, field.name) for field in fields(element)}
    return element


def _check_lengths(elements: Sequence[Any], length: int) -> None:
    for number, row in enumerate(elements, start=1):
        if not isinstance(row, (Row, tuple, list)) or len(row) != length:
            raise JobDefinitionError(
                f"element {number} is {repr(row)[:_SHOWN]}, but the first element is a row "
                f"of {length} columns"
            )


_SHOWN = 200
_ITEMS_OF_ARRAYS: dict[str, LogicalType] = {
    "b": logical.TinyIntType(),
    "h": logical.SmallIntType(),
    "i": logical.IntType(),
    "l": logical.BigIntType(),
    "q": logical.BigIntType(),
    "B": logical.SmallIntType(),
    "H": logical.IntType(),
    "I": logical.BigIntType(),
    "f": logical.FloatType(),
    "d": logical.DoubleType(),
    "u": logical.CharType(1),
}
"""Types of the items of an `array.array`, by its type code: of unsigned ones the next larger."""
_TYPES: dict[type, LogicalType] = {
    bool: logical.BooleanType(),
    int: logical.BigIntType(),
    float: logical.DoubleType(),
    str: logical.VarCharType(),
    bytes: logical.VarBinaryType(),
    bytearray: logical.VarBinaryType(),
    Decimal: logical.DecimalType(38, 18),
    date: logical.DateType(),
    time: logical.TimeType(0),
    timedelta: logical.DayTimeIntervalType("DAY TO SECOND", 2, 3),
}


def _type_of(name: str, values: Sequence[Any]) -> LogicalType:
    """The type of a column, as PyFlink infers it from values."""
    known = [_item(value) for value in values if value is not None]
    if not known:
        return logical.NullType()
    first = known[0]
    if isinstance(first, datetime):
        zoned = first.tzinfo is not None
        return logical.LocalZonedTimestampType(6) if zoned else logical.TimestampType(6)
    if isinstance(first, array):
        return logical.ArrayType(_ITEMS_OF_ARRAYS[first.typecode].not_null())
    if isinstance(first, tuple):
        return _inferred(known, None)
    if isinstance(first, list):
        inner = [item for value in known for item in value]
        return logical.ArrayType(_type_of(name, inner))
    if isinstance(first, Row):
        return _inferred(known, None)
    if isinstance(first, Mapping):
        keys = [key for value in known for key in value]
        items = [item for value in known for item in value.values()]
        return logical.MapType(_type_of(name, keys).not_null(), _type_of(name, items))
    kinds = {*map(type, known)}
    if kinds <= {int, float} and float in kinds:
        return logical.DoubleType()
    kind = _TYPES.get(type(first))
    if kind is None:
        raise JobDefinitionError(
            f"column {name!r}: the type of {first!r} is unknown; give from_elements() a schema"
        )
    return kind


def _item(value: Any) -> Any:
    """The value, converted to a Python number if it is a NumPy number."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


_TEXTS = (logical.CharType, logical.VarCharType)
_BYTES = (logical.BinaryType, logical.VarBinaryType)
_TIMES = (
    logical.DateType,
    logical.TimeType,
    logical.TimestampType,
    logical.LocalZonedTimestampType,
    logical.DayTimeIntervalType,
)


class ElementError(JobExecutionError, TypeError, ValueError):
    """A value does not fit its column. PyFlink raises a TypeError or a ValueError for it."""


def verify_values(row_type: RowType, elements: Sequence[Any], data: Any) -> None:
    """Raise ElementError for values that Arrow accepts but the column's type forbids.

    Args:
        elements: the values, as Python objects of the program.
        data: the same values as a record batch.

    Raises:
        ElementError: a text or bytes are too long, None stands where NOT NULL is declared, at any
            depth, or a number where a time is.
    """
    of_fields = ColumnConversion(row_type).fields(elements)
    for field, values, column in zip(row_type, of_fields, data.columns, strict=True):
        if column.null_count and not field.type.is_nullable:
            number = 1 + column.is_null().index(True).as_py()
            raise ElementError(
                f"element {number} has None in the column {field.name!r}, which is of "
                f"type {field.type}; give a value, or make the type nullable()"
            )
        if isinstance(field.type, _TIMES):
            _verify_times(field.name, field.type, values)
        _verify(field.type, column.drop_null(), f"the column {field.name!r}")


def _verify_times(name: str, kind: LogicalType, values: Sequence[Any]) -> None:
    for number, value in enumerate(values, start=1):
        if isinstance(value, (int, float)):
            raise ElementError(
                f"element {number} has the number {value!r} in the column {name!r}, which "
                f"is of type {kind}; give a value of the module datetime"
            )


def _verify(kind: LogicalType, column: Any, where: str) -> None:
    """Check that the values of a column without NULL fit the column's type."""
    import pyarrow.compute as pc

    if isinstance(kind, (*_TEXTS, *_BYTES)):
        if kind.length < logical.MAX_LENGTH and len(column):
            is_text = isinstance(kind, _TEXTS)
            lengths = (pc.utf8_length if is_text else pc.binary_length)(column)
            longest = pc.max(lengths).as_py()
            if longest > kind.length:
                value = column[lengths.index(longest).as_py()].as_py()
                raise ElementError(f"{value!r} is too long for {where}, which is of type {kind}")
    elif isinstance(kind, logical.MapType):
        _verify_inner(kind.key_type, column.keys, f"a key of {where}")
        _verify_inner(kind.value_type, column.items, f"a value of {where}")
    elif isinstance(kind, logical.ArrayType) and not isinstance(kind, logical.MultisetType):
        _verify_inner(kind.element_type, column.flatten(), f"an item of {where}")
    elif isinstance(kind, RowType):
        for field, inner in zip(kind, column.flatten(), strict=True):
            _verify_inner(field.type, inner, f"the field {field.name!r} of {where}")


def _verify_inner(kind: LogicalType, column: Any, where: str) -> None:
    if column.null_count and not kind.is_nullable:
        raise ElementError(
            f"None is not allowed for {where}, which is of type {kind}; give a value, or make "
            "the type nullable()"
        )
    _verify(kind, column.drop_null(), where)
