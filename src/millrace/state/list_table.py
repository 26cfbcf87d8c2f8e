"""Table with a list per key, for list state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millrace.state.budget import Budget, in_parts
from millrace.state.frozen import IMMUTABLE, MISSING, Frozen, is_immutable, thaw
from millrace.state.serialization.pickles import dump_pickle
from millrace.state.table import KeyFilter, MemoryTable, TableDelta, before


class ListTable(MemoryTable):
    """Table with a list per key. If a key's list was only appended to, the table delta has only
    the new elements."""

    def __init__(self, key_of: Callable[[Any], Any] = lambda key: key) -> None:
        self._key_of = key_of
        self.data: dict[Any, list[Any]] = {}
        self.undo: dict[Any, Any] = {}
        """Undo log by key: the former length of a list that was only appended to, or the frozen
        former list."""
        self._waiting_undo: dict[Any, Any] = {}

    def get(self, key: Any) -> list[Any] | None:
        """Copy of the list, or None. If elements can change in place, the list is first saved for a
        roll-back."""
        values = self.data.get(key)
        if values is None:
            return None
        if not IMMUTABLE.issuperset(map(type, values)) and not all(map(is_immutable, values)):
            self.touch(key)
        return values.copy()

    def append(self, key: Any, value: Any) -> None:
        """Add one element."""
        elements = self.data.get(key)
        if elements is None:
            if key not in self.undo:
                self.undo[key] = MISSING
            self.data[key] = [value]
            return
        if key not in self.undo:
            self.undo[key] = len(elements)
        elements.append(value)

    def touch(self, key: Any) -> None:
        """Record the whole old list before the list is replaced or its elements change."""
        old = self.undo.get(key)
        if old is None:
            values = self.data.get(key, MISSING)
            self.undo[key] = values if values is MISSING else Frozen(dump_pickle(values))
        elif type(old) is int:
            self.undo[key] = Frozen(dump_pickle(self.data[key][:old]))

    def put(self, key: Any, values: list[Any]) -> None:
        """Replace the list."""
        self.touch(key)
        self.data[key] = values

    def remove(self, key: Any) -> None:
        """Remove a list if it exists."""
        if key in self.data:
            self.touch(key)
            del self.data[key]

    def change_count(self) -> int:
        return len(self.undo)

    def changes(self) -> TableDelta | None:
        return self._changes(self.undo.items())

    def changes_by(self, budget: Budget) -> Iterator[tuple[TableDelta, int]]:
        for part in in_parts(self.undo.items(), budget):
            table_delta = self._changes(part)
            if table_delta is not None:
                yield table_delta, len(part)

    def _changes(self, touched: Iterable[tuple[Any, Any]]) -> TableDelta | None:
        put: dict[Any, Any] = {}
        appended: dict[Any, Any] = {}
        removed = []
        for key, old in touched:
            now = self.data.get(key, MISSING)
            if type(old) is int:
                appended[key] = self.data[key][old:]
            elif now is MISSING:
                if old is not MISSING:
                    removed.append(key)
            elif old is MISSING or old.data != dump_pickle(now):
                put[key] = now
        if not (put or appended or removed):
            return None
        return {"put": put, "add": appended, "del": removed}

    def seal(self) -> None:
        self.undo.clear()

    def roll_back(self) -> None:
        self._restore(self.undo)
        self.undo.clear()

    def begin_next(self) -> None:
        self._waiting_undo, self.undo = self.undo, {}

    def accept(self) -> None:
        self._waiting_undo = {}

    def roll_back_waiting(self) -> None:
        self._restore(self._waiting_undo)
        self._waiting_undo = {}

    def _restore(self, undo: dict[Any, Any]) -> None:
        for key, old in undo.items():
            if type(old) is int:
                del self.data[key][old:]
            elif old is MISSING:
                self.data.pop(key, None)
            else:
                self.data[key] = old.thaw()

    def former_entries(self) -> TableDelta:
        return {"put": before(self.data, self.undo, self._former), "add": {}, "del": []}

    def _former(self, key: Any) -> Any:
        """List, before the open epoch, of a key that the epoch touched; or MISSING."""
        old = self.undo[key]
        if type(old) is int:
            return self.data[key][:old]
        return thaw(old)

    def clear(self) -> None:
        self.data.clear()
        self.undo.clear()
        self._waiting_undo = {}

    def apply(self, table_delta: TableDelta, keep: KeyFilter | None = None) -> None:
        for key, values in table_delta["put"].items():
            if keep is None or keep(self._key_of(key)):
                self.data[key] = values
        for key, values in table_delta["add"].items():
            if keep is None or keep(self._key_of(key)):
                self.data.setdefault(key, []).extend(values)
        for key in table_delta["del"]:
            self.data.pop(key, None)

    def entry_count(self) -> int:
        return len(self.data)

    def dump_units(self) -> list[Any]:
        return list(self.data)

    def dump(self, units: Iterable[Any]) -> tuple[TableDelta, int]:
        data = self.data
        put = {key: data[key] for key in units if key in data}
        return {"put": put, "add": {}, "del": []}, len(put)
