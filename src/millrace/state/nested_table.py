"""Table with a dict per outer key, for map state, window panes and timers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from millrace.state.budget import Budget, in_parts
from millrace.state.frozen import IMMUTABLE, MISSING, Frozen, freeze, is_immutable
from millrace.state.serialization.pickles import dump_pickle
from millrace.state.table import KeyFilter, MemoryTable, TableDelta, differs, restore

SPLIT_BELOW = 10_000
"""With fewer outer keys than this, big inner dicts are dumped in chunks."""
CHUNK_ENTRIES = 512


Undo = dict[Any, dict[Any, Any]]
"""Undo logs of inner dicts, by outer key."""
Dropped = dict[Any, tuple[dict[Any, Any], dict[Any, Any]]]
"""Inner dict of each dropped outer key at the time of the drop, and its undo log until then."""
Writes = tuple[Sequence[Any], Sequence[Any], Sequence[Any]]
"""Outer keys, inner keys and values."""
Add = Callable[[Any, Any], Any]
Create = Callable[[Any], Any]
Admits = Callable[[Any], bool]


class InnerChunk(NamedTuple):
    """Some of the entries below one outer key, as a unit of `dump`."""

    outer: Any
    inners: list[Any]


class NestedTable(MemoryTable):
    """Table with a dict per outer key: map state (key, then map key), window panes (window, then
    key) and timers (timestamp, then key). The removal of a whole inner dict costs no more than
    the removal of one entry.
    """

    def __init__(self, inner_key: Callable[[Any, Any], Any]) -> None:
        self.data: dict[Any, dict[Any, Any]] = {}
        self.undo: Undo = {}
        self.dropped: Dropped = {}
        self._waiting_undo: Undo = {}
        self._waiting_dropped: Dropped = {}
        self._key_of = inner_key
        """Function from (outer, inner) to the key that determines the entry's key group."""

    def touch(self, outer: Any, inner: Any) -> None:
        """Record the entry's old value before the entry changes."""
        entries = self.data.get(outer)
        undo = self.undo.get(outer)
        if undo is None:
            undo = self.undo[outer] = {}
        if inner not in undo:
            undo[inner] = MISSING if entries is None else freeze(entries.get(inner, MISSING))

    def _opened(self, outer: Any) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Inner dict of ``outer`` and its undo log, created if missing."""
        entries = self.data.get(outer)
        if entries is None:
            entries = self.data[outer] = self._made(outer)
        undo = self.undo.get(outer)
        if undo is None:
            undo = self.undo[outer] = {}
        return entries, undo

    def _made(self, outer: Any) -> dict[Any, Any]:
        """New, empty inner dict."""
        return {}

    def prefetch_inner(self, outer: Any, inners: Iterable[Any]) -> None:
        """Fetch the entries that are about to be used, all in one request."""

    def put(self, outer: Any, inner: Any, value: Any) -> None:
        """Set an entry."""
        entries, undo = self._opened(outer)
        if inner not in undo:
            undo[inner] = freeze(entries.get(inner, MISSING))
        entries[inner] = value

    def put_new(self, outer: Any, inner: Any, value: Any) -> None:
        """Set an entry that has never existed."""
        entries, undo = self._opened(outer)
        undo[inner] = MISSING
        entries[inner] = value

    def upsert_many(self, batch: Writes, add: Add, create: Create, admits: Admits) -> list[int]:
        """Combine each value with the accumulator of its entry. If there is no accumulator,
        ``create`` makes it from the first value.

        Args:
            batch: outer keys, inner keys and values; equal outer keys had better be one object.
            add: function that adds a value to an accumulator, perhaps in place, and returns the
                accumulator.
            admits: function that tells whether to write below an outer key; called when the outer
                key changes.

        Returns:
            The positions of the values that were not admitted.
        """
        refused: list[int] = []
        last: Any = MISSING
        entries: dict[Any, Any] = {}
        undo: dict[Any, Any] = {}
        admitted = True
        for index, (outer, inner, value) in enumerate(zip(*batch, strict=True)):
            if outer is not last:
                last = outer
                admitted = admits(outer)
                if admitted:
                    entries, undo = self._opened(outer)
            if not admitted:
                refused.append(index)
            elif inner in undo:
                if inner in entries:
                    entries[inner] = add(value, entries[inner])
                else:
                    entries[inner] = create(value)
            elif inner in entries:
                old = entries[inner]
                undo[inner] = freeze(old)
                entries[inner] = add(value, old)
            else:
                undo[inner] = MISSING
                entries[inner] = create(value)
        return refused

    def append_many(self, batch: Writes, admits: Admits) -> list[int]:
        """Append each value to the list of its entry. The arguments and the result are those of
        `upsert_many`."""
        return self.upsert_many(batch, _appended, _listed, admits)

    def remove(self, outer: Any, inner: Any) -> None:
        """Remove an entry if it exists."""
        entries = self.data.get(outer)
        if entries is None or inner not in entries:
            return
        self.touch(outer, inner)
        del entries[inner]
        if not entries:
            del self.data[outer]

    def drop(self, outer: Any) -> dict[Any, Any]:
        """Remove all entries below ``outer`` and return them (to be read only)."""
        entries = self.data.pop(outer, None)
        undo = self.undo.pop(outer, {})
        if entries is None and not undo:
            return {}
        if entries is None:
            entries = self._made(outer)
        if outer not in self.dropped:
            self._freeze_mutable(entries, undo)
            self.dropped[outer] = (entries, undo)
        return entries

    def _freeze_mutable(self, entries: dict[Any, Any], undo: dict[Any, Any]) -> None:
        """Note copies of mutable values, because their receiver may still change them in place."""
        if IMMUTABLE.issuperset(map(type, entries.values())):
            return
        for inner, value in entries.items():
            if inner not in undo and not is_immutable(value):
                undo[inner] = Frozen(dump_pickle(value))

    def change_count(self) -> int:
        return len(self.dropped) + sum(map(len, self.undo.values()))

    def changes(self) -> TableDelta | None:
        return self._changes(self.undo.items(), list(self.dropped))

    def changes_by(self, budget: Budget) -> Iterator[tuple[TableDelta, int]]:
        if self.dropped:
            yield {"drop": list(self.dropped), "put": {}, "del": {}}, len(self.dropped)
        for part, count in self._parts(budget):
            table_delta = self._changes(part, [])
            if table_delta is not None:
                yield table_delta, count

    def _parts(self, budget: Budget) -> Iterator[tuple[list[tuple[Any, dict[Any, Any]]], int]]:
        """Parts of the undo log, each with its number of entries."""
        gathered: list[tuple[Any, dict[Any, Any]]] = []
        count = 0
        for outer, undo in self.undo.items():
            if len(undo) > budget.entries:
                for part in in_parts(undo.items(), budget):
                    yield [(outer, dict(part))], len(part)
                continue
            gathered.append((outer, undo))
            count += len(undo)
            if count >= budget.entries:
                yield gathered, count
                gathered, count = [], 0
        if gathered:
            yield gathered, count

    def _changes(
        self, touched: Iterable[tuple[Any, dict[Any, Any]]], dropped: list[Any]
    ) -> TableDelta | None:
        put: dict[Any, dict[Any, Any]] = {}
        removed: dict[Any, list[Any]] = {}
        for outer, undo in touched:
            entries = self.data.get(outer, {})
            dirty = [i for i, old in undo.items() if differs(old, entries.get(i, MISSING))]
            there = {inner: entries[inner] for inner in dirty if inner in entries}
            if there:
                put[outer] = there
            if len(there) < len(dirty):
                removed[outer] = [inner for inner in dirty if inner not in entries]
        if not (put or removed or dropped):
            return None
        return {"drop": dropped, "put": put, "del": removed}

    def seal(self) -> None:
        self.undo.clear()
        self.dropped.clear()

    def roll_back(self) -> None:
        self._restore(self.undo, self.dropped)
        self.undo.clear()
        self.dropped.clear()

    def begin_next(self) -> None:
        self._waiting_undo, self.undo = self.undo, {}
        self._waiting_dropped, self.dropped = self.dropped, {}

    def accept(self) -> None:
        self._waiting_undo, self._waiting_dropped = {}, {}

    def roll_back_waiting(self) -> None:
        self._restore(self._waiting_undo, self._waiting_dropped)
        self._waiting_undo, self._waiting_dropped = {}, {}

    def _restore(self, undos: Undo, dropped: Dropped) -> None:
        for outer, undo in undos.items():
            if outer not in dropped:
                entries = self.data.get(outer)
                self._restore_inner(outer, self._made(outer) if entries is None else entries, undo)
        for outer, (entries, undo) in dropped.items():
            self._restore_inner(outer, entries, undo)

    def _restore_inner(self, outer: Any, entries: dict[Any, Any], undo: dict[Any, Any]) -> None:
        restore(entries, undo)
        if entries:
            self.data[outer] = entries
        else:
            self.data.pop(outer, None)

    def former_entries(self) -> TableDelta:
        put = {outer: dict(entries.items()) for outer, entries in self.data.items()}
        put.update({outer: dict(entries.items()) for outer, (entries, _) in self.dropped.items()})
        logs = self.undo | {outer: undo for outer, (_, undo) in self.dropped.items()}
        for outer, undo in logs.items():
            restore(put.setdefault(outer, {}), undo)
        return {"drop": [], "put": {o: entries for o, entries in put.items() if entries}, "del": {}}

    def clear(self) -> None:
        self.data.clear()
        self.undo.clear()
        self.dropped.clear()
        self._waiting_undo, self._waiting_dropped = {}, {}

    def apply(self, table_delta: TableDelta, keep: KeyFilter | None = None) -> None:
        for outer in table_delta["drop"]:
            self.data.pop(outer, None)
        for outer, entries in table_delta["put"].items():
            self._apply_put(outer, entries, keep)
        for outer, inners in table_delta["del"].items():
            self._apply_del(outer, inners)

    def _apply_put(self, outer: Any, entries: dict[Any, Any], keep: KeyFilter | None) -> None:
        if keep is not None:
            key_of = self._key_of
            entries = {i: value for i, value in entries.items() if keep(key_of(outer, i))}
        if entries:
            self.data.setdefault(outer, {}).update(entries)

    def _apply_del(self, outer: Any, inners: Iterable[Any]) -> None:
        entries = self.data.get(outer)
        if entries is None:
            return
        for inner in inners:
            entries.pop(inner, None)
        if not entries:
            del self.data[outer]

    def entry_count(self) -> int:
        return sum(map(len, self.data.values()))

    def dump_units(self) -> list[Any]:
        units = self._units()
        # a pass asks for as many units as it may copy entries: most may be far below a full chunk
        self.entries_per_unit = max(1, self.entry_count() // max(1, len(units)))
        return units

    def _units(self) -> list[Any]:
        if len(self.data) > SPLIT_BELOW:
            return list(self.data)
        units: list[Any] = []
        for outer, entries in self.data.items():
            inners = list(entries)
            units += [
                InnerChunk(outer, inners[start : start + CHUNK_ENTRIES])
                for start in range(0, len(inners), CHUNK_ENTRIES)
            ]
        return units

    def dump(self, units: Iterable[Any]) -> tuple[TableDelta, int]:
        put: dict[Any, dict[Any, Any]] = {}
        count = 0
        for unit in units:
            outer = unit.outer if type(unit) is InnerChunk else unit
            entries = self.data.get(outer)
            if entries is None:
                continue
            if type(unit) is InnerChunk:
                entries = {inner: entries[inner] for inner in unit.inners if inner in entries}
            put.setdefault(outer, {}).update(entries)
            count += len(entries)
        return {"drop": [], "put": put, "del": {}}, count


def _appended(value: Any, values: list[Any]) -> list[Any]:
    values.append(value)
    return values


def _listed(value: Any) -> list[Any]:
    return [value]
