"""States for queries: they have the reading methods of their kind, and refuse changes."""

from __future__ import annotations

from typing import Any, NoReturn

from millrace.common.errors import StateError
from millrace.common.state.descriptors import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
)

__all__ = ["immutable_state"]


def immutable_state(descriptor: StateDescriptor, value: Any) -> State:
    """The state of one key as ``descriptor`` declares it.

    Example:
        >>> immutable_state(ListStateDescriptor("recent"), [1, 2]).get()
        [1, 2]
    """
    if isinstance(descriptor, ListStateDescriptor):
        return ImmutableListState(value)
    if isinstance(descriptor, MapStateDescriptor):
        return ImmutableMapState(value)
    if isinstance(descriptor, ReducingStateDescriptor):
        return ImmutableReducingState(value)
    if isinstance(descriptor, AggregatingStateDescriptor):
        return ImmutableAggregatingState(descriptor.get_agg_function().get_result(value))
    return ImmutableValueState(value)


class _Immutable(State):
    def __init__(self, content: Any) -> None:
        self._content = content

    def clear(self) -> None:
        self._refuse()

    def update(self, value: Any) -> None:
        self._refuse()

    def add(self, value: Any) -> None:
        self._refuse()

    def get(self, *_: Any) -> Any:
        return self._content

    def _refuse(self) -> NoReturn:
        raise StateError("state that was queried cannot be changed; only the job can")


class ImmutableValueState(_Immutable, ValueState[Any]):
    """The value of a key."""

    def value(self) -> Any:
        return self._content


class ImmutableReducingState(_Immutable, ReducingState[Any]):
    """The reduced value of a key."""


class ImmutableAggregatingState(_Immutable, AggregatingState[Any, Any]):
    """The result for a key."""


class ImmutableListState(_Immutable, ListState[Any]):
    """The list of a key."""


class ImmutableMapState(_Immutable, MapState[Any, Any]):
    """The map of a key."""

    def get(self, key: Any) -> Any:
        return self._content.get(key)

    def put(self, key: Any, value: Any) -> None:
        self._refuse()

    def remove(self, key: Any) -> None:
        self._refuse()

    def contains(self, key: Any) -> bool:
        return key in self._content

    def items(self) -> list[tuple[Any, Any]]:
        return list(self._content.items())

    def keys(self) -> list[Any]:
        return list(self._content)

    def values(self) -> list[Any]:
        return list(self._content.values())

    def is_empty(self) -> bool:
        return not self._content
