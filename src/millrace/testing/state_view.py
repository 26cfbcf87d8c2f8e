"""Read-only view of an operator's state and timers."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

from millrace.common.errors import StateError
from millrace.common.window import Window
from millrace.runtime.state_scope import FUNCTION, TRIGGER, WINDOW
from millrace.runtime.window_logic import namespace_of, window_of
from millrace.state.frozen import MISSING
from millrace.state.nested_table import NestedTable
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import BROADCAST


class Timer(NamedTuple):
    """A registered timer."""

    timestamp: int
    """Time at which the timer is due, in ms since the Unix epoch."""
    key: Any
    window: Any = None
    """Window whose trigger registered the timer; None for a function's timer."""


class StateView:
    """Reads the tables of one operator."""

    def __init__(self, state: SubtaskState, uid: str, name: str) -> None:
        self._state = state
        self._uid = uid
        self._name = name

    def value(self, name: str, key: Any = None, window: Window | None = None) -> Any:
        """A copy of a state's value for a key (and window); None if it is empty."""
        table = self._table(name, window)
        data: dict[Any, Any] = self._state.tables[table].data  # type: ignore[attr-defined]
        kind = self._state.kind(table)
        if kind is BROADCAST:
            return deepcopy(data)
        if not kind.is_keyed:
            return deepcopy([data[place] for place in sorted(data)])
        value = data.get(key if window is None else (namespace_of(window), key), MISSING)
        return None if value is MISSING else deepcopy(kind.shown(value))

    def keys(self, name: str) -> list[Any]:
        """The keys with an entry in a state."""
        return list(self._state.tables[self._table(name, None)].data)  # type: ignore[attr-defined]

    def timers(self, name: str) -> list[Timer]:
        """The timers of one clock, by time."""
        table = self._state.tables.get(TableId(self._uid, name))
        if not isinstance(table, NestedTable):
            return []
        timers = [
            Timer(timestamp, key, None if namespace is None else window_of(namespace))
            for timestamp, entries in table.data.items()
            for key, namespace in entries
        ]
        return sorted(timers, key=lambda timer: timer.timestamp)

    def _table(self, name: str, window: Window | None) -> TableId:
        """The table of a state: without a window the function's, with a window the window
        function's or the trigger's."""
        for scope in (FUNCTION,) if window is None else (WINDOW, TRIGGER):
            if scope.table(self._uid, name) in self._state.tables:
                return scope.table(self._uid, name)
        own = [table.name for table in sorted(self._state.tables) if not table.internal]
        raise StateError(
            f"operator '{self._name}' has no state '{name}'"
            f"{'' if window is None else ' of windows'} (it has: {', '.join(own) or 'none'})"
        )
