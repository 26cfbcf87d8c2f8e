"""Operator state for user functions: lists and maps of one subtask."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.common.errors import StateError
from millrace.common.functions.runtime_context import KeyedStateStore
from millrace.common.state.broadcast_state import BroadcastState
from millrace.common.state.descriptors import (
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
)
from millrace.common.state.operator_state import (
    FunctionInitializationContext,
    FunctionSnapshotContext,
    OperatorStateStore,
)
from millrace.runtime.keyed_state import KeyedStates
from millrace.runtime.operator import OperatorContext
from millrace.runtime.operator_state_declaration import kind_of
from millrace.runtime.state_check import StateCheck, entry_check, key_check
from millrace.state.flat_table import FlatTable
from millrace.state.frozen import MISSING, freeze
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.store import EMPTY, SubtaskState
from millrace.state.table_id import TableId


class BroadcastMap(BroadcastState[Any, Any]):
    """A map over a table of the subtask."""

    def __init__(self, table: FlatTable, descriptor: MapStateDescriptor[Any, Any]) -> None:
        self._table = table
        self._key_check, self._check = key_check(descriptor), entry_check(descriptor)

    def get(self, key: Any) -> Any:
        return self._table.get(key)

    def contains(self, key: Any) -> bool:
        return key in self._table.data

    def items(self) -> list[tuple[Any, Any]]:
        return [(key, self._table.get(key)) for key in self._table.data]

    def keys(self) -> list[Any]:
        return list(self._table.data)

    def values(self) -> list[Any]:
        return [self._table.get(key) for key in self._table.data]

    def is_empty(self) -> bool:
        return not self._table.data

    def put(self, key: Any, value: Any) -> None:
        if self._key_check is not None:
            self._key_check(key)
        if self._check is not None:
            self._check(value)
        self._table.put(key, value)

    def remove(self, key: Any) -> None:
        self._table.remove(key)

    def clear(self) -> None:
        for key in list(self._table.data):
            self._table.remove(key)


class ReadOnlyMap(BroadcastMap):
    """A read-only view of a map. Its values are not protected against changes in place, because
    such a check would be too expensive if a function reads the whole map for every record.
    """

    def get(self, key: Any) -> Any:
        return self._table.data.get(key)

    def items(self) -> Any:
        return self._table.data.items()

    def keys(self) -> Any:
        return self._table.data.keys()

    def values(self) -> Any:
        return self._table.data.values()

    def put(self, key: Any, value: Any) -> None:
        self._refuse()

    def remove(self, key: Any) -> None:
        self._refuse()

    def clear(self) -> None:
        self._refuse()

    def _refuse(self) -> None:
        raise StateError(
            "broadcast state may be changed by the broadcast side only (in "
            "process_broadcast_element), so that it stays the same in all subtasks"
        )


class _OperatorList(ListState[Any]):
    """List with one table entry per element, since elements may be redistributed."""

    def __init__(self, table: FlatTable, subtask: int, check: StateCheck | None) -> None:
        self._check = check
        self._table = table
        self._subtask = subtask
        self._last = max((number for _, number in table.data), default=-1)

    def get(self) -> list[Any]:
        return [self._table.get(place) for place in sorted(self._table.data)]

    def add(self, value: Any) -> None:
        if self._check is not None:
            self._check(value)
        self._last += 1
        self._table.put((self._subtask, self._last), value)

    def update(self, values: Iterable[Any]) -> None:
        replacement = list(values)
        if self._check is not None:
            for value in replacement:
                self._check(value)
        table, data = self._table, self._table.data
        wanted = {(self._subtask, number): value for number, value in enumerate(replacement)}
        for place in [place for place in data if place not in wanted]:
            table.remove(place)
        self._last = len(replacement) - 1
        for place, value in wanted.items():
            # what did not change must not be written again in every epoch
            if freeze(data.get(place, MISSING)) != freeze(value):
                table.put(place, value)

    def clear(self) -> None:
        self.update([])


class OperatorStates(OperatorStateStore):
    """Operator state store of one operator. Creates its states."""

    def __init__(self, state: SubtaskState, uid: str, subtask: int) -> None:
        self._state = state
        self._uid = uid
        self._subtask = subtask
        self._known: dict[str, tuple[RedistributionMode, StateDescriptor]] = {}
        self._lists: dict[str, _OperatorList] = {}

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[Any, Any]) -> BroadcastMap:
        table = self.table(state_descriptor, RedistributionMode.BROADCAST)
        return BroadcastMap(table, state_descriptor)

    def get_list_state(self, state_descriptor: ListStateDescriptor[Any]) -> ListState[Any]:
        return self._list(state_descriptor, RedistributionMode.SPLIT)

    def get_union_list_state(self, state_descriptor: ListStateDescriptor[Any]) -> ListState[Any]:
        return self._list(state_descriptor, RedistributionMode.UNION)

    def _list(
        self, descriptor: ListStateDescriptor[Any], mode: RedistributionMode
    ) -> _OperatorList:
        table = self.table(descriptor, mode)
        if descriptor.name not in self._lists:
            self._lists[descriptor.name] = _OperatorList(
                table, self._subtask, entry_check(descriptor)
            )
        return self._lists[descriptor.name]

    def table(self, descriptor: StateDescriptor, mode: RedistributionMode) -> FlatTable:
        """Table for a descriptor. Raises StateError if its name is used for another state."""
        known = self._known.setdefault(descriptor.name, (mode, descriptor))
        if known[0] is not mode or known[1].type_info != descriptor.type_info:
            raise StateError(
                f"operator state '{descriptor.name}' is declared twice with different types: "
                f"{known[1]!r} and {descriptor!r}; give each its own name"
            )
        name, kind = TableId(self._uid, descriptor.name), kind_of(mode)
        table: FlatTable = self._state.table(name, kind, descriptor.type_info)
        return table


class InitializationContext(FunctionInitializationContext):
    """Context of ``CheckpointedFunction.initialize_state``."""

    def __init__(self, context: OperatorContext, states: KeyedStates | None) -> None:
        self._restored = context.state.version != EMPTY
        self._store = OperatorStates(context.state, context.uid, context.subtask_index)
        self._keyed = states
        self._name = context.name

    def is_restored(self) -> bool:
        return self._restored

    def get_operator_state_store(self) -> OperatorStates:
        return self._store

    def get_keyed_state_store(self) -> KeyedStateStore:
        if self._keyed is None:
            raise StateError(
                f"operator '{self._name}' has no keyed state: it does not run on a keyed stream; "
                "call key_by before it"
            )
        return self._keyed


class SnapshotContext(FunctionSnapshotContext):
    """Context of ``CheckpointedFunction.snapshot_state``."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def get_checkpoint_id(self) -> int:
        return self._epoch
