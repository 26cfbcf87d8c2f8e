"""Keyed state for user functions: views of tables at the current key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from millrace.common.errors import StateError
from millrace.common.functions.base import AggregateFunction
from millrace.common.functions.runtime_context import KeyedStateStore
from millrace.common.state.descriptors import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millrace.runtime.current_key import CurrentKey
from millrace.runtime.detached import are_immutable
from millrace.runtime.epoch import QueryableState
from millrace.runtime.state_check import (
    StateCheck,
    checked_update,
    entry_check,
    key_check,
    value_check,
)
from millrace.runtime.state_scope import FUNCTION, StateScope
from millrace.runtime.ttl_cleanup import Cleanup, Lifetime, without_expired
from millrace.runtime.ttl_state import (
    TtlAggregatingState,
    TtlListState,
    TtlMapState,
    TtlReducingState,
    TtlValueState,
    check_expires_alike,
)
from millrace.state.flat_table import FlatTable
from millrace.state.frozen import IMMUTABLE, is_immutable
from millrace.state.kinds.table_kind import TableKind
from millrace.state.list_table import ListTable
from millrace.state.nested_table import NestedTable
from millrace.state.store import SubtaskState
from millrace.state.table import StateTable
from millrace.state.table_kinds import (
    FLAT,
    LIST,
    MAP,
    TTL_FLAT,
    TTL_LIST,
    TTL_MAP,
)

Expiring = TypeVar(
    "Expiring",
    TtlValueState,
    TtlListState,
    TtlMapState,
    TtlReducingState,
    TtlAggregatingState,
)


class _ValueState(ValueState[Any]):
    __slots__ = ("_check", "_current", "_data", "_put", "_table")

    def __init__(self, table: FlatTable, current: CurrentKey, check: StateCheck | None) -> None:
        self._check = check
        self._table = table
        self._data = table.data
        self._put = table.put
        self._current = current

    def value(self) -> Any:
        value = self._data.get(self._current.key)
        if type(value) in IMMUTABLE or is_immutable(value):
            return value
        self._current.shared = True
        self._table.touch(self._current.key)
        return value

    def update(self, value: Any) -> None:
        key = self._current.key
        if value is None:
            self._table.remove(key)
            return
        if self._check is not None:
            self._check(value)
        if type(value) not in IMMUTABLE:
            self._current.note(value)
        self._put(key, value)

    def clear(self) -> None:
        self._table.remove(self._current.key)


class _ImmutableValueState(_ValueState):
    """Value state of a declared type with immutable values."""

    __slots__ = ("update", "value")

    def __init__(self, table: FlatTable, current: CurrentKey, check: StateCheck) -> None:
        super().__init__(table, current, check)
        get = table.data.get
        # called for every record: what a method would look up each time is known here
        self.value = lambda: get(current.key)  # type: ignore[method-assign]
        self.update = checked_update(table, current, check)  # type: ignore[assignment]


class _ListState(ListState[Any]):
    def __init__(self, table: ListTable, current: CurrentKey, check: StateCheck | None) -> None:
        self._table = table
        self._current = current
        self._check = check

    def get(self) -> list[Any]:
        values = self._table.get(self._current.key) or []
        if not self._current.shared and not are_immutable(values):
            self._current.shared = True
        return values

    def add(self, value: Any) -> None:
        if self._check is not None:
            self._check(value)
        self._current.note(value)
        self._table.append(self._current.key, value)

    def update(self, values: Iterable[Any]) -> None:
        replacement = list(values)
        if self._check is not None:
            for value in replacement:
                self._check(value)
        self._current.note(tuple(replacement))
        if replacement:
            self._table.put(self._current.key, replacement)
        else:
            self._table.remove(self._current.key)

    def clear(self) -> None:
        self._table.remove(self._current.key)

    def move_to(self, target: Any) -> None:
        """Move the current key's elements to the end of the list of key ``target``."""
        for value in self._table.get(self._current.key) or ():
            self._table.append(target, value)
        self._table.remove(self._current.key)


