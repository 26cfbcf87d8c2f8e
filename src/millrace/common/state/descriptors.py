"""Keyed state and its descriptors (Flink docs, "Working with State").

A descriptor names a piece of state and says what is in it; ``RuntimeContext`` turns it into a
handle that always shows the value of the current key.

Example:
    >>> from millrace.common.types.typeinfo import Types
    >>> count = ValueStateDescriptor("count", Types.LONG())
    >>> count.kind, count.type_info
    ('value', Long)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Generic, TypeVar, overload

from millrace.common.errors import StateError
from millrace.common.functions.base import (
    AggregateFunction,
    ReduceFunction,
    ReduceFunctionWrapper,
)
from millrace.common.state.state_ttl import StateTtlConfig
from millrace.common.types.typeinfo import TypeInformation, Types, instead_of_type

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "ValueState",
    "ValueStateDescriptor",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
ACC = TypeVar("ACC")
OUT = TypeVar("OUT")


class State(ABC):
    """State of the current key."""

    @abstractmethod
    def clear(self) -> None:
        """Remove the state of the current key."""


class ValueState(State, Generic[T]):
    """One value per key."""

    @abstractmethod
    def value(self) -> T | None:
        """The value, or None if there is none."""

    @abstractmethod
    def update(self, value: T | None) -> None:
        """Replace the value; None removes it."""


class AppendingState(State, Generic[IN, OUT]):
    """State to which values are added."""

    @abstractmethod
    def get(self) -> OUT | None:
        """Aggregate of the added values; None if there are none."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add one value."""


class MergingState(AppendingState[IN, OUT]):
    """State whose values can be merged when their windows are merged."""


class ReducingState(MergingState[T, T]):
    """One value per key: all added values, combined by a `ReduceFunction`."""


class AggregatingState(MergingState[IN, OUT]):
    """One accumulator per key; `get` gives the `AggregateFunction`'s result."""


class ListState(MergingState[T, Iterable[T]]):
    """A list per key."""

    @abstractmethod
    def get(self) -> Iterable[T]:
        """The elements in order; empty if there are none. Changes of the returned object have no
        effect."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replace the whole list; an empty list removes it."""

    def add_all(self, values: Iterable[T]) -> None:
        """Append all values."""
        for value in values:
            self.add(value)

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class MapState(State, Generic[K, V]):
    """A map per key; also used like a dict: ``state[key]``, ``key in state``."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value under ``key``, or None."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value under ``key``."""

    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set all the given values."""
        for key, value in dict_value.items():
            self.put(key, value)

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove ``key``; no effect if it does not exist."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether ``key`` exists."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All pairs."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """All keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """All values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the map is empty."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class StateDescriptor(ABC):
    """Name and type of a piece of keyed state.

    Args:
        name: unique within the operator; a savepoint finds the state by it.
        type_info: type of the whole state of one key; None for anything that can be pickled.

    Raises:
        StateError: the name is empty, has a slash or begins with ``@``, or ``type_info`` is not a
            type.
    """

    kind: ClassVar[str]
    """``"value"``, ``"list"``, ``"map"``, ``"reducing"`` or ``"aggregating"``."""

    def __init__(self, name: str, type_info: TypeInformation[Any] | None = None) -> None:
        if not isinstance(name, str) or not name:
            raise StateError(f"a state descriptor needs a name, got {name!r}")
        if "/" in name:  # a table is called <uid>/<state>, and uids may have slashes
            raise StateError(
                f"the name of a state must not contain a slash, got {name!r}; "
                f"{name.replace('/', '-')!r} would do"
            )
        if name.startswith("@"):  # so do those of the states that operators keep for themselves
            raise StateError(
                f"the name of a state must not begin with '@', got {name!r}; "
                f"{name.lstrip('@') or 'state'!r} would do"
            )
        self.name = name
        self.type_info = checked_type(name, type_info)
        self.ttl_config: StateTtlConfig | None = None
        self.queryable_state_name: str | None = None

    def set_queryable(self, queryable_state_name: str) -> None:
        """Make the state readable from outside while the job runs, under a name of its own.

        Semantics: Flink docs, "Queryable State".

        Raises:
            StateError: it has such a name already, or the name is empty.

        Example:
            >>> counts = ValueStateDescriptor("count")
            >>> counts.set_queryable("clicks-per-user")
            >>> counts.is_queryable(), counts.get_queryable_state_name()
            (True, 'clicks-per-user')
        """
        if not isinstance(queryable_state_name, str) or not queryable_state_name:
            raise StateError(
                f"set_queryable() takes a name to ask for, got {queryable_state_name!r}"
            )
        if self.queryable_state_name is not None:
            raise StateError(
                f"state {self.name!r} is queryable as {self.queryable_state_name!r} already"
            )
        self.queryable_state_name = queryable_state_name

    def is_queryable(self) -> bool:
        """Whether `set_queryable` was called."""
        return self.queryable_state_name is not None

    def get_queryable_state_name(self) -> str | None:
        """The name given to `set_queryable`; None if the state is not queryable."""
        return self.queryable_state_name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let the state of a key, or each of its list elements or map entries, expire.

        Raises:
            StateError: ``ttl_config`` is not a StateTtlConfig.
        """
        if not isinstance(ttl_config, StateTtlConfig):
            raise StateError(
                f"enable_time_to_live() takes a StateTtlConfig, got {ttl_config!r}; make one with "
                "StateTtlConfig.new_builder(Time.hours(1)).build()"
            )
        self.ttl_config = ttl_config if ttl_config.is_enabled() else None

    def get_name(self) -> str:
        """The name."""
        return self.name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateDescriptor):
            return NotImplemented
        return (self.kind, self.name, self.type_info) == (other.kind, other.name, other.type_info)

    def __hash__(self) -> int:
        return hash((self.kind, self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info})"


class ValueStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a `ValueState`."""

    kind = "value"

    @overload
    def __init__(
        self: ValueStateDescriptor[Any], name: str, value_type_info: None = None
    ) -> None: ...

    @overload
    def __init__(self, name: str, value_type_info: TypeInformation[T]) -> None: ...

    def __init__(self, name: str, value_type_info: TypeInformation[Any] | None = None) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a `ListState`; ``type_info`` is the type of the whole list."""

    kind = "list"

    @overload
    def __init__(
        self: ListStateDescriptor[Any], name: str, elem_type_info: None = None
    ) -> None: ...

    @overload
    def __init__(self, name: str, elem_type_info: TypeInformation[T]) -> None: ...

    def __init__(self, name: str, elem_type_info: TypeInformation[Any] | None = None) -> None:
        super().__init__(name, Types.LIST(checked_type(name, elem_type_info)))


class MapStateDescriptor(StateDescriptor, Generic[K, V]):
    """Describes a `MapState`; ``type_info`` is the type of the whole map."""

    kind = "map"

    @overload
    def __init__(
        self: MapStateDescriptor[Any, Any],
        name: str,
        key_type_info: None = None,
        value_type_info: None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation[K],
        value_type_info: TypeInformation[V],
    ) -> None: ...

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation[Any] | None = None,
        value_type_info: TypeInformation[Any] | None = None,
    ) -> None:
        key_type = checked_type(name, key_type_info)
        super().__init__(name, Types.MAP(key_type, checked_type(name, value_type_info)))


class ReducingStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a `ReducingState`.

    Args:
        reduce_function: a `ReduceFunction` or a callable of two values.
    """

    kind = "reducing"

    def __init__(
        self,
        name: str,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        type_info: TypeInformation[T] | None = None,
    ) -> None:
        super().__init__(name, type_info)
        if not isinstance(reduce_function, ReduceFunction) and not callable(reduce_function):
            raise StateError(
                f"reducing state {name!r} needs a ReduceFunction or a callable, "
                f"got {reduce_function!r}"
            )
        self._reduce_function = reduce_function

    def get_reduce_function(self) -> ReduceFunction[T]:
        """The function; a callable is wrapped into one."""
        if isinstance(self._reduce_function, ReduceFunction):
            return self._reduce_function
        return ReduceFunctionWrapper(self._reduce_function)

    @property
    def reducer(self) -> Callable[[T, T], T]:
        """The function as a plain callable."""
        if isinstance(self._reduce_function, ReduceFunction):
            return self._reduce_function.reduce
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor, Generic[IN, ACC, OUT]):
    """Describes an `AggregatingState`.

    Args:
        agg_function: the `AggregateFunction`.
        state_type_info: type of its accumulator.
    """

    kind = "aggregating"

    def __init__(
        self,
        name: str,
        agg_function: AggregateFunction[IN, ACC, OUT],
        state_type_info: TypeInformation[ACC] | None = None,
    ) -> None:
        super().__init__(name, state_type_info)
        if not isinstance(agg_function, AggregateFunction):
            raise StateError(
                f"aggregating state {name!r} needs an AggregateFunction, got {agg_function!r}"
            )
        self._agg_function = agg_function

    def get_agg_function(self) -> AggregateFunction[IN, ACC, OUT]:
        """The function."""
        return self._agg_function


def checked_type(name: str, type_info: Any) -> TypeInformation[Any]:
    """The type itself; for None, the type for anything that can be pickled.

    Raises:
        StateError: it is something else, for example ``int`` or a `Types` method not called.
    """
    if type_info is None:
        return Types.PICKLED_BYTE_ARRAY()
    if isinstance(type_info, TypeInformation):
        return type_info
    raise StateError(f"state {name!r} needs a type {instead_of_type(type_info)}")
