"""Table with one value per key, for value, reducing and aggregating state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from millrace.state.budget import Budget, in_parts
from millrace.state.frozen import IMMUTABLE, MISSING, Frozen, freeze, is_immutable, thaw
from millrace.state.table import (
    KeyFilter,
    MemoryTable,
    Scan,
    TableDelta,
    before,
    differs,
    restore,
)


class KeyHolder(Protocol):
    """Holder of the key whose entry is read or written."""

    key: Any


class FlatTable(MemoryTable):
    """Table with one value per key, for value, reducing and aggregating state."""

    def __init__(self, key_of: Callable[[Any], Any] = lambda key: key) -> None:
        self._key_of = key_of
        self.data: dict[Any, Any] = {}
        self.undo: dict[Any, Any] = {}
        self._waiting_undo: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        """Value of a key, or None. The table tracks mutable values, because the caller may
        change them in place."""
        value = self.data.get(key)
        if type(value) not in IMMUTABLE and not is_immutable(value):
            self.touch(key)
        return value

    def touch(self, key: Any) -> None:
        """Record the entry's old value before the entry changes."""
        if key not in self.undo:
            self.undo[key] = freeze(self.data.get(key, MISSING))

    def put(self, key: Any, value: Any) -> None:
        """Set an entry."""
        if key not in self.undo:
            self.undo[key] = freeze(self.data.get(key, MISSING))
        self.data[key] = value

    def put_immutable(self, key: Any, value: Any) -> None:
        """Set an entry of a table whose values can never be changed in place."""
        if key not in self.undo:
            self.undo[key] = self.data.get(key, MISSING)
        self.data[key] = value

    def update_of(
        self, current: KeyHolder, cls: type, bounds: tuple[Any, Any], other: Callable[[Any], None]
    ) -> Callable[[Any], None]:
        """Function that sets the current key's entry, as `put_immutable` does. It sets only values
        of exactly the class ``cls`` within ``bounds`` (None: no bounds), and passes other values to
        ``other``. The function is called for every record, so it avoids further calls."""
        data, undo, get = self.data, self.undo, self.data.get
        low, high = bounds

        def update(value: Any) -> None:
            if type(value) is cls:
                key = current.key
                if key not in undo:
                    undo[key] = get(key, MISSING)
                data[key] = value
            else:
                other(value)

        def update_within(value: Any) -> None:
            if type(value) is cls and low <= value <= high:
                key = current.key
                if key not in undo:
                    undo[key] = get(key, MISSING)
                data[key] = value
            else:
                other(value)

        return update if low is None else update_within

    def writable(self, keys: Iterable[Any]) -> dict[Any, Any]:
        """Dict for a batch of writes. Records the present entries of ``keys``, and returns the
        dict; the caller may set only the entries of these keys.
        """
        undo, get = self.undo, self.data.get
        for key in keys:
            if key not in undo:
                undo[key] = freeze(get(key, MISSING))
        return self.data

    def remove(self, key: Any) -> None:
        """Remove an entry if it exists."""
        if key in self.data:
            self.touch(key)
            del self.data[key]

    def change_count(self) -> int:
        return len(self.undo)

    def changes(self) -> TableDelta | None:
        return self._changes(self.undo.items()) if self.undo else None

    def changes_by(self, budget: Budget) -> Iterator[tuple[TableDelta, int]]:
        for part in in_parts(self.undo.items(), budget):
            table_delta = self._changes(part)
            if table_delta is not None:
                yield table_delta, len(part)

    def _changes(self, touched: Iterable[tuple[Any, Any]]) -> TableDelta | None:
        data, get = self.data, self.data.get
        dirty = [
            key
            for key, old in touched
            if (
                old is not get(key, MISSING)
                if type(old) is not Frozen
                else differs(old, get(key, MISSING))
            )
        ]
        put = {key: data[key] for key in dirty if key in data}
        removed = [key for key in dirty if key not in data] if len(put) < len(dirty) else []
        return {"put": put, "del": removed} if dirty else None

    def seal(self) -> None:
        self.undo.clear()

    def roll_back(self) -> None:
        restore(self.data, self.undo)
        self.undo.clear()

    def begin_next(self) -> None:
        # functions made by `update_of` write to this very log
        self._waiting_undo = self.undo.copy()
        self.undo.clear()

    def accept(self) -> None:
        self._waiting_undo = {}

    def roll_back_waiting(self) -> None:
        restore(self.data, self._waiting_undo)
        self._waiting_undo = {}

    def former_entries(self) -> TableDelta:
        return {"put": before(self.data, self.undo, self._former), "del": []}

    def _former(self, key: Any) -> Any:
        """Value, before the open epoch, of a key that the epoch touched; or MISSING."""
        return thaw(self.undo[key])

    def clear(self) -> None:
        self.data.clear()
        self.undo.clear()
        self._waiting_undo = {}

    def apply(self, table_delta: TableDelta, keep: KeyFilter | None = None) -> None:
        put = table_delta["put"]
        if keep is not None:
            put = {key: value for key, value in put.items() if keep(self._key_of(key))}
        self.data.update(put)
        for key in table_delta["del"]:
            self.data.pop(key, None)

    def entry_count(self) -> int:
        return len(self.data)

    def everything(self, budget: Budget) -> Iterator[Scan]:
        # quicker than by keys, and possible because nothing changes between two steps
        for part in in_parts(self.data.items(), budget):
            yield Scan({"put": dict(part), "del": []}, len(part), None)

    def dump_units(self) -> list[Any]:
        return list(self.data)

    def dump(self, units: Iterable[Any]) -> tuple[TableDelta, int]:
        data = self.data
        put = {key: data[key] for key in units if key in data}
        return {"put": put, "del": []}, len(put)
