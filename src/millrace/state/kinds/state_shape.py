"""Shapes of states: the reader's view of their entries, independent of the table that keeps
them."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

__all__ = ["KeyedStateEntry", "StateShape"]


class StateShape(enum.Enum):
    """Shape of a state's entries."""

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
    """A key, the window whose trigger set the timer (or None), and the time at which the timer
    is due."""
    PROCESSING_TIMERS = "processing-timers"
    """The same for processing-time timers."""
    BROADCAST = "broadcast"
    """Key and value of the map; every subtask has all of it."""
    OPERATOR_LIST = "operator-list"
    """An element of a list that is split among the subtasks; its key is its place."""
    UNION_LIST = "union-list"
    """An element of a list that every subtask gets completely; its key is its place."""
    OPERATOR = "operator"
    """Internal values of operators: watermarks, splits, writers."""

    @property
    def is_keyed(self) -> bool:
        """Whether entries belong to keys."""
        return self not in _UNKEYED

    @property
    def is_per_key(self) -> bool:
        """Whether an entry is the complete state of a keyed function for one key: a value, list
        or map."""
        return self in (self.VALUE, self.LIST, self.MAP)

    @property
    def is_operator_list(self) -> bool:
        """Whether entries are the elements of an operator's list."""
        return self in (self.OPERATOR_LIST, self.UNION_LIST)

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


class KeyedStateEntry(NamedTuple):
    """One entry of a state."""

    key: Any
    value: Any
    """The value, list or dict. For a timer, the time at which it is due, ms since the epoch."""
    window: Any = None
    """Window of the entry: a `TimeWindow`, or an object that the job's assigner makes."""
    written: Any = None
    """Time of last use (ms since the epoch), for state with a time to live. For a list or dict,
    one time per element, in the order of the elements."""
