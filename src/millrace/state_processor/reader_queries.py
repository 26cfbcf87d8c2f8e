"""Queries that run reader functions on the state of a snapshot, in Spark tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import StateError
from millrace.common.functions.base import Function
from millrace.common.functions.runtime_context import KeyedStateStore
from millrace.common.types.type_information import TypeInformation
from millrace.runtime.current_key import CurrentKey
from millrace.runtime.keyed_state import KeyedStates
from millrace.runtime.operator import OperatorContext
from millrace.runtime.runtime_context import StreamRuntimeContext
from millrace.runtime.state_scope import FUNCTION, WINDOW, StateScope
from millrace.runtime.window_logic import namespace_of
from millrace.state.internal_tables import EVENT_TIMERS, PROCESSING_TIMERS
from millrace.state.serialization.entry_types import StateOwner
from millrace.state.snapshot_entries import entries_of
from millrace.state.snapshot_reader import StateInfo
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state_processor.functions import KeyedStateReaderFunction, WindowReaderFunction
from millrace.state_processor.state_rows import window_columns
from millrace.state_processor.state_source import StateSource
from millrace.state_processor.window_entries import WindowContents

__all__ = ["KeyedReaderQuery", "SavedOperator", "WindowQuery", "WindowReaderQuery"]

Timers = dict[Any, list[int]]


@dataclass(frozen=True, slots=True)
class SavedOperator:
    """The operator of a snapshot whose state a reader function reads."""

    uid: str
    name: str
    max_parallelism: int
    states: frozenset[str]
    """Names of the operator's states in all subtasks."""
    now: int
    """Time of the snapshot, in ms since the Unix epoch; entries that had expired by then are not
    read."""
    key_type: TypeInformation[Any] | None = None

    @property
    def owner(self) -> StateOwner:
        """The operator's name and key type, with which its state is decoded."""
        return StateOwner(self.name, self.key_type)

    def states_of(
        self, state: SubtaskState, current: CurrentKey, scope: StateScope = FUNCTION
    ) -> KeyedStates:
        """Access to the operator's keyed states. The current key is the one in ``current``."""
        return KeyedStates(state, self.uid, current, scope, lambda: self.now)

    def open(
        self, function: Function, state: SubtaskState, states: KeyedStates, index: int, width: int
    ) -> set[TableId]:
        """Open a reader function, and return the tables of its registered states.

        Raises:
            StateError: the function has registered a state that the operator does not have.
        """
        before = set(state.tables)
        context = OperatorContext(
            uid=self.uid,
            name=self.name,
            subtask_index=index,
            parallelism=width,
            max_parallelism=self.max_parallelism,
            state=state,
            clock=lambda: self.now,
        )
        function.open(StreamRuntimeContext(context, states))
        created = {table.name for table in set(state.tables) - before}
        unknown = sorted(created - self.states)
        if unknown:
            own = sorted(n for n in self.states if not TableId(self.uid, n).internal)
            raise StateError(
                f"operator '{self.uid}' has no state '{unknown[0]}' "
                f"(it has: {', '.join(own) or 'none'})"
            )
        return {TableId(self.uid, name) for name in states.names()}


@dataclass(frozen=True, slots=True)
class KeyedReaderQuery:
    """Runs a `KeyedStateReaderFunction` for every key."""

    source: StateSource
    operator: SavedOperator
    function: KeyedStateReaderFunction

    @property
    def tasks(self) -> int:
        """The number of tasks: one per subtask."""
        return len(self.source.subtasks)

    def rows(self, task: int) -> Iterator[Sequence[Any]]:
        """The function's results for each key of a subtask."""
        current, function, operator = CurrentKey(), self.function, self.operator
        state = self.source.restore_for(task, operator.uid, operator.owner)
        states = operator.states_of(state, current)
        index = self.source.subtasks[task]
        registered = operator.open(function, state, states, index, self.source.parallelism)
        event = _timers(state, operator.uid, EVENT_TIMERS)
        processing = _timers(state, operator.uid, PROCESSING_TIMERS)
        try:
            for key in _keys(state, operator.uid, registered):
                current.key = key
                context = _KeyContext(event.get(key, []), processing.get(key, []))
                for value in function.read_key(key, context) or ():
                    yield (value,)
        finally:
            function.close()


