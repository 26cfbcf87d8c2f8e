"""The entries of a table in one shape, whatever kind of state it is and however it is kept."""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from millrace.common.errors import CheckpointError
from millrace.common.window.time_window import TimeWindow
from millrace.state.internal_tables import (
    ACCUMULATORS,
    ELEMENTS,
    EVENT_TIMERS,
    MERGING,
    PANE_ELEMENTS,
    PROCESSING_TIMERS,
    SESSIONS,
    SLICE_ELEMENTS,
    TIMED_ELEMENTS,
)
from millrace.state.store import SubtaskState
from millrace.state.table_id import OPERATOR_TABLE, TableId

__all__ = ["Entry", "StateShape", "entries_of", "shape_of"]


class StateShape(enum.Enum):
    """What an entry of a state is."""

    VALUE = "value"
    """A key and its value: value, reducing (the value) and aggregating state (the accumulator)."""
    LIST = "list"
    """A key and its list."""
    MAP = "map"
    """A key and its dict."""
    WINDOW_VALUE = "window-value"
    """A key, a window, and a value or accumulator."""
    WINDOW_LIST = "window-list"
    """A key, a window, and its elements."""
    WINDOW_MAP = "window-map"
    """A key, a window, and a dict."""
    EVENT_TIMERS = "event-timers"
    """A key, the window whose trigger set the timer (or None), and when it is due."""
    PROCESSING_TIMERS = "processing-timers"
    """The same for timers of the clock."""
    BROADCAST = "broadcast"
    """Key and value of the map; every subtask has all of it."""
    OPERATOR_LIST = "operator-list"
    """An element of a list that is split among the subtasks; its key is its place."""
    UNION_LIST = "union-list"
    """An element of a list that every subtask gets all of; its key is its place."""
    OPERATOR = "operator"
    """What operators keep about themselves: watermarks, splits, writers."""

    @property
    def is_keyed(self) -> bool:
        """Whether entries belong to keys."""
        return self not in _UNKEYED

    @property
    def is_windowed(self) -> bool:
        """Whether entries belong to windows."""
        return self in (self.WINDOW_VALUE, self.WINDOW_LIST, self.WINDOW_MAP)

    @property
    def is_timers(self) -> bool:
        """Whether entries are timers."""
        return self in (self.EVENT_TIMERS, self.PROCESSING_TIMERS)


_UNKEYED = frozenset(
    {StateShape.BROADCAST, StateShape.OPERATOR_LIST, StateShape.UNION_LIST, StateShape.OPERATOR}
)


class Entry(NamedTuple):
    """One entry of a state."""

    key: Any
    value: Any
    """The value, list or dict; of a timer when it is due, ms since the epoch."""
    window: Any = None
    """The window it belongs to: a `TimeWindow`, or what the job's assigner makes."""
    written: Any = None
    """With a time to live: when it was last used (ms since the epoch); of a list and a dict one
    for each element, in their order."""


_SHAPES: dict[str, StateShape] = {
    "flat": StateShape.VALUE,
    "list": StateShape.LIST,
    "map": StateShape.MAP,
    "panes": StateShape.WINDOW_VALUE,
    "ttl-flat": StateShape.VALUE,
    "ttl-list": StateShape.LIST,
    "ttl-map": StateShape.MAP,
    "broadcast": StateShape.BROADCAST,
    "split-list": StateShape.OPERATOR_LIST,
    "union-list": StateShape.UNION_LIST,
    "window-flat": StateShape.WINDOW_VALUE,
    "window-list": StateShape.WINDOW_LIST,
    "window-map": StateShape.WINDOW_MAP,
}
_NAMED: dict[str, StateShape] = {
    EVENT_TIMERS: StateShape.EVENT_TIMERS,
    PROCESSING_TIMERS: StateShape.PROCESSING_TIMERS,
    PANE_ELEMENTS: StateShape.WINDOW_LIST,
    SLICE_ELEMENTS: StateShape.WINDOW_LIST,
    SESSIONS: StateShape.WINDOW_VALUE,
    OPERATOR_TABLE.name: StateShape.OPERATOR,
}
_MERGED = (ACCUMULATORS, ELEMENTS, TIMED_ELEMENTS)
"""Tables whose windows are the ones that merging windows were first put in."""


