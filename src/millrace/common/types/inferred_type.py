"""Infers the logical type of a table's column from Python values.

A DataFrame needs the type of a column before its first row, but state holds any Python value. A
column whose values have no logical type, or no common one, has the type `JSON`: its values are
stored as the text that `json_text` makes of them.
"""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from array import array
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.record_fields import named_fields

__all__ = [
    "JSON",
    "NULL",
    "WIDE_BIGINT",
    "common_type",
    "fits",
    "inferred_common_type",
    "inferred_type",
    "numpy_to_python",
]

NULL: LogicalType = logical.NullType()
JSON = logical.RawType("object", "json")
WIDE_BIGINT = logical.DecimalType(19, 0)
"""The type of a 64-bit integer that a double cannot hold exactly; it is stored as a BIGINT."""
_BIGINT, _DOUBLE, _DECIMAL = logical.BigIntType(), logical.DoubleType(), logical.DecimalType(38, 18)
_STRING, _BINARY = logical.VarCharType(), logical.VarBinaryType()
_TIMESTAMP, _INSTANT = logical.TimestampType(), logical.LocalZonedTimestampType()
_NUMBERS: tuple[LogicalType, ...] = (_BIGINT, WIDE_BIGINT, _DECIMAL, _DOUBLE)
"""From narrow to wide: values of each type can be converted to the types after it, except that a
WIDE_BIGINT cannot become a double."""
_TEXTS = (str, dt.time, uuid.UUID, Fraction, enum.Enum)
"""Classes without a logical type here, whose values can be told apart by their text."""
_TYPE_OF_CLASS: dict[type, LogicalType] = {  # of exactly this class, not of subclasses
    bool: logical.BooleanType(),
    float: _DOUBLE,
    str: _STRING,
    bytes: _BINARY,
    bytearray: _BINARY,
    dt.date: logical.DateType(),
    dt.timedelta: logical.DayTimeIntervalType(),
}


def inferred_type(value: Any) -> LogicalType:
    """The type of a column that holds this value.

    Example:
        >>> inferred_type({"a": [1, 2.5], "b": []})
        MAP<STRING, ARRAY<DOUBLE>>
    """
    if value is None:
        return NULL
    known = _TYPE_OF_CLASS.get(type(value))
    if known is not None:
        return known
    if isinstance(value, _TEXTS):
        return _STRING
    if isinstance(value, int):
        return _int_type(value)
    if isinstance(value, Decimal):
        return _DECIMAL if _fits_decimal(value) else JSON
    if isinstance(value, dt.datetime):
        return _TIMESTAMP if value.tzinfo is None else _INSTANT
    return _composite_type(value)


def _int_type(value: int) -> LogicalType:
    if -(2**53) <= value <= 2**53:
        return _BIGINT
    return WIDE_BIGINT if _BIGINT.holds(value) else JSON


def _fits_decimal(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -18 and value.adjusted() < 20


def _composite_type(value: Any) -> LogicalType:
    named = named_fields(value)
    if named is not None:
        names, values = named
        fields = zip(names, map(inferred_type, values), strict=True)
        return logical.RowType.of(*fields) if names else JSON
    if isinstance(value, (list, set, frozenset, array)):
        return logical.ArrayType(inferred_common_type(value))
    if isinstance(value, Mapping):
        return logical.MapType(inferred_common_type(value), inferred_common_type(value.values()))
    converted = numpy_to_python(value)
    return JSON if converted is None else inferred_type(converted)


def numpy_to_python(value: Any) -> Any:
    """Convert a NumPy scalar or array to a Python scalar or list; None for any other value."""
    if type(value).__module__ != "numpy":
        return None
    return value.tolist() if hasattr(value, "tolist") else None


def inferred_common_type(values: Iterable[Any]) -> LogicalType:
    """The type of a column that holds all the given values."""
    return reduce(common_type, map(inferred_type, values), NULL)


def common_type(one: LogicalType, other: LogicalType) -> LogicalType:
    """The narrowest type that holds the values of both types; `JSON` if there is none."""
    if other in (one, NULL):
        return one
    if one == NULL:
        return other
    if one in _NUMBERS and other in _NUMBERS:
        wider = max(one, other, key=_NUMBERS.index)
        return JSON if wider == _DOUBLE and WIDE_BIGINT in (one, other) else wider
    if isinstance(one, logical.ArrayType) and isinstance(other, logical.ArrayType):
        return logical.ArrayType(common_type(one.element_type, other.element_type))
    if isinstance(one, logical.MapType) and isinstance(other, logical.MapType):
        key = common_type(one.key_type, other.key_type)
        return logical.MapType(key, common_type(one.value_type, other.value_type))
    if isinstance(one, logical.RowType) and isinstance(other, logical.RowType):
        return _common_row_type(one, other)
    return JSON


def _common_row_type(one: logical.RowType, other: logical.RowType) -> LogicalType:
    """Row type with the fields of both; a field that only one type has is null in rows of the
    other."""
    fields = dict(zip(one.names, one.children(), strict=True))
    for field in other:
        fields[field.name] = common_type(fields.get(field.name, NULL), field.type)
    return logical.RowType.of(*fields.items())


def fits(value: Any, column: LogicalType) -> bool:
    """Whether a column of this type can hold the value."""
    inferred = inferred_type(value)
    if column == _BIGINT and inferred == WIDE_BIGINT:
        return True
    return common_type(inferred, column) == column