class _KeyContext(KeyedStateReaderFunction.Context):
    def __init__(self, event: list[int], processing: list[int]) -> None:
        self._event = event
        self._processing = processing

    def registered_event_time_timers(self) -> list[int]:
        return self._event

    def registered_processing_time_timers(self) -> list[int]:
        return self._processing


def _keys(state: SubtaskState, uid: str, registered: set[TableId]) -> list[Any]:
    """The keys with entries in the registered states; if none is registered, in any keyed state."""
    own = [table for table in state.tables if table.uid == uid]
    wanted = [table for table in own if table in registered] or own
    keys: dict[Any, None] = {}
    for table in wanted:
        if not state.kind(table).is_per_key:
            continue
        keys.update(dict.fromkeys(entry.key for entry in entries_of(state, table)))
    return list(keys)


def _timers(state: SubtaskState, uid: str, name: str, windowed: bool = False) -> Timers:
    """Times of the timers by key, or with ``windowed`` by key and window."""
    times: Timers = {}
    table = TableId(uid, name)
    if table in state.tables:
        for entry in entries_of(state, table):
            owner = (entry.key, namespace_of(entry.window)) if windowed else entry.key
            times.setdefault(owner, []).append(entry.value)
    return times


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """Reads the contents of all windows of an operator, without a reader function."""

    source: StateSource
    info: StateInfo
    entries: WindowContents

    @property
    def tasks(self) -> int:
        """The number of tasks: one per subtask."""
        return len(self.source.subtasks)

    def rows(self, task: int) -> Iterator[Sequence[Any]]:
        """The windows of a subtask: key, window columns and contents."""
        for entry in self.entries(self.source.restore(task, self.info), self.info.uid):
            yield entry.key, *window_columns(entry.window), entry.value


@dataclass(frozen=True, slots=True)
class WindowReaderQuery:
    """Runs a `WindowReaderFunction` for every window of every key."""

    source: StateSource
    operator: SavedOperator
    function: WindowReaderFunction
    entries: WindowContents

    @property
    def tasks(self) -> int:
        """The number of tasks: one per subtask."""
        return len(self.source.subtasks)

    def rows(self, task: int) -> Iterator[Sequence[Any]]:
        """The function's results for each window of a subtask."""
        operator, function = self.operator, self.function
        state = self.source.restore_for(task, operator.uid, operator.owner)
        context = _WindowContext(state, operator)
        index = self.source.subtasks[task]
        operator.open(function, state, context.keyed, index, self.source.parallelism)
        try:
            for entry in self.entries(state, operator.uid):
                context.enter(entry.key, entry.window)
                elements = entry.value if self.entries.has_elements else [entry.value]
                for value in function.read_window(entry.key, context, elements) or ():
                    yield (value,)
        finally:
            function.close()


class _WindowContext(WindowReaderFunction.Context):
    def __init__(self, state: SubtaskState, operator: SavedOperator) -> None:
        self._current, self._windowed = CurrentKey(), CurrentKey()
        self.keyed = operator.states_of(state, self._current)
        self._window_state = operator.states_of(state, self._windowed, WINDOW)
        self._event = _timers(state, operator.uid, EVENT_TIMERS, windowed=True)
        self._processing = _timers(state, operator.uid, PROCESSING_TIMERS, windowed=True)

    def enter(self, key: Any, window: Any) -> None:
        """Set the current key and window."""
        self._window = window
        self._place = (key, namespace_of(window))
        self._current.key = key
        self._windowed.key = (namespace_of(window), key)

    def window(self) -> Any:
        return self._window

    def window_state(self) -> KeyedStateStore:
        return self._window_state

    def global_state(self) -> KeyedStateStore:
        return self.keyed

    def registered_event_time_timers(self) -> list[int]:
        return self._event.get(self._place, [])

    def registered_processing_time_timers(self) -> list[int]:
        return self._processing.get(self._place, [])
