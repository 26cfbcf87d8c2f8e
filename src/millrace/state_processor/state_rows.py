"""Columns for each shape of state, and entries as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millrace.common.types.inferred_type import JSON
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import (
    ArrayType,
    BigIntType,
    LogicalType,
    MapType,
    RowType,
    VarCharType,
    rewritten,
)
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.row import named_row
from millrace.common.window.time_window import TimeWindow
from millrace.state.kinds.state_shape import KeyedStateEntry, StateShape
from millrace.state.serialization.schema import type_of_schema
from millrace.state.snapshot_reader import StateInfo
from millrace.state_processor.arrow_columns import column_type, has_json

__all__ = [
    "FIXED",
    "TIMERS",
    "WINDOWED",
    "column_names",
    "rows_of",
    "window_columns",
    "written_types",
]

Row = tuple[Any, ...]

_BIGINT, _STRING = BigIntType(), VarCharType()
FIXED: dict[str, LogicalType] = {
    "window_start": _BIGINT,
    "window_end": _BIGINT,
    "window": _STRING,
    "timestamp": _BIGINT,
    "time_domain": _STRING,
    "subtask": _BIGINT,
    "written": _BIGINT,
    "written_all": ArrayType(_BIGINT),
}
"""Columns whose types are always the same; times are ms since the epoch."""

_KEYED = ("key", "value")
WINDOWED = ("key", "window_start", "window_end", "window", "value")
TIMERS = ("key", "timestamp", "time_domain", "window_start", "window_end", "window")

_NAMES: dict[StateShape, tuple[str, ...]] = {
    StateShape.VALUE: _KEYED,
    StateShape.LIST: _KEYED,
    StateShape.MAP: _KEYED,
    StateShape.BROADCAST: _KEYED,
    StateShape.WINDOW_VALUE: WINDOWED,
    StateShape.WINDOW_LIST: WINDOWED,
    StateShape.WINDOW_MAP: WINDOWED,
    StateShape.EVENT_TIMERS: TIMERS,
    StateShape.PROCESSING_TIMERS: TIMERS,
    StateShape.OPERATOR_LIST: ("value",),
    StateShape.UNION_LIST: ("value",),
    StateShape.OPERATOR: ("key", "value"),
}


def column_names(info: StateInfo) -> tuple[str, ...]:
    """The column names of a state."""
    names = _NAMES[info.shape]
    if not info.has_ttl:
        return names
    return (*names, "written" if info.shape is StateShape.VALUE else "written_all")


def written_types(info: StateInfo) -> dict[str, LogicalType]:
    """The column types that the snapshot records; others are inferred from values."""
    if not isinstance(info.schema, tuple):
        return {}
    if info.kind.columnar is not None:
        return columnar_types(info)
    key, inner, value = (column_type(type_of_schema(schema)) for schema in info.schema[1:])
    if info.shape in _LISTS and value is not None:
        value = ArrayType(value)
    elif info.shape in _MAPS:
        value = None if value is None or inner is None else MapType(inner, value)
    elif info.shape is StateShape.BROADCAST:
        key = inner or key
    elif info.internal:
        value = None  # windows keep more than one value in an entry
    types = {"key": key, "value": value}
    return {name: kind for name, kind in types.items() if kind is not None}


_LISTS = (StateShape.LIST, StateShape.WINDOW_LIST)
_MAPS = (StateShape.MAP, StateShape.WINDOW_MAP)


def rows_of(info: StateInfo, entries: Iterable[KeyedStateEntry]) -> Iterator[Row]:
    """The entries as rows with the columns of `column_names`."""
    return map(_row_maker(info), entries)


def _row_maker(info: StateInfo) -> Callable[[KeyedStateEntry], Row]:
    shape = info.shape
    if shape.is_windowed:
        return lambda entry: (entry.key, *window_columns(entry.window), entry.value)
    if shape.is_timers:
        domain = "EVENT_TIME" if shape is StateShape.EVENT_TIMERS else "PROCESSING_TIME"
        return lambda e: (e.key, e.value, domain, *window_columns(e.window))
    if shape.is_operator_list:
        return lambda entry: (entry.value,)
    if info.has_ttl:
        return lambda entry: (entry.key, entry.value, entry.written)
    if info.kind.columnar is not None:
        return columnar_row_maker(info)
    return lambda entry: (entry.key, entry.value)


def window_columns(window: Any) -> tuple[int | None, int | None, str | None]:
    """Start and end of a time window, or the text of any other window."""
    if isinstance(window, TimeWindow):
        return window.start, window.end, None
    return None, None, None if window is None else repr(window)


Named = Callable[[Any], Any]


def columnar_types(info: StateInfo) -> dict[str, LogicalType]:
    """The types of the columns ``key`` and ``value``; None for a type that is not known."""
    types = {"key": _key_type(info), "value": _value_type(info)}
    shown = {name: rewritten(kind, _shown) for name, kind in types.items()}
    return {name: kind for name, kind in shown.items() if not has_json(kind)}


def columnar_row_maker(info: StateInfo) -> Callable[[KeyedStateEntry], tuple[Any, ...]]:
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
