"""Table on the local disk with a dict per outer key. Entries are stored one by one, so that a
lookup of one entry never reads all entries below a hot outer key.

The store has a row per outer key, which marks that entries below it exist, and a row per entry,
whose row key begins with that of the outer key.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import filterfalse, islice
from random import choices
from typing import Any, NamedTuple

from millrace.state.backend.key_value_store import WriteBatch
from millrace.state.backend.row_format import (
    check_key,
    entry_in,
    is_below_reversible,
    key_in,
    row_key,
    row_keys,
    rows_of,
    value_in,
)
from millrace.state.backend.spilled_dict import SpilledDict, in_memory
from millrace.state.backend.spilled_flat_table import KNOWN_ABSENT
from millrace.state.backend.spilled_table import (
    ROWS_AT_ONCE,
    SAMPLE,
    SpilledTable,
    TableRows,
    accepted,
    growth,
    spread,
)
from millrace.state.frozen import MISSING, Frozen, is_immutable, thaw
from millrace.state.nested_table import NestedTable
from millrace.state.serialization.pickles import dump_pickle
from millrace.state.table import KeyFilter, Scan, TableDelta

_LENGTH = struct.Struct(">I")
_NOTHING: frozenset[Any] = frozenset()


class _Outers(SpilledDict):
    """Inner dicts of a `SpilledNestedTable`, by outer key."""

    __slots__ = ("_table",)

    def __init__(self, table: SpilledNestedTable) -> None:
        super().__init__()
        self._table = table

    def load(self, key: Any) -> Any:
        return self._table.fetch_outer(key)

    def spilled_items(self) -> Iterator[tuple[Any, Any]]:
        return self._table.stored_outers(set(dict.keys(self)))


class _NestedCursor(NamedTuple):
    """Position of a scan, which first reads the unsaved entries and then the rows."""

    unsaved: list[tuple[Any, Any]]
    position: int
    row: bytes


class _Before(NamedTuple):
    """Changes that `SpilledNestedTable._note_sealed` has made, to undo them if the waiting epoch is
    rolled back.
    """

    estimate: int = 0
    unsaved: Mapping[Any, set[Any] | None] = {}
    """Former inner keys of the entries to be written, of the dropped outer keys."""
    cleared: Sequence[Any] = ()
    """Outer keys whose rows in the store became void."""


class SpilledNestedTable(SpilledTable, NestedTable):
    """Table of map state or window panes on the local disk."""

    def __init__(
        self, outers: TableRows, rows: TableRows, inner_key: Callable[[Any, Any], Any]
    ) -> None:
        NestedTable.__init__(self, inner_key)
        self.rows = rows
        self._outers = outers
        self.data = _Outers(self)
        self.unsaved: dict[Any, set[Any]] = {}
        """Inner keys of the entries to be written, by outer key."""
        self._cleared: set[Any] = set()
        """Outer keys whose rows in the store are void."""
        self._absent: set[Any] = set()
        self._first_rows: dict[Any, bytes] = {}
        """Row before which a scan finds no current row, by outer key: memory knows the state of
        all earlier rows."""
        self._before = _Before()
        self._held = 0
        """Upper bound for the number of entries, and of keys known to be absent, in memory."""

    # -- reading -----------------------------------------------------------------------

    def fetch_outer(self, outer: Any) -> Any:
        """Create in memory the dict of an outer key that is only in the store; MISSING if there
        is none."""
        if self._outers.empty or self._is_known(outer):
            return MISSING
        if self._outers.store.get(self._outers.prefix + row_key(outer)) is None:
            self._remember_absent((outer,))
            return MISSING
        entries = self.data[outer] = SpilledInner(self, outer, False)
        return entries

    def _is_known(self, outer: Any) -> bool:
        """Whether memory, and not the store, has the current state of an outer key."""
        return (
            outer in self._absent
            or outer in self.undo
            or outer in self.unsaved
            or outer in self._cleared
            or outer in self.dropped
        )

    def _remember_absent(self, outers: Iterable[Any]) -> None:
        if len(self._absent) > KNOWN_ABSENT:
            self._absent.clear()
        self._absent.update(outers)

    def prefetch(self, keys: Iterable[Any]) -> None:
        if self._outers.empty:
            return
        missing = filterfalse(in_memory(self.data), set(keys))
        wanted = list(filterfalse(self._is_known, missing))
        if not wanted:
            return
        prefix = self._outers.prefix
        rows = self._outers.store.get_many(row_keys(wanted, prefix))
        self._remember_absent(k for k, row in zip(wanted, rows, strict=True) if row is None)
        for outer, row in zip(wanted, rows, strict=True):
            if row is not None:
                self.data[outer] = SpilledInner(self, outer, False)

    def prefetch_inner(self, outer: Any, inners: Iterable[Any]) -> None:
        entries = self.data.get(outer)
        if not isinstance(entries, SpilledInner) or entries.void or self.rows.empty:
            return
        log, unsaved = self._log(entries), self.unsaved.get(outer, _NOTHING)
        missing = set(filterfalse(in_memory(entries), set(inners)))
        wanted = list(missing.difference(entries.absent, unsaved).difference(log))
        prefix = self._prefix(outer)
        rows = self.rows.store.get_many(row_keys(wanted, prefix))
        if len(entries.absent) > KNOWN_ABSENT:
            entries.absent.clear()
        for inner, row in zip(wanted, rows, strict=True):
            if row is None:
                entries.absent.add(inner)
            else:
                entries[inner] = value_in(row)
        self._hold(len(wanted))

    def fetch(self, entries: SpilledInner, inner: Any) -> Any:
        """Load the value of an entry that is not in memory; MISSING if there is none."""
        outer = entries.outer
        if self.rows.empty or inner in entries.absent or inner in self._log(entries):
            return MISSING
        if inner in self.unsaved.get(outer, _NOTHING):
            return MISSING
        row = self.rows.store.get(self._prefix(outer) + row_key(inner))
        if row is None:
            return MISSING
        value = entries[inner] = value_in(row)
        self._hold(1)
        return value

    def _log(self, entries: SpilledInner) -> Any:
        """Undo log of a dict in the open epoch."""
        dropped = self.dropped.get(entries.outer)
        if dropped is not None and dropped[0] is entries:
            return dropped[1]
        return self.undo.get(entries.outer, _NOTHING)

    def _prefix(self, outer: Any) -> bytes:
        """Prefix of the row keys below an outer key."""
        key = row_key(outer)
        return self.rows.prefix + _LENGTH.pack(len(key)) + key

    def stored(self, entries: SpilledInner, here: set[Any]) -> Iterator[tuple[Any, Any]]:
        """Keys and values of the rows below an outer key in the store. Keys in ``here``, in memory
        or known to be absent are left out.
        """
        log, unsaved = self._log(entries), self.unsaved.get(entries.outer, _NOTHING)
        prefix = self._prefix(entries.outer)
        for key, row in self.rows.scan(prefix, _after(prefix)):
            entry = entry_in(key[len(prefix) :], row)
            inner = entry[0]
            if inner not in here and inner not in log and inner not in unsaved:
                yield entry

    def has_stored(self, entries: SpilledInner) -> bool:
        """Whether the store has a current row below an outer key. Called for outer keys that have
        no entries in memory.

        Removal entry by entry calls this after each entry, so the scan must not begin at the
        removed rows again.
        """
        log, unsaved = self._log(entries), self.unsaved.get(entries.outer, _NOTHING)
        prefix = self._prefix(entries.outer)
        start = self._first_rows.get(entries.outer, prefix)
        for key, row in self.rows.scan(start, _after(prefix)):
            self._first_rows[entries.outer] = key
            inner = entry_in(key[len(prefix) :], row)[0]
            if inner not in log and inner not in unsaved:
                return True
        return False

    def stored_outers(self, here: set[Any]) -> Iterator[tuple[Any, Any]]:
        """Outer keys in the store. Keys in ``here``, in memory or known to be absent are left
        out."""
        rows = self._outers
        for key, row in rows.scan(rows.prefix, rows.end):
            outer = entry_in(key[len(rows.prefix) :], row)[0]
            if outer not in here and not self._is_known(outer):
                yield outer, SpilledInner(self, outer, False)

    # -- changing ----------------------------------------------------------------------

    def _made(self, outer: Any) -> dict[Any, Any]:
        return SpilledInner(self, outer, outer in self._cleared or outer in self.dropped)

    def put(self, outer: Any, inner: Any, value: Any) -> None:
        check_key(inner)  # here, for it must not come into a checkpoint that nobody can restore
        super().put(outer, inner, value)

    def drop(self, outer: Any) -> dict[Any, Any]:
        self.data.get(outer)
        return super().drop(outer)

    def _freeze_mutable(self, entries: dict[Any, Any], undo: dict[Any, Any]) -> None:
        """Note copies of mutable values that come from rows, because the code that receives the
        values may change them."""
        for inner, value in dict.items(entries):
            if inner not in undo and not is_immutable(value):
                undo[inner] = Frozen(dump_pickle(value))

    def seal(self) -> None:
        self._note_sealed()
        super().seal()

    def begin_next(self) -> None:
        self._before = _Before(
            self.estimate,
            {outer: self.unsaved.get(outer) for outer in self.dropped},
            [outer for outer in self.dropped if outer not in self._cleared],
        )
        self._note_sealed()
        super().begin_next()

    def roll_back_waiting(self) -> None:
        for outer, inners in self._before.unsaved.items():
            if inners is None:
                self.unsaved.pop(outer, None)
            else:
                self.unsaved[outer] = inners
        self._cleared.difference_update(self._before.cleared)
        self.estimate = self._before.estimate
        super().roll_back_waiting()

    def _note_sealed(self) -> None:
        """Mark the changes of the open epoch as unsaved, because the epoch ends."""
        for outer, (entries, _) in self.dropped.items():
            self._cleared.add(outer)
            self.unsaved.pop(outer, None)
            self.estimate = max(0, self.estimate - dict.__len__(entries))
        for outer, undo in self.undo.items():
            if not undo:
                continue
            self.unsaved.setdefault(outer, set()).update(undo)
            entries = dict.get(self.data, outer, {})
            self.estimate = max(0, self.estimate + growth(entries, undo))
            self._hold(len(undo))

    def clear(self) -> None:
        dict.clear(self.data)
        self.undo.clear()
        self.dropped.clear()
        self._waiting_undo, self._waiting_dropped = {}, {}
        self.unsaved.clear()
        self._cleared.clear()
        self._absent.clear()
        self._first_rows.clear()
        self.rows.clear()
        self._outers.clear()
        self.estimate = self._held = 0

    # -- the store ---------------------------------------------------------------------

    def cached(self) -> int:
        return self._held + dict.__len__(self.data)

    def _hold(self, entries: int) -> None:
        self._held += entries
        self.stirred += entries

    def _recount(self) -> None:
        here = sum(map(count_in_memory, dict.values(self.data)))
        self._held = max(here, self.unsaved_count())

    def sample(self) -> list[Any]:
        self._recount()
        panes = list(dict.values(self.data))
        sizes = list(map(dict.__len__, panes))
        if not any(sizes):
            return []
        chosen = Counter(choices(range(len(panes)), sizes, k=SAMPLE))
        return [e for number, count in chosen.items() for e in spread(panes[number], count)]

    def held_bytes(self) -> float:
        return self._held * self.entry_bytes + dict.__len__(self.data) * INNER_BYTES

    def unsaved_count(self) -> int:
        return sum(map(len, self.unsaved.values())) + len(self._cleared)

    def flush(self) -> Iterator[WriteBatch]:
        yield self._outer_changes()
        gathered = WriteBatch()
        for outer, inners in self.unsaved.items():
            rest = iter(inners)
            while part := list(islice(rest, ROWS_AT_ONCE)):
                self._flush_inner(outer, part, gathered)
                if len(gathered.puts) + len(gathered.deletes) > ROWS_AT_ONCE:
                    yield gathered
                    gathered = WriteBatch()
        yield gathered

    def _outer_changes(self) -> WriteBatch:
        changes = WriteBatch()
        for outer in self._cleared:
            prefix = self._prefix(outer)
            changes.ranges.append((prefix, _after(prefix)))
        present = list(filter(self._existed, self.unsaved))
        absent = {*self._cleared, *self.unsaved}.difference(present)
        outers = self._outers.prefix
        names = row_keys(present, outers)
        changes.puts = list(zip(names, rows_of(present, [True] * len(present)), strict=True))
        changes.deletes = row_keys(list(absent), outers)
        return changes

    def _flush_inner(self, outer: Any, inners: list[Any], changes: WriteBatch) -> None:
        entries, log = self._accepted(outer)
        prefix = self._prefix(outer)
        here, values, gone = accepted(inners, entries, log, lambda inner: thaw(log[inner]))
        keys = row_keys(here, prefix)
        changes.puts.extend(zip(keys, rows_of(here, values, (outer,)), strict=True))
        if gone and outer not in self._cleared:
            changes.deletes.extend(row_keys(gone, prefix))

    def _accepted(self, outer: Any) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Dict of an outer key that the accepted state has, and the undo log of the open epoch
        that leads back to this state."""
        dropped = self.dropped.get(outer)
        if dropped is not None:
            return dropped
        return dict.get(self.data, outer, {}), self.undo.get(outer, {})

    def _existed(self, outer: Any) -> bool:
        """Whether the accepted state has entries below an outer key."""
        entries, log = self._accepted(outer)
        if not log:
            return bool(entries)
        if any(old is not MISSING for old in log.values()):
            return True
        if any(inner not in log for inner in dict.keys(entries)):
            return True
        return isinstance(entries, SpilledInner) and not entries.void and self.has_stored(entries)

    def flushed(self) -> None:
        for outer in self._cleared:
            entries, _ = self._accepted(outer)
            if isinstance(entries, SpilledInner):
                entries.void = False
        if self.unsaved:
            self.rows.empty = self._outers.empty = False
        self.unsaved.clear()
        self._cleared.clear()
        self._absent.clear()
        self._first_rows.clear()

    def evict(self, entries: int) -> None:
        self._first_rows.clear()
        left = entries
        for outer in list(islice(dict.keys(self.data), entries)):
            if left <= 0:
                break
            if outer in self.undo:
                left -= self._evict_below(outer, left)
            else:
                left -= 1 + count_in_memory(dict.pop(self.data, outer))
        self._recount()

    def _evict_below(self, outer: Any, most: int) -> int:
        """Remove at most ``most`` entries below an outer key that the open epoch touched; returns
        their number."""
        entries, log = self._here(outer), self.undo[outer]
        if entries is None:
            return 0
        idle = list(islice(filterfalse(log.__contains__, dict.keys(entries)), most))
        for inner in idle:
            del entries[inner]
        entries.absent.clear()  # they have rows since the flush
        return len(idle)

    def recovered(self, estimate: int) -> None:
        super().recovered(estimate)
        self._outers.empty = False

    # -- going through all -------------------------------------------------------------

    def entry_count(self) -> int:
        if not any(map(bool, self.data.values())):
            return 0
        grown = (growth(dict.get(self.data, o, {}), undo) for o, undo in self.undo.items())
        return max(1, self.estimate + sum(grown))

    def scan(self, cursor: Any, budget: int) -> Scan:
        if cursor is None:
            outers = [*self.unsaved, *(o for o in self.undo if o not in self.unsaved)]
            cursor = _NestedCursor([(o, i) for o in outers for i in self._in_flight(o)], 0, b"")
        if cursor.position < len(cursor.unsaved):
            return self._scan_unsaved(cursor, budget)
        return self._scan_rows(cursor, budget)

    def _in_flight(self, outer: Any) -> set[Any]:
        return {*self.unsaved.get(outer, _NOTHING), *self.undo.get(outer, _NOTHING)}

    def _scan_unsaved(self, cursor: _NestedCursor, budget: int) -> Scan:
        end = cursor.position + budget
        places = cursor.unsaved[cursor.position : end]
        put: dict[Any, dict[Any, Any]] = {}
        for outer, inner in places:
            entries = self.data.get(outer)
            value = MISSING if entries is None else entries.get(inner, MISSING)
            if value is not MISSING:
                put.setdefault(outer, {})[inner] = value
        last = end >= len(cursor.unsaved) and self.rows.empty
        return Scan(_table_delta(put), len(places), None if last else cursor._replace(position=end))

    def _scan_rows(self, cursor: _NestedCursor, budget: int) -> Scan:
        rows = self.rows
        read = list(islice(rows.scan(cursor.row or rows.prefix, rows.end), budget))
        put: dict[Any, dict[Any, Any]] = {}
        start = len(rows.prefix) + _LENGTH.size
        prefix, outer, entries = b"\xff", None, None
        for key, row in read:
            if not key.startswith(prefix):
                (length,) = _LENGTH.unpack_from(key, len(rows.prefix))
                prefix = key[: start + length]
                outer = self._outer_of(prefix[start:], row)
                # not `get`: whoever copies everything must not fill the memory
                entries = self._here(outer)
                gone = entries.void if entries is not None else self._is_known(outer)
            if gone:
                continue
            inner, value = entry_in(key[len(prefix) :], row)
            if entries is not None:
                value = self._present(entries, inner, value)
            if value is not MISSING:
                put.setdefault(outer, {})[inner] = value
        if len(read) < budget:
            return Scan(_table_delta(put), len(read), None)
        return Scan(_table_delta(put), len(read), cursor._replace(row=read[-1][0] + b"\x00"))

    def _present(self, entries: SpilledInner, inner: Any, stored: Any) -> Any:
        """Present value of an entry, given its row; or MISSING."""
        here = dict.get(entries, inner, MISSING)
        if here is not MISSING:
            return here
        known = inner in self._log(entries) or inner in self.unsaved.get(entries.outer, _NOTHING)
        return MISSING if known else stored

    def _here(self, outer: Any) -> SpilledInner | None:
        """Dict of an outer key; None if it is not in memory."""
        entries = dict.get(self.data, outer)
        assert entries is None or isinstance(entries, SpilledInner)
        return entries

    def _outer_of(self, key: bytes, row: bytes) -> Any:
        """Outer key of a row, given its encoding."""
        if is_below_reversible(row):
            return key_in(key)
        outer_row = self._outers.store.get(self._outers.prefix + key)
        assert outer_row is not None
        return entry_in(key, outer_row)[0]

    # -- replaying ---------------------------------------------------------------------

    def apply(self, table_delta: TableDelta, keep: KeyFilter | None = None) -> None:
        changes = WriteBatch()
        put, outers = self._kept(table_delta["put"], keep), self._outers.prefix
        dropped = table_delta["drop"] if not self.rows.empty else []
        for outer in dropped:
            prefix = self._prefix(outer)
            changes.ranges.append((prefix, _after(prefix)))
        changes.deletes.extend(row_keys(dropped, outers))
        names = row_keys(list(put), outers)
        changes.puts.extend(zip(names, rows_of(list(put), [True] * len(put)), strict=True))
        for outer, entries in put.items():
            prefix = self._prefix(outer)
            keys = row_keys(list(entries), prefix)
            values = rows_of(list(entries), list(entries.values()), (outer,))
            changes.puts.extend(zip(keys, values, strict=True))
            self.estimate += len(entries)
        for outer, inners in table_delta["del"].items():
            prefix = self._prefix(outer)
            changes.deletes.extend(row_keys(inners, prefix))
            self.estimate = max(0, self.estimate - len(inners))
        self.rows.write(changes)
        self._outers.empty = self.rows.empty
        self._forget([*dropped, *put, *table_delta["del"]])
        self._delete_empty(table_delta["del"])

    def _kept(
        self, put: dict[Any, dict[Any, Any]], keep: KeyFilter | None
    ) -> dict[Any, dict[Any, Any]]:
        if keep is None:
            return put
        key_of = self._key_of
        kept = {
            outer: {i: value for i, value in entries.items() if keep(key_of(outer, i))}
            for outer, entries in put.items()
        }
        return {outer: entries for outer, entries in kept.items() if entries}

    def _forget(self, outers: list[Any]) -> None:
        self._absent.clear()
        self._first_rows.clear()
        if dict.__len__(self.data):
            for outer in outers:
                dict.pop(self.data, outer, None)

    def _delete_empty(self, outers: Iterable[Any]) -> None:
        empty = [outer for outer in outers if not SpilledInner(self, outer, False)]
        prefix = self._outers.prefix
        self._outers.write(WriteBatch(deletes=row_keys(empty, prefix)))


