"""Tables on the local disk with one value, or one list, per key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import filterfalse, islice
from typing import Any, NamedTuple

from millrace.state.backend.key_value_store import StoredRow, WriteBatch
from millrace.state.backend.row_format import entry_in, row_key, row_keys, rows_of, value_in
from millrace.state.backend.spilled_dict import SpilledDict, in_memory
from millrace.state.backend.spilled_table import (
    ROWS_AT_ONCE,
    SAMPLE,
    SpilledTable,
    TableRows,
    accepted,
    growth,
    spread,
)
from millrace.state.budget import Budget
from millrace.state.flat_table import FlatTable
from millrace.state.frozen import MISSING
from millrace.state.list_table import ListTable
from millrace.state.table import KeyFilter, Scan, StateTable, TableDelta

KNOWN_ABSENT = 100_000
"""Maximum number of remembered keys that are missing in the store."""
KeyOf = Callable[[Any], Any]


class _Entries(SpilledDict):
    """Entries of a table by key."""

    __slots__ = ("_table",)

    def __init__(self, table: _SpilledEntries) -> None:
        super().__init__()
        self._table = table

    def load(self, key: Any) -> Any:
        return self._table.fetch(key)

    def spilled_items(self) -> Iterator[tuple[Any, Any]]:
        return self._table.stored(set(dict.keys(self)))


class _Cursor(NamedTuple):
    """Position of a scan, which first reads the unsaved entries and then the rows."""

    unsaved: list[Any]
    position: int
    row: bytes


class _SpilledEntries(SpilledTable):
    """Base of tables of values and of lists on disk."""

    data: dict[Any, Any]
    undo: dict[Any, Any]
    _waiting_undo: dict[Any, Any]
    _key_of: KeyOf
    _former: Callable[[Any], Any]

    def bind(self, rows: TableRows) -> None:
        """Keep the entries in ``rows``."""
        self.rows = rows
        self.data = _Entries(self)
        self.unsaved: set[Any] = set()
        self._absent: set[Any] = set()
        self._estimate_before = 0
        """The estimate without the waiting epoch."""

    # -- reading -----------------------------------------------------------------------

    def fetch(self, key: Any) -> Any:
        """Load the value of a key that is not in memory; MISSING if there is none."""
        if self.rows.empty or self._is_known(key):
            return MISSING
        row = self.rows.store.get(self.rows.prefix + row_key(key))
        if row is None:
            self._remember_absent((key,))
            return MISSING
        value = self.data[key] = value_in(row)
        self.stirred += 1
        return value

    def _is_known(self, key: Any) -> bool:
        """Whether memory, and not the store, has the current state of a key."""
        return key in self._absent or key in self.undo or key in self.unsaved

    def _remember_absent(self, keys: Iterable[Any]) -> None:
        if len(self._absent) > KNOWN_ABSENT:
            self._absent.clear()
        self._absent.update(keys)

    def prefetch(self, keys: Iterable[Any]) -> None:
        if self.rows.empty:
            return
        data = self.data
        missing = filterfalse(in_memory(data), set(keys))
        wanted = list(filterfalse(self._is_known, missing))
        if not wanted:
            return
        prefix = self.rows.prefix
        rows = self.rows.store.get_many(row_keys(wanted, prefix))
        absent = []
        for key, row in zip(wanted, rows, strict=True):
            if row is None:
                absent.append(key)
            else:
                data[key] = value_in(row)
        self.stirred += len(wanted)
        self._remember_absent(absent)

    def stored(self, here: set[Any]) -> Iterator[tuple[Any, Any]]:
        """Keys and values of the rows, without the keys in ``here`` and the keys that memory
        knows."""
        skipped, known = len(self.rows.prefix), self._is_known
        for key, row in self.rows.scan(self.rows.prefix, self.rows.end):
            entry = entry_in(key[skipped:], row)
            if entry[0] not in here and not known(entry[0]):
                yield entry

    # -- epochs ------------------------------------------------------------------------

    def _note_sealed(self) -> None:
        """Mark the changes of the open epoch as unsaved, because the epoch ends.

        If the epoch waits and is rolled back, they stay unsaved: then memory has their former
        values.
        """
        self._estimate_before = self.estimate
        self.estimate = max(0, self.estimate + growth(self.data, self.undo))
        self.unsaved.update(self.undo)
        self.stirred += len(self.undo)

    def clear(self) -> None:
        dict.clear(self.data)
        self.undo.clear()
        self._waiting_undo.clear()
        self.unsaved.clear()
        self._absent.clear()
        self.rows.clear()
        self.estimate = 0

    # -- the store ---------------------------------------------------------------------

    def cached(self) -> int:
        return dict.__len__(self.data)

    def sample(self) -> list[Any]:
        return spread(self.data, SAMPLE)

    def unsaved_count(self) -> int:
        return len(self.unsaved)

    def flush(self) -> Iterator[WriteBatch]:
        prefix = self.rows.prefix
        unsaved = iter(self.unsaved)
        while part := list(islice(unsaved, ROWS_AT_ONCE)):
            here, values, gone = accepted(part, self.data, self.undo, self._former)
            keys = row_keys(here, prefix)
            changes = WriteBatch(puts=list(zip(keys, rows_of(here, values), strict=True)))
            if gone:
                changes.deletes = row_keys(gone, prefix)
            yield changes

    def flushed(self) -> None:
        if self.unsaved:
            self.rows.empty = False
        self.unsaved.clear()
        self._absent.clear()

    def evict(self, entries: int) -> None:
        data, undo = self.data, self.undo
        idle = filterfalse(undo.__contains__, dict.keys(data)) if undo else dict.keys(data)
        for key in list(islice(idle, entries)):
            del data[key]

    # -- going through all -------------------------------------------------------------

    def entry_count(self) -> int:
        return max(1, self.estimate + growth(self.data, self.undo)) if self.data else 0

    def everything(self, budget: Budget) -> Iterator[Scan]:
        return StateTable.everything(self, budget)  # most entries are not in the dict

    def scan(self, cursor: Any, budget: int) -> Scan:
        if cursor is None:
            cursor = _Cursor([*self.unsaved, *(self.undo.keys() - self.unsaved)], 0, b"")
        if cursor.position < len(cursor.unsaved):
            return self._scan_unsaved(cursor, budget)
        return self._scan_rows(cursor, budget)

    def _scan_unsaved(self, cursor: _Cursor, budget: int) -> Scan:
        end = cursor.position + budget
        keys = cursor.unsaved[cursor.position : end]
        entries = ((key, self.data.get(key, MISSING)) for key in keys)
        put = {key: value for key, value in entries if value is not MISSING}
        last = end >= len(cursor.unsaved) and self.rows.empty
        return Scan(
            self._table_delta(put), len(keys), None if last else cursor._replace(position=end)
        )

    def _scan_rows(self, cursor: _Cursor, budget: int) -> Scan:
        rows = self.rows
        skipped, known = len(rows.prefix), self._is_known
        read: list[StoredRow] = list(islice(rows.scan(cursor.row or rows.prefix, rows.end), budget))
        put: dict[Any, Any] = {}
        data = self.data
        for row_key_, row in read:
            key, value = entry_in(row_key_[skipped:], row)
            here = dict.get(data, key, MISSING)
            if here is not MISSING:
                put[key] = here
            elif not known(key):
                put[key] = value
        if len(read) < budget:
            return Scan(self._table_delta(put), len(read), None)
        return Scan(self._table_delta(put), len(read), cursor._replace(row=read[-1][0] + b"\x00"))

    def _table_delta(self, put: dict[Any, Any]) -> TableDelta:
        raise NotImplementedError

    # -- replaying ---------------------------------------------------------------------

    def _kept(self, put: dict[Any, Any], keep: KeyFilter | None) -> dict[Any, Any]:
        if keep is None:
            return put
        return {key: value for key, value in put.items() if keep(self._key_of(key))}

    def _store(self, put: dict[Any, Any], removed: list[Any]) -> None:
        """Write entries directly to the store, when there are no unsaved entries."""
        rows, data = self.rows, self.data
        keys, values = list(put), list(put.values())
        changes = WriteBatch()
        prefix = rows.prefix
        encoded = row_keys(keys, prefix)
        changes.puts = list(zip(encoded, rows_of(keys, values), strict=True))
        if removed and not rows.empty:
            changes.deletes = row_keys(removed, prefix)
        rows.write(changes)
        self.estimate += len(put) - min(self.estimate, len(removed))
        self._absent.clear()
        if self.unsaved:
            self.unsaved.difference_update(keys, removed)
        if dict.__len__(data):
            for key in (*keys, *removed):
                dict.pop(data, key, None)


class SpilledFlatTable(_SpilledEntries, FlatTable):
    """One value per key."""

    def __init__(self, rows: TableRows, key_of: KeyOf) -> None:
        FlatTable.__init__(self, key_of)
        self.bind(rows)

    def seal(self) -> None:
        self._note_sealed()
        self.undo.clear()

    def begin_next(self) -> None:
        self._note_sealed()
        super().begin_next()

    def roll_back_waiting(self) -> None:
        super().roll_back_waiting()
        self.estimate = self._estimate_before

    def _table_delta(self, put: dict[Any, Any]) -> TableDelta:
        return {"put": put, "del": []}

    def apply(self, table_delta: TableDelta, keep: KeyFilter | None = None) -> None:
        self._store(self._kept(table_delta["put"], keep), table_delta["del"])


class SpilledListTable(_SpilledEntries, ListTable):
    """A list per key."""

    def __init__(self, rows: TableRows, key_of: KeyOf) -> None:
        ListTable.__init__(self, key_of)
        self.bind(rows)

    def seal(self) -> None:
        self._note_sealed()
        self.undo.clear()

    def begin_next(self) -> None:
        self._note_sealed()
        super().begin_next()

    def roll_back_waiting(self) -> None:
        super().roll_back_waiting()
        self.estimate = self._estimate_before

    def _table_delta(self, put: dict[Any, Any]) -> TableDelta:
        return {"put": put, "add": {}, "del": []}

    def apply(self, table_delta: TableDelta, keep: KeyFilter | None = None) -> None:
        put = dict(self._kept(table_delta["put"], keep))
        added = self._kept(table_delta["add"], keep)
        self.prefetch(key for key in added if key not in put)
        for key, values in added.items():
            before = put[key] if key in put else self.data.get(key, [])
            put[key] = [*before, *values]
        self._store(put, table_delta["del"])
