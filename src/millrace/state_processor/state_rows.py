"""Columns for each shape of state, and entries as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millrace.common.types.logical.logical_type import (
    ArrayType,
    BigIntType,
    LogicalType,
    MapType,
    VarCharType,
)
from millrace.common.window.time_window import TimeWindow
from millrace.state.kinds.state_shape import Entry, StateShape
from millrace.state.serialization.schema import type_of_schema
from millrace.state.snapshot_reader import StateInfo
from millrace.state_processor.arrow_columns import column_type
from millrace.state_processor.columnar_rows import columnar_row_maker, columnar_types

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
    found = {"key": key, "value": value}
    return {name: kind for name, kind in found.items() if kind is not None}


_LISTS = (StateShape.LIST, StateShape.WINDOW_LIST)
_MAPS = (StateShape.MAP, StateShape.WINDOW_MAP)


def rows_of(info: StateInfo, entries: Iterable[Entry]) -> Iterator[Row]:
    """The entries as rows with the columns of `column_names`."""
    return map(_row_maker(info), entries)


def _row_maker(info: StateInfo) -> Callable[[Entry], Row]:
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