def _after(prefix: bytes) -> bytes:
    """First key after all keys that begin with ``prefix`` (which is not all 0xff)."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes((trimmed[-1] + 1,))


def _table_delta(put: dict[Any, dict[Any, Any]]) -> TableDelta:
    return {"drop": [], "put": put, "del": {}}


INNER_BYTES = 700
"""Approximate bytes of memory that a dict with few entries takes, with its key."""


class SpilledInner(SpilledDict):
    """The entries below one outer key."""

    __slots__ = ("_table", "absent", "outer", "void")

    def __init__(self, table: SpilledNestedTable, outer: Any, void: bool) -> None:
        super().__init__()
        self._table = table
        self.outer = outer
        self.void = void
        """Whether the rows on disk do not count, because they belong to an earlier dict that was
        dropped."""
        self.absent: set[Any] = set()
        """Keys that are known to have no row on disk."""

    def load(self, key: Any) -> Any:
        return MISSING if self.void else self._table.fetch(self, key)

    def spilled_items(self) -> Iterator[tuple[Any, Any]]:
        return iter(()) if self.void else self._table.stored(self, set(dict.keys(self)))

    def __bool__(self) -> bool:
        return dict.__len__(self) > 0 or (not self.void and self._table.has_stored(self))


def count_in_memory(entries: Any) -> int:
    """Number of keys that a `SpilledInner` keeps in memory: keys with entries, and keys known to
    be absent."""
    return dict.__len__(entries) + len(entries.absent)
