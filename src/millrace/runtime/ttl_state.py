"""Keyed state that expires. Every value, list element and map entry has the time of its last use.

Semantics: Flink docs, "Working with State", State Time-To-Live. The time is processing time, which
is one instant per epoch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from millrace.common.errors import StateMigrationError
from millrace.common.functions.base import AggregateFunction
from millrace.common.state.descriptors import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    ValueState,
)
from millrace.runtime.current_key import CurrentKey
from millrace.runtime.state_check import StateCheck
from millrace.runtime.ttl_cleanup import Cleanup, Lifetime, Stamped
from millrace.state.flat_table import FlatTable
from millrace.state.kinds.table_kind import TableKind
from millrace.state.list_table import ListTable
from millrace.state.nested_table import NestedTable

TableT = TypeVar("TableT", FlatTable, ListTable, NestedTable)


class _Expiring(ABC, Generic[TableT]):
    """State in a table of time-stamped values. Values are checked against their type when they are
    written.
    """

    def __init__(
        self,
        table: TableT,
        current: CurrentKey,
        lifetime: Lifetime,
        check: StateCheck | None,
    ) -> None:
        self._check = check
        self._table: TableT = table
        self._current = current
        self._lifetime = lifetime
        self.cleanup = Cleanup(table, lifetime, self._sweep)

    @abstractmethod
    def _sweep(self, key: Any) -> None:
        """Delete the expired entries of a key."""


class _Flat(_Expiring[FlatTable]):
    """State with one time-stamped value per key."""

    def _sweep(self, key: Any) -> None:
        stamped = self._table.data.get(key)
        if stamped is not None and self._lifetime.expired(stamped):
            self._table.remove(key)

    def read(self) -> Any:
        """The value of the current key, or None."""
        key, lifetime = self._current.key, self._lifetime
        stamped = self._table.get(key)
        value = None
        if stamped is not None and lifetime.expired(stamped):
            self._table.remove(key)
            value = stamped[0] if lifetime.shows_expired else None
        elif stamped is not None:
            value = stamped[0]
            if lifetime.renewed_by_reading:
                self._table.put(key, (value, lifetime.clock()))
        self._current.note(value)
        self.cleanup.accessed()
        return value

    def living(self) -> Any:
        """Value of the current key, for an update; None if there is no value or it has expired."""
        stamped = self._table.get(self._current.key)
        return None if stamped is None or self._lifetime.expired(stamped) else stamped[0]

    def write(self, value: Any) -> None:
        """Set the value of the current key."""
        if self._check is not None:
            self._check(value)
        self._current.note(value)
        self._table.put(self._current.key, (value, self._lifetime.clock()))
        self.cleanup.accessed()

    def clear(self) -> None:
        """Delete the value of the current key."""
        self._table.remove(self._current.key)


class TtlValueState(_Flat, ValueState[Any]):
    """A value that expires."""

    def value(self) -> Any:
        return self.read()

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
        else:
            self.write(value)


class TtlReducingState(_Flat, ReducingState[Any]):
    """A reduced value that expires. Each addition counts as a write."""

    def __init__(
        self,
        table: FlatTable,
        current: CurrentKey,
        lifetime: Lifetime,
        reduce: Callable[[Any, Any], Any],
        check: StateCheck | None,
    ) -> None:
        super().__init__(table, current, lifetime, check)
        self._reduce = reduce

    def get(self) -> Any:
        return self.read()

    def add(self, value: Any) -> None:
        so_far = self.living()
        self.write(value if so_far is None else self._reduce(so_far, value))


class TtlAggregatingState(_Flat, AggregatingState[Any, Any]):
    """An accumulator that expires. Each addition counts as a write."""

    def __init__(
        self,
        table: FlatTable,
        current: CurrentKey,
        lifetime: Lifetime,
        aggregate: AggregateFunction[Any, Any, Any],
        check: StateCheck | None,
    ) -> None:
        super().__init__(table, current, lifetime, check)
        self._aggregate = aggregate

    def get(self) -> Any:
        accumulator = self.read()
        return None if accumulator is None else self._aggregate.get_result(accumulator)

    def add(self, value: Any) -> None:
        accumulator = self.living()
        if accumulator is None:
            accumulator = self._aggregate.create_accumulator()
        self.write(self._aggregate.add(value, accumulator))


class TtlListState(_Expiring[ListTable], ListState[Any]):
    """A list whose elements expire one by one."""

    def _sweep(self, key: Any) -> None:
        elements = self._table.data.get(key, [])
        if any(map(self._lifetime.expired, elements)):
            self._keep(key, [e for e in elements if not self._lifetime.expired(e)])

    def _keep(self, key: Any, elements: list[Stamped]) -> None:
        if elements:
            self._table.put(key, elements)
        else:
            self._table.remove(key)

    def get(self) -> list[Any]:
        key, lifetime = self._current.key, self._lifetime
        elements = list(self._table.get(key) or ())
        alive = [element for element in elements if not lifetime.expired(element)]
        if lifetime.renewed_by_reading and alive:
            now = lifetime.clock()
            self._keep(key, [(value, now) for value, _ in alive])
        elif len(alive) < len(elements):
            self._keep(key, alive)
        self.cleanup.accessed()
        values = [value for value, _ in (elements if lifetime.shows_expired else alive)]
        self._current.note(tuple(values))
        return values

    def add(self, value: Any) -> None:
        if self._check is not None:
            self._check(value)
        self._current.note(value)
        self._table.append(self._current.key, (value, self._lifetime.clock()))
        self.cleanup.accessed()

    def update(self, values: Iterable[Any]) -> None:
        now = self._lifetime.clock()
        replacement = [(value, now) for value in values]
        if self._check is not None:
            for value, _ in replacement:
                self._check(value)
        self._current.note(tuple(replacement))
        self._keep(self._current.key, replacement)

    def clear(self) -> None:
        self._table.remove(self._current.key)


class TtlMapState(_Expiring[NestedTable], MapState[Any, Any]):
    """A map whose entries expire one by one."""

    def __init__(
        self,
        table: NestedTable,
        current: CurrentKey,
        lifetime: Lifetime,
        key_check: StateCheck | None,
        check: StateCheck | None,
    ) -> None:
        super().__init__(table, current, lifetime, check)
        self._key_check = key_check

    def _sweep(self, key: Any) -> None:
        entries = self._table.data.get(key, {})
        for name in [name for name, e in entries.items() if self._lifetime.expired(e)]:
            self._table.remove(key, name)

    def get(self, key: Any) -> Any:
        outer, lifetime = self._current.key, self._lifetime
        self.cleanup.accessed()
        stamped = self._table.data.get(outer, {}).get(key)
        if stamped is None:
            return None
        self._table.touch(outer, key)
        value = stamped[0]
        if lifetime.expired(stamped):
            self._table.remove(outer, key)
            if not lifetime.shows_expired:
                return None
        elif lifetime.renewed_by_reading:
            self._table.put(outer, key, (value, lifetime.clock()))
        self._current.note(value)
        return value

    def put(self, key: Any, value: Any) -> None:
        if self._key_check is not None:
            self._key_check(key)
        if self._check is not None:
            self._check(value)
        self._current.note(value)
        self._table.put(self._current.key, key, (value, self._lifetime.clock()))
        self.cleanup.accessed()

    def remove(self, key: Any) -> None:
        self._table.remove(self._current.key, key)

    def contains(self, key: Any) -> bool:
        # a read like any other: it may restart the time to live
        contained = key in self._living()
        self.get(key)
        return contained

    def items(self) -> list[tuple[Any, Any]]:
        return [(key, self.get(key)) for key in self._living()]

    def keys(self) -> list[Any]:
        return self._living()

    def values(self) -> list[Any]:
        return [self.get(key) for key in self._living()]

    def is_empty(self) -> bool:
        return not self._living()

    def clear(self) -> None:
        self._table.drop(self._current.key)

    def _living(self) -> list[Any]:
        """Keys of the entries that are visible."""
        entries = self._table.data.get(self._current.key, {})
        if self._lifetime.shows_expired:
            return list(entries)
        return [key for key, stamped in entries.items() if not self._lifetime.expired(stamped)]


def check_expires_alike(name: str, written: TableKind, declared: TableKind) -> None:
    """Raises StateMigrationError if only one of two kinds of tables is for state that expires."""
    if written.layout is not declared.layout or written.windowed or declared.windowed:
        return
    if written.expires and not declared.expires:
        raise StateMigrationError(
            f"state '{name}' was written with a time to live, and its descriptor has none; call "
            "enable_time_to_live() again, or give the state another name and start it empty"
        )
    if declared.expires and not written.expires:
        raise StateMigrationError(
            f"state '{name}' was written without a time to live, and its descriptor has one; "
            "leave out enable_time_to_live(), or give the state another name and start it empty"
        )
