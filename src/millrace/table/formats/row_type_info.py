"""`row_type_info`: the columns of a table as a type of message schemas."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import Types

__all__ = ["row_type_info"]

TEXTS = (logical.CharType, logical.VarCharType)
_TYPES: tuple[tuple[Any, TypeInformation[Any]], ...] = (
    (logical.BooleanType, Types.BOOLEAN()),
    (logical.TinyIntType, Types.BYTE()),
    (logical.SmallIntType, Types.SHORT()),
    (logical.IntType, Types.INT()),
    (logical.BigIntType, Types.LONG()),
    (logical.FloatType, Types.FLOAT()),
    (logical.DoubleType, Types.DOUBLE()),
    (logical.DecimalType, Types.BIG_DEC()),
    (TEXTS, Types.STRING()),
    ((logical.BinaryType, logical.VarBinaryType), Types.PRIMITIVE_ARRAY(Types.BYTE())),
    (logical.DateType, Types.SQL_DATE()),
    (logical.TimeType, Types.SQL_TIME()),
    ((logical.TimestampType, logical.LocalZonedTimestampType), Types.SQL_TIMESTAMP()),
)


def row_type_info(
    row_type: RowType,
    holder: str = "text of csv or json",
    nested: bool = False,
    rows: bool = False,
) -> RowTypeInfo:
    """The type of rows of the given columns.

    Args:
        holder: the place that stores the values, for errors.
        nested: whether rows and maps may be nested in each other.
        rows: whether rows of scalar types are allowed.

    Raises:
        JobDefinitionError: a column is of a type that it cannot hold.

    Example:
        >>> row_type_info(RowType.of(("n", logical.BigIntType()))).get_field_names()
        ['n']
    """
    types = [
        row_type_info(field.type, holder)
        if rows and isinstance(field.type, RowType) and _is_flat(field.type)
        else _type_information(field.type, field.name, holder, nested)
        for field in row_type.fields
    ]
    return Types.ROW_NAMED(list(row_type.names), types)


def _is_flat(kind: RowType) -> bool:
    return not any(field.type.children() for field in kind.fields)


def _type_information(
    kind: LogicalType, column: str, holder: str, nested: bool
) -> TypeInformation[Any]:
    if type(kind) is logical.ArrayType:
        return Types.LIST(_type_information(kind.element_type, column, holder, nested))
    if nested and isinstance(kind, RowType):
        fields = [_type_information(field.type, column, holder, nested) for field in kind.fields]
        return Types.ROW_NAMED(list(kind.names), fields)
    if nested and type(kind) is logical.MapType and isinstance(kind.key_type, TEXTS):
        value = _type_information(kind.value_type, column, holder, nested)
        return Types.MAP(Types.STRING(), value)
    for logical_type, information in _TYPES:
        if isinstance(kind, logical_type):
            return information
    raise JobDefinitionError(
        f"column {column} is of {kind}, which {holder} cannot hold; possible are scalar types and "
        + ("arrays, rows and maps with keys of text" if nested else "arrays of them")
    )
