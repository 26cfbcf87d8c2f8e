"""Entries of SQL operators as rows, with the names and types of the query's columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.types.inferred_type import JSON
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import (
    ArrayType,
    LogicalType,
    MapType,
    RowType,
    rewritten,
)
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.row import named_row
from millrace.state.kinds.state_shape import Entry, StateShape
from millrace.state.snapshot_reader import StateInfo
from millrace.state_processor.arrow_columns import has_json

__all__ = ["columnar_row_maker", "columnar_types"]

Named = Callable[[Any], Any]


def columnar_types(info: StateInfo) -> dict[str, LogicalType]:
    """The types of the columns ``key`` and ``value``, as far as they are known."""
    found = {"key": _key_type(info), "value": _value_type(info)}
    shown = {name: rewritten(kind, _shown) for name, kind in found.items()}
    return {name: kind for name, kind in shown.items() if not has_json(kind)}


def columnar_row_maker(info: StateInfo) -> Callable[[Entry], tuple[Any, ...]]:
    """Converter from entries to rows."""
    key, value = _named(_key_type(info)), _named(_value_type(info))
    # a key of no columns, as of GROUP BY (), is no value
    return lambda entry: (None if entry.key == () else key(entry.key), value(entry.value))


def _key_type(info: StateInfo) -> LogicalType:
    return parse_type(info.schema[1]) if isinstance(info.schema, tuple) else JSON


def _value_type(info: StateInfo) -> LogicalType:
    """Type of all values of one key."""
    if not isinstance(info.schema, tuple):
        return JSON
    inner, value = map(parse_type, info.schema[2:])
    if info.shape is StateShape.LIST:
        return ArrayType(value)
    return MapType(inner, value) if info.shape is StateShape.MAP else value


def _shown(kind: LogicalType) -> LogicalType:
    """The type of the same column in a DataFrame."""
    if isinstance(kind, logical.IntegralType):
        return logical.BigIntType()
    if isinstance(kind, logical.FloatType):
        return logical.DoubleType()
    if isinstance(kind, logical.CharType | logical.VarCharType | logical.TimeType):
        return logical.VarCharType()
    if isinstance(kind, logical.BinaryType | logical.VarBinaryType):
        return logical.VarBinaryType()
    if isinstance(kind, logical.TimestampType):
        return logical.TimestampType()
    if isinstance(kind, logical.LocalZonedTimestampType):
        return logical.LocalZonedTimestampType()
    return JSON if isinstance(kind, logical.RawType) else kind.with_nullable(True)


def _named(kind: LogicalType) -> Named:
    """Converter that gives the rows in a value the names of their fields."""
    if isinstance(kind, RowType):
        names, fields = kind.names, [_named(field.type) for field in kind]
        return _unless_null(
            lambda value: named_row(
                names, [name(part) for name, part in zip(fields, value, strict=True)]
            )
        )
    if isinstance(kind, ArrayType):
        element = _named(kind.element_type)
        return _unless_null(lambda value: list(map(element, value)))
    if isinstance(kind, MapType):
        key, item = _named(kind.key_type), _named(kind.value_type)
        return _unless_null(lambda value: {key(k): item(v) for k, v in dict(value).items()})
    return lambda value: value


def _unless_null(name: Named) -> Named:
    return lambda value: None if value is None else name(value)
