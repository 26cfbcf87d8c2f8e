"""State of process table functions: the objects that ``eval`` gets for its state entries, and their
storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from millrace.common.state.descriptors import (
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millrace.common.state.state_ttl import StateTtlConfig
from millrace.common.time.amounts import Time
from millrace.common.typeinfo import Types
from millrace.common.types.row import Row, named_row
from millrace.expressions.process_table_functions import EntryShape, StateEntry
from millrace.runtime.keyed_state import KeyedStates

__all__ = ["ProcessState", "StateListView", "StateMapView", "process_state", "row_without_values"]


class ProcessState(Protocol):
    """A state entry of the current key."""

    def load(self) -> Any:
        """Object that the function gets."""

    def store(self, value: Any) -> None:
        """Store the object after a call."""

    def clear(self) -> None:
        """Clear the entry."""


class _Value:
    """State entry whose object the function changes in place.

    Args:
        expires: whether each write must be reported to the state, because the state expires.
    """

    def __init__(self, state: ValueState[Any], entry: StateEntry, expires: bool) -> None:
        assert entry.made is not None
        self._state, self._made = state, entry.made
        self._expires, self._kept = expires, False

    def load(self) -> Any:
        stored = self._state.value()
        self._kept = stored is not None
        return stored if self._kept else self._made()

    def store(self, value: Any) -> None:
        # an object that is kept already counts as changed since it was read
        if self._expires or not self._kept:
            self._state.update(value)

    def clear(self) -> None:
        self._state.clear()


class StateListView:
    """A `ListView` of the state of the current partition. It adds elements without reading the
    existing elements."""

    def __init__(self, state: ListState[Any]) -> None:
        self._state = state

    def get(self) -> Iterable[Any]:
        return self._state.get()

    def add(self, value: Any) -> None:
        self._state.add(value)

    def add_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self._state.add(value)

    def clear(self) -> None:
        self._state.clear()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._state.get())

    def __len__(self) -> int:
        return sum(1 for _ in self._state.get())

    def load(self) -> StateListView:
        return self

    def store(self, value: Any) -> None:
        """Do nothing, because each change has already been stored."""


class StateMapView:
    """A `MapView` of the state of the current partition. It reads entries one by one."""

    def __init__(self, state: MapState[Any, Any]) -> None:
        self._state = state

    def get(self, key: Any) -> Any:
        if not self._state.contains(key):
            raise KeyError(key)
        return self._state.get(key)

    def put(self, key: Any, value: Any) -> None:
        self._state.put(key, value)

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        for key, value in dict_value.items():
            self._state.put(key, value)

    def remove(self, key: Any) -> None:
        if not self._state.contains(key):
            raise KeyError(key)
        self._state.remove(key)

    def contains(self, key: Any) -> bool:
        return self._state.contains(key)

    def items(self) -> Iterable[tuple[Any, Any]]:
        return self._state.items()

    def keys(self) -> Iterable[Any]:
        return self._state.keys()

    def values(self) -> Iterable[Any]:
        return self._state.values()

    def is_empty(self) -> bool:
        return self._state.is_empty()

    def clear(self) -> None:
        self._state.clear()

    __getitem__, __setitem__, __delitem__, __contains__ = get, put, remove, contains

    def __iter__(self) -> Iterator[Any]:
        return iter(self._state.keys())

    def __len__(self) -> int:
        return sum(1 for _ in self._state)

    def load(self) -> StateMapView:
        return self

    def store(self, value: Any) -> None:
        """Do nothing, because each change has already been stored."""


def process_state(entry: StateEntry, states: KeyedStates, session_ttl: int) -> ProcessState:
    """The stored object of a state entry, as the function's parameter needs it.

    Args:
        session_ttl: time to live in ms of state that declares none. 0 for unlimited.
    """
    ttl = session_ttl if entry.ttl is None else entry.ttl
    if entry.shape is EntryShape.LIST:
        of_list = ListStateDescriptor[Any](entry.name, entry.types[0])
        return StateListView(states.get_list_state(_lasting(of_list, ttl)))
    if entry.shape is EntryShape.MAP:
        key, value = (kind or Types.PICKLED_BYTE_ARRAY() for kind in entry.types)
        of_map = MapStateDescriptor(entry.name, key, value)
        return StateMapView(states.get_map_state(_lasting(of_map, ttl)))
    of_value = ValueStateDescriptor[Any](entry.name, entry.types[0])
    return _Value(states.get_state(_lasting(of_value, ttl)), entry, bool(ttl))


def _lasting(descriptor: Any, ttl: int) -> Any:
    assert isinstance(descriptor, StateDescriptor)
    if ttl:
        config = StateTtlConfig.new_builder(Time.milliseconds(ttl)).build()
        descriptor.enable_time_to_live(config)
    return descriptor


def row_without_values(names: tuple[str, ...]) -> Row:
    """The first value of state that is a row."""
    return named_row(names, [None] * len(names))
