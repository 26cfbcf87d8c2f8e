"""The columns of each shape of state, and its entries as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millrace.common.time_window import TimeWindow
from millrace.state.snapshot_entries import Entry, StateShape
from millrace.state.snapshot_reader import StateInfo
from millrace.state_processor.column_type import BIGINT, STRING, TEXT, ColumnType

__all__ = ["FIXED", "TIMERS", "WINDOWED", "column_names", "rows_of", "window_columns"]

Row = tuple[Any, ...]

_WRITTEN_MANY = ColumnType("array", (BIGINT,))
FIXED: dict[str, ColumnType] = {
    "window_start": BIGINT,
    "window_end": BIGINT,
    "window": TEXT,
    "timestamp": BIGINT,
    "time_domain": STRING,
    "subtask": BIGINT,
    "written": BIGINT,
    "written_all": _WRITTEN_MANY,
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
    """The columns that a state is shown with."""
    names = _NAMES[info.shape]
    if not info.has_ttl:
        return names
    return (*names, "written" if info.shape is StateShape.VALUE else "written_all")


def rows_of(info: StateInfo, entries: Iterable[Entry]) -> Iterator[Row]:
    """The entries as rows of these columns."""
    return map(_row_maker(info), entries)


def _row_maker(info: StateInfo) -> Callable[[Entry], Row]:
    shape = info.shape
    if shape.is_windowed:
        return lambda entry: (entry.key, *window_columns(entry.window), entry.value)
    if shape.is_timers:
        domain = "EVENT_TIME" if shape is StateShape.EVENT_TIMERS else "PROCESSING_TIME"
        return lambda e: (e.key, e.value, domain, *window_columns(e.window))
    if shape in (StateShape.OPERATOR_LIST, StateShape.UNION_LIST):
        return lambda entry: (entry.value,)
    if info.has_ttl:
        return lambda entry: (entry.key, entry.value, entry.written)
    return lambda entry: (entry.key, entry.value)


def window_columns(window: Any) -> tuple[int | None, int | None, str | None]:
    """Start and end of a window of time, or the text of any other one."""
    if isinstance(window, TimeWindow):
        return window.start, window.end, None
    return None, None, None if window is None else repr(window)