class _MapState(MapState[Any, Any]):
    def __init__(
        self,
        table: NestedTable,
        current: CurrentKey,
        key_check: StateCheck | None,
        check: StateCheck | None,
    ) -> None:
        self._table = table
        self._current = current
        self._key_check = key_check
        self._check = check

    def _entries(self) -> dict[Any, Any]:
        return self._table.data.get(self._current.key, {})

    def get(self, key: Any) -> Any:
        value = self._entries().get(key)
        if type(value) not in IMMUTABLE and not is_immutable(value):
            self._current.shared = True
            self._table.touch(self._current.key, key)
        return value

    def put(self, key: Any, value: Any) -> None:
        if self._key_check is not None:
            self._key_check(key)
        if self._check is not None:
            self._check(value)
        if type(value) not in IMMUTABLE:
            self._current.note(value)
        self._table.put(self._current.key, key, value)

    def remove(self, key: Any) -> None:
        self._table.remove(self._current.key, key)

    def contains(self, key: Any) -> bool:
        return key in self._entries()

    def items(self) -> list[tuple[Any, Any]]:
        self._touch_mutable()
        return list(self._entries().items())

    def keys(self) -> list[Any]:
        return list(self._entries())

    def values(self) -> list[Any]:
        self._touch_mutable()
        return list(self._entries().values())

    def is_empty(self) -> bool:
        return not self._entries()

    def clear(self) -> None:
        self._table.drop(self._current.key)

    def _touch_mutable(self) -> None:
        entries = self._entries()
        if not IMMUTABLE.issuperset(map(type, entries.values())):
            for key, value in entries.items():
                if not is_immutable(value):
                    self._current.shared = True
                    self._table.touch(self._current.key, key)


class _ReducingState(ReducingState[Any]):
    def __init__(
        self,
        table: FlatTable,
        current: CurrentKey,
        reduce: Callable[[Any, Any], Any],
        check: StateCheck | None,
    ) -> None:
        self._check = check
        self._table = table
        self._current = current
        self._reduce = reduce

    def get(self) -> Any:
        value = self._table.get(self._current.key)
        self._current.note(value)
        return value

    def add(self, value: Any) -> None:
        key = self._current.key
        self._table.touch(key)
        data = self._table.data
        reduced = self._reduce(data[key], value) if key in data else value
        if self._check is not None:
            self._check(reduced)
        data[key] = reduced

    def clear(self) -> None:
        self._table.remove(self._current.key)

    def move_to(self, target: Any) -> None:
        """Move the current key's value to key ``target``, reduced with the value there."""
        _move(self._table, self._current.key, target, self._reduce)


class _AggregatingState(AggregatingState[Any, Any]):
    def __init__(
        self,
        table: FlatTable,
        current: CurrentKey,
        aggregate: AggregateFunction[Any, Any, Any],
        check: StateCheck | None,
    ) -> None:
        self._check = check
        self._table = table
        self._current = current
        self._aggregate = aggregate

    def get(self) -> Any:
        accumulator = self._table.get(self._current.key)
        result = None if accumulator is None else self._aggregate.get_result(accumulator)
        self._current.note(result)
        return result

    def add(self, value: Any) -> None:
        key = self._current.key
        self._table.touch(key)
        data = self._table.data
        accumulator = data[key] if key in data else self._aggregate.create_accumulator()
        accumulator = self._aggregate.add(value, accumulator)
        if self._check is not None:
            self._check(accumulator)
        data[key] = accumulator

    def clear(self) -> None:
        self._table.remove(self._current.key)

    def move_to(self, target: Any) -> None:
        """Move the current key's accumulator to key ``target``, merged with the one there."""
        _move(self._table, self._current.key, target, self._aggregate.merge)


