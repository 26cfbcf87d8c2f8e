"""Logical types that are found from values, and merged over many of them.

A table needs one type for a column before it has seen a row, but state holds any Python value. What
has no logical type, or several that do not go together, is `JSON`: the text of `json_text`.
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
    "WIDE",
    "common_type",
    "fits",
    "inferred_type",
    "merged",
    "plain_scalar",
]

NULL: LogicalType = logical.NullType()
JSON = logical.RawType("object", "json")
WIDE = logical.DecimalType(19, 0)
"""Whole numbers of 64 bits that a double would round."""
_BIGINT, _DOUBLE, _DECIMAL = logical.BigIntType(), logical.DoubleType(), logical.DecimalType(38, 18)
_STRING, _BINARY = logical.VarCharType(), logical.VarBinaryType()
_TIMESTAMP, _INSTANT = logical.TimestampType(), logical.LocalZonedTimestampType()
_NUMBERS: tuple[LogicalType, ...] = (_BIGINT, WIDE, _DECIMAL, _DOUBLE)
"""Each can be any later one, but WIDE no double."""
_TEXTS = (str, dt.time, uuid.UUID, Fraction, enum.Enum)
"""What prints unmistakably."""
_EXACT: dict[type, LogicalType] = {
    bool: logical.BooleanType(),
    float: _DOUBLE,
    str: _STRING,
    bytes: _BINARY,
    bytearray: _BINARY,
    dt.date: logical.DateType(),
    dt.timedelta: logical.DayTimeIntervalType(),
}


def inferred_type(value: Any) -> LogicalType:
    """The type of a column with that value in it.

    Example:
        >>> inferred_type({"a": [1, 2.5], "b": []})
        MAP<STRING, ARRAY<DOUBLE>>
    """
    if value is None:
        return NULL
    exact = _EXACT.get(type(value))
    if exact is not None:
        return exact
    if isinstance(value, _TEXTS):
        return _STRING
    if isinstance(value, int):
        return _of_int(value)
    if isinstance(value, Decimal):
        return _DECIMAL if _fits_decimal(value) else JSON
    if isinstance(value, dt.datetime):
        return _TIMESTAMP if value.tzinfo is None else _INSTANT
    return _composite(value)


def _of_int(value: int) -> LogicalType:
    if -(2**53) <= value <= 2**53:
        return _BIGINT
    return WIDE if _BIGINT.holds(value) else JSON


def _fits_decimal(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -18 and value.adjusted() < 20


def _composite(value: Any) -> LogicalType:
    named = named_fields(value)
    if named is not None:
        names, values = named
        fields = zip(names, map(inferred_type, values), strict=True)
        return logical.RowType.of(*fields) if names else JSON
    if isinstance(value, (list, set, frozenset, array)):
        return logical.ArrayType(common_type(value))
    if isinstance(value, Mapping):
        return logical.MapType(common_type(value), common_type(value.values()))
    plain = plain_scalar(value)
    return JSON if plain is None else inferred_type(plain)


def plain_scalar(value: Any) -> Any:
    """What a scalar or array of numpy is in plain Python; None for anything else."""
    if type(value).__module__ != "numpy":
        return None
    return value.tolist() if hasattr(value, "tolist") else None


def common_type(values: Iterable[Any]) -> LogicalType:
    """The type of a column with all these values in it."""
    return reduce(merged, map(inferred_type, values), NULL)


def merged(one: LogicalType, other: LogicalType) -> LogicalType:
    """The type of a column with values of both types."""
    if other in (one, NULL):
        return one
    if one == NULL:
        return other
    if one in _NUMBERS and other in _NUMBERS:
        wider = max(one, other, key=_NUMBERS.index)
        return JSON if wider == _DOUBLE and WIDE in (one, other) else wider
    if isinstance(one, logical.ArrayType) and isinstance(other, logical.ArrayType):
        return logical.ArrayType(merged(one.element_type, other.element_type))
    if isinstance(one, logical.MapType) and isinstance(other, logical.MapType):
        key = merged(one.key_type, other.key_type)
        return logical.MapType(key, merged(one.value_type, other.value_type))
    if isinstance(one, logical.RowType) and isinstance(other, logical.RowType):
        return _merged_rows(one, other)
    return JSON


def _merged_rows(one: logical.RowType, other: logical.RowType) -> LogicalType:
    """Fields by name: a field that only one has is null in the other."""
    fields = dict(zip(one.names, one.children(), strict=True))
    for field in other:
        fields[field.name] = merged(fields.get(field.name, NULL), field.type)
    return logical.RowType.of(*fields.items())


def fits(value: Any, column: LogicalType) -> bool:
    """Whether a value can be in a column of a type as it is."""
    found = inferred_type(value)
    if column == _BIGINT and found == WIDE:
        return True
    return merged(found, column) == column