def shape_of(table: TableId, kind: str) -> StateShape:
    """What entries a table of that kind has."""
    shape = _NAMED.get(table.name) or _SHAPES.get(kind)
    if shape is None:
        raise CheckpointError(
            f"the checkpoint has a state '{table.name}' of an unknown kind '{kind}'"
        )
    return shape


def entries_of(state: SubtaskState, table: TableId) -> Iterator[Entry]:
    """The entries of a table of one subtask, in the order it keeps them."""
    name, kind = table.name, state.kind(table)
    shape = shape_of(table, kind)
    found = state.tables[table]
    put = found.scan(None, sys.maxsize).delta["put"]
    if shape.is_timers:
        return _timers(put)
    if name in (PANE_ELEMENTS, SLICE_ELEMENTS):
        return _pane_elements(put, numbered=name == SLICE_ELEMENTS)
    if name == SESSIONS:
        return _sessions(put)
    if kind == "panes":
        return _panes(put)
    if shape.is_windowed:
        return _windowed(put, _merged_windows(state, table))
    if table == OPERATOR_TABLE:
        return (Entry("/".join(filter(None, key)), value) for key, value in put.items())
    if kind.startswith("ttl-"):
        return map(_STAMPED[kind], put.items())
    return (Entry(key, value) for key, value in put.items())


def window_of(namespace: Any) -> Any:
    """The window that is kept as ``namespace``: windows of time are kept as plain data."""
    return TimeWindow(*namespace) if type(namespace) is tuple else namespace


def _timers(put: dict[int, Any]) -> Iterator[Entry]:
    for timestamp in sorted(put):
        for key, namespace in put[timestamp]:
            yield Entry(key, timestamp, None if namespace is None else window_of(namespace))


def _pane_elements(put: dict[Any, Any], numbered: bool) -> Iterator[Entry]:
    """Elements are kept per key and epoch; ``numbered``: each with its place in the epoch."""
    for pane, entries in put.items():
        window = window_of(pane)
        elements: dict[Any, list[Any]] = {}
        for key, epoch in sorted(entries, key=lambda place: int(place[1])):
            found = entries[key, epoch]
            elements.setdefault(key, []).extend([v for _, v in found] if numbered else found)
        for key, values in elements.items():
            yield Entry(key, values, window)


def _sessions(put: dict[Any, Any]) -> Iterator[Entry]:
    for key, sessions in put.items():
        for start, end, accumulator in sessions:
            yield Entry(key, accumulator, TimeWindow(start, end))


def _panes(put: dict[Any, Any]) -> Iterator[Entry]:
    for pane, entries in put.items():
        window = window_of(pane)
        for key, value in entries.items():
            yield Entry(key, value, window)


def _windowed(put: dict[Any, Any], merged: dict[Any, Any]) -> Iterator[Entry]:
    for (namespace, key), value in put.items():
        window = merged.get((key, namespace), namespace) if merged else namespace
        yield Entry(key, value, window_of(window))


def _merged_windows(state: SubtaskState, table: TableId) -> dict[Any, Any]:
    """(key, where contents are) -> the window they are of, for windows that merge."""
    if table.name not in _MERGED:
        return {}
    merging = state.tables.get(table._replace(name=MERGING))
    if merging is None:
        return {}
    put = merging.scan(None, sys.maxsize).delta["put"]
    return {(key, kept): window for key, windows in put.items() for window, kept in windows.items()}


def _stamped_value(item: tuple[Any, Any]) -> Entry:
    key, (value, written) = item
    return Entry(key, value, None, written)


def _stamped_list(item: tuple[Any, Any]) -> Entry:
    key, stamped = item
    return Entry(key, [v for v, _ in stamped], None, [written for _, written in stamped])


def _stamped_map(item: tuple[Any, Any]) -> Entry:
    key, entries = item
    values = {name: value for name, (value, _) in entries.items()}
    return Entry(key, values, None, [written for _, written in entries.values()])


_STAMPED = {"ttl-flat": _stamped_value, "ttl-list": _stamped_list, "ttl-map": _stamped_map}