def _move(table: FlatTable, key: Any, target: Any, merge: Callable[[Any, Any], Any]) -> None:
    if key not in table.data:
        return
    value = table.get(key)
    table.remove(key)
    table.put(target, merge(table.get(target), value) if target in table.data else value)


class KeyedStates(KeyedStateStore):
    """Keyed state store of one operator. Creates states that are bound to the current key."""

    def __init__(
        self,
        state: SubtaskState,
        uid: str,
        current: CurrentKey,
        scope: StateScope = FUNCTION,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._state = state
        self._clock = clock
        self._uid = uid
        self._current = current
        self._scope = scope
        self._known: dict[str, StateDescriptor] = {}
        self._spilling: dict[str, StateTable] = {}
        self._queryable: list[QueryableState] = []
        self._cleanups: dict[str, Cleanup] = {}
        self.records = 0
        """Number of records of the open epoch so far."""

    def get_state(self, state_descriptor: ValueStateDescriptor[Any]) -> ValueState[Any]:
        lifetime, check = self._lifetime(state_descriptor), value_check(state_descriptor)
        if lifetime is not None:
            table = self._table(state_descriptor, TTL_FLAT)
            state = TtlValueState(table, self._current, lifetime, check)
            return self._expiring(state, state_descriptor)
        table = self._table(state_descriptor, FLAT)
        if check is not None and state_descriptor.type_info.is_immutable:
            return _ImmutableValueState(table, self._current, check)
        return _ValueState(table, self._current, check)

    def get_list_state(self, state_descriptor: ListStateDescriptor[Any]) -> ListState[Any]:
        lifetime, check = self._lifetime(state_descriptor), entry_check(state_descriptor)
        if lifetime is not None:
            table = self._table(state_descriptor, TTL_LIST)
            state = TtlListState(table, self._current, lifetime, check)
            return self._expiring(state, state_descriptor)
        return _ListState(self._table(state_descriptor, LIST), self._current, check)

    def get_map_state(self, state_descriptor: MapStateDescriptor[Any, Any]) -> MapState[Any, Any]:
        lifetime = self._lifetime(state_descriptor)
        checks = key_check(state_descriptor), entry_check(state_descriptor)
        if lifetime is not None:
            table = self._table(state_descriptor, TTL_MAP)
            state = TtlMapState(table, self._current, lifetime, *checks)
            return self._expiring(state, state_descriptor)
        return _MapState(self._table(state_descriptor, MAP), self._current, *checks)

    def get_reducing_state(
        self, state_descriptor: ReducingStateDescriptor[Any]
    ) -> ReducingState[Any]:
        lifetime, reduce = self._lifetime(state_descriptor), state_descriptor.reducer
        check = value_check(state_descriptor)
        if lifetime is not None:
            table = self._table(state_descriptor, TTL_FLAT)
            state = TtlReducingState(table, self._current, lifetime, reduce, check)
            return self._expiring(state, state_descriptor)
        table = self._table(state_descriptor, FLAT)
        return _ReducingState(table, self._current, reduce, check)

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[Any, Any, Any]
    ) -> AggregatingState[Any, Any]:
        lifetime, aggregate = self._lifetime(state_descriptor), state_descriptor.get_agg_function()
        check = value_check(state_descriptor)
        if lifetime is not None:
            table = self._table(state_descriptor, TTL_FLAT)
            state = TtlAggregatingState(table, self._current, lifetime, aggregate, check)
            return self._expiring(state, state_descriptor)
        table = self._table(state_descriptor, FLAT)
        return _AggregatingState(table, self._current, aggregate, check)

    def newly_queryable(self) -> list[QueryableState]:
        """Queryable states that were registered since the last call."""
        queryable, self._queryable = self._queryable, []
        return queryable

    def _note_queryable(self, descriptor: StateDescriptor) -> None:
        if descriptor.queryable_state_name is None:
            return
        if self._scope.windowed:
            raise StateError(
                f"state '{descriptor.name}' is queryable, but state of windows and triggers "
                "cannot be asked for; keep it per key"
            )
        shown = self._lifetime(descriptor)
        ttl = None if shown is None or shown.shows_expired else shown.ttl
        self._queryable.append(
            QueryableState(
                self._scope.table(self._uid, descriptor.name),
                descriptor.queryable_state_name,
                descriptor.kind,
                ttl,
            )
        )

    def _lifetime(self, descriptor: StateDescriptor) -> Lifetime | None:
        """Lifetime of a state. None if the state never expires."""
        if descriptor.ttl_config is None:
            return None
        if self._clock is None:
            raise StateError(
                f"state '{descriptor.name}' has a time to live, but state of windows and "
                "triggers is deleted with its window; delete it in clear(), or keep it per "
                "key"
            )
        return Lifetime.of(descriptor.ttl_config, self._clock)

    def _expiring(self, state: Expiring, descriptor: StateDescriptor) -> Expiring:
        """A state that expires, set up so that all its views share one cleanup and copies omit
        expired entries."""
        known = self._cleanups.get(descriptor.name)
        if known is not None:
            state.cleanup = known
            return state
        cleanup = self._cleanups[descriptor.name] = state.cleanup
        if not cleanup.lifetime.copies_all:
            name = self._scope.table(self._uid, descriptor.name)
            stamps = self._state.kind(name).stamps
            assert stamps is not None
            self._state.leave_out(name, without_expired(stamps, cleanup.lifetime))
        return state

    def end_epoch(self) -> None:
        """Delete some of the expired entries at the end of an epoch's input."""
        for cleanup in self._cleanups.values():
            cleanup.end_epoch(self.records)
        self.records = 0

    def get_any(self, descriptor: StateDescriptor) -> Any:
        """State for a descriptor of any kind."""
        if isinstance(descriptor, ValueStateDescriptor):
            return self.get_state(descriptor)
        if isinstance(descriptor, ListStateDescriptor):
            return self.get_list_state(descriptor)
        if isinstance(descriptor, MapStateDescriptor):
            return self.get_map_state(descriptor)
        if isinstance(descriptor, ReducingStateDescriptor):
            return self.get_reducing_state(descriptor)
        if isinstance(descriptor, AggregatingStateDescriptor):
            return self.get_aggregating_state(descriptor)
        raise StateError(f"{descriptor!r} describes no keyed state")

    def names(self) -> frozenset[str]:
        """Names of the states that the function has requested."""
        return frozenset(self._known)

    def keys(self, descriptor: StateDescriptor) -> list[Any]:
        """Keys with an entry in the state of a descriptor."""
        self.get_any(descriptor)
        table: Any = self._state.tables[self._scope.table(self._uid, descriptor.name)]
        return list(table.data)

    def _table(self, descriptor: StateDescriptor, kind: TableKind) -> Any:
        name = descriptor.name
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = descriptor
            self._note_queryable(descriptor)
        if (known.ttl_config is None) != (descriptor.ttl_config is None):
            raise StateError(
                f"state '{name}' is declared twice, with a time to live and without; call "
                "enable_time_to_live() on each descriptor of it"
            )
        if known.kind != descriptor.kind or known.type_info != descriptor.type_info:
            raise StateError(
                f"state '{name}' is declared twice with different types: {known!r} and "
                f"{descriptor!r}; give each state descriptor of an operator its own name"
            )
        table_name = self._scope.table(self._uid, name)
        kind = self._scope.kind(kind)
        if table_name in self._state.tables:
            check_expires_alike(name, self._state.kind(table_name), kind)
        table = self._state.table(table_name, kind, descriptor.type_info)
        if table.spills:
            self._spilling[name] = table
        return table

    def prefetch(self, keys: list[Any]) -> None:
        """Prefetch the states of keys that will be used next."""
        for table in self._spilling.values():
            table.prefetch(keys)
