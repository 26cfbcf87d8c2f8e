"""Backend whose tables are on the local disk, with their working set in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from millrace.state.backend.key_value_store import KeyValueStore, WriteBatch
from millrace.state.backend.keyed_state_backend import KeyedStateBackend, RecoveredState, Schemas
from millrace.state.backend.saved_marker import MARKER, SavedMarker, SavedTable
from millrace.state.backend.spilled_flat_table import SpilledFlatTable, SpilledListTable
from millrace.state.backend.spilled_nested_table import SpilledNestedTable
from millrace.state.backend.spilled_table import SpilledTable, TableRows
from millrace.state.kinds.layout import Layout
from millrace.state.kinds.table_kind import TableKind
from millrace.state.table import StateTable
from millrace.state.table_id import TableId

log = logging.getLogger(__name__)

CACHE_BYTES = 256 << 20
KEPT = 0.75
"""Share of the memory that stays in use after an eviction."""
UNSAVED = 0.25
"""Share of the memory that may be unsaved, with recovery, before it is written."""
SEALS = 16
"""Maximum number of epochs, with recovery, before unsaved entries are written."""


class StoreSource(Protocol):
    """Creates stores, takes over old ones and removes them."""

    def create(self) -> KeyValueStore:
        """A new, empty store that no other process uses."""

    def left(self) -> Iterator[KeyValueStore]:
        """Stores that dead processes left. A request for the next one closes and deletes the one
        before.
        """

    def marked(self) -> None:
        """Record that the store holds exactly one version of the state, and the marker of this
        version."""

    def remove(self) -> None:
        """Delete the files of the created or adopted store, which is closed."""


class SpillingKeyedStateBackend(KeyedStateBackend):
    """Keeps tables in a store on the local disk.

    Timers and what belongs to operators rather than to keys (broadcast state, operator lists)
    stay in memory.

    Args:
        stores: makes the store when the first table needs one.
        cache_bytes: about how much memory decoded entries may take between two epochs; an open
            epoch keeps all that it reads and changes.
        recoverable: whether another process may continue with the store after the death of this
            one.
    """

    def __init__(
        self, stores: StoreSource, cache_bytes: int = CACHE_BYTES, recoverable: bool = False
    ) -> None:
        self._stores = stores
        self._store: KeyValueStore | None = None
        self._cache_bytes = cache_bytes
        self._recoverable = recoverable
        self._tables: dict[TableId, SpilledTable] = {}
        self._in_memory: dict[TableId, tuple[TableKind, StateTable]] = {}
        self._saved: dict[TableId, SavedTable] = {}
        self._numbers = 0
        self._loading = False
        """Whether deltas are being replayed."""
        self._seals = 0
        self._marked = ""
        """Version in the store's marker; empty if the store has no marker."""

    # -- tables ------------------------------------------------------------------------

    def create_table(self, name: TableId, kind: TableKind) -> StateTable:
        if kind.stays_in_memory:
            table = kind.in_memory()
            self._in_memory[name] = (kind, table)
            return table
        saved = self._saved.get(name)
        if saved is not None and saved.kind is kind:
            made = self._spilled(kind, saved.numbers)
            made.recovered(saved.estimate)
        else:
            self._numbers += 2
            made = self._spilled(kind, (self._numbers - 1, self._numbers))
            self._saved[name] = SavedTable(kind, (self._numbers - 1, self._numbers), 0)
        self._tables[name] = made
        return made

    def _spilled(self, kind: TableKind, numbers: tuple[int, int]) -> SpilledTable:
        layout, key_of = kind.layout, kind.key_of
        if layout is Layout.NESTED:
            return SpilledNestedTable(self._rows(numbers[0]), self._rows(numbers[1]), key_of)
        if layout is Layout.LIST:
            return SpilledListTable(self._rows(numbers[0]), key_of)
        return SpilledFlatTable(self._rows(numbers[0]), key_of)

    def _rows(self, number: int) -> TableRows:
        if self._store is None:
            self._store = self._stores.create()
            if self._loading:
                self._store.begin_load()
        return TableRows(self._store, number, self._unmark)

    # -- epochs ------------------------------------------------------------------------

    def replaying(self) -> None:
        self.flush()
        self._loading = True
        if self._store is not None:
            self._store.begin_load()
        self._seals = SEALS  # what comes of it is worth saying at once

    def sealed(self, version: str, schemas: Schemas | None = None) -> None:
        loading, self._loading = self._loading, False
        if self._store is not None:
            if loading:
                self._store.end_load()
            else:
                self._store.resume_compaction()
        tables = self._tables.values()
        for table in tables:
            table.measure()
        held = sum(table.held_bytes() for table in tables)
        self._seals += 1
        if held > self._cache_bytes or self._is_due(version):
            self.flush(version, schemas)
        if held > self._cache_bytes:
            for table in tables:
                table.evict(int(table.cached() * (1 - KEPT * self._cache_bytes / held)))

    def _is_due(self, version: str) -> bool:
        if not self._recoverable or not self._tables or self._marked == version:
            return False
        unsaved = sum(t.unsaved_count() * t.entry_bytes for t in self._tables.values())
        return self._seals >= SEALS or unsaved > UNSAVED * self._cache_bytes

    def flush(self, version: str = "", schemas: Schemas | None = None) -> None:
        """Write all unsaved entries. If the backend supports recovery, also write a marker with
        the version that the store then holds."""
        store = self._store
        if store is None:
            return
        tables = [table for table in self._tables.values() if table.unsaved_count()]
        marker = self._marker(version, schemas) if self._recoverable else None
        if tables or marker is not None:
            if marker is None:
                self._unmark()
            store.write_all(self._parts(tables, marker))
            self._marked = "" if marker is None else version
            if self._marked:
                self._stores.marked()
        for table in tables:
            table.flushed()
        self._seals = 0

    def _parts(
        self, tables: list[SpilledTable], marker: SavedMarker | None
    ) -> Iterator[WriteBatch]:
        for table in tables:
            yield from table.flush()
        if marker is not None:
            yield WriteBatch(puts=[(MARKER, marker.encode())])

    def _marker(self, version: str, schemas: Schemas | None) -> SavedMarker | None:
        described = schemas() if version and schemas is not None else None
        if described is None:
            return None
        for name, table in self._tables.items():
            self._saved[name] = self._saved[name]._replace(estimate=table.estimate)
        kept = {name: self._saved[name] for name in self._tables}
        return SavedMarker.of(version, kept, self._in_memory, dict(described))

    def _unmark(self) -> None:
        """Delete the marker before the store changes: its content has no single version any
        more."""
        if self._marked and self._store is not None:
            self._store.write(WriteBatch(deletes=[MARKER]))
            self._marked = ""

    # -- recovery ----------------------------------------------------------------------

    def recover(self, versions: Sequence[str]) -> RecoveredState | None:
        if not self._recoverable or self._store is not None:
            return None
        position = {version: number for number, version in enumerate(versions)}
        for store in self._stores.left():
            marker = _read(store)
            if marker is not None and marker.version in position:
                self._take(store, marker)
                return RecoveredState(
                    marker.version, marker.kinds(), marker.schemas, marker.in_memory
                )
        return None

    def _take(self, store: KeyValueStore, marker: SavedMarker) -> None:
        self._store, self._marked = store, marker.version
        self._saved = dict(marker.tables)
        self._numbers = max((max(table.numbers) for table in marker.tables.values()), default=0)

    def close(self) -> None:
        self._tables.clear()
        self._in_memory.clear()
        if self._store is not None:
            self._store.close()
            self._store = None
            self._stores.remove()


class NewStores:
    """Makes stores that leave no files."""

    def __init__(self, create: Callable[[], KeyValueStore]) -> None:
        self._create = create

    def create(self) -> KeyValueStore:
        """A new store."""
        return self._create()

    def left(self) -> Iterator[KeyValueStore]:
        """No stores: each process starts with a new one."""
        return iter(())

    def marked(self) -> None:
        """Do nothing: no other process takes over the store."""

    def remove(self) -> None:
        """Do nothing: the store leaves no files."""


def _read(store: KeyValueStore) -> SavedMarker | None:
    try:
        return SavedMarker.read(store)
    except Exception as error:  # whatever damage brings about: the truth is the checkpoint
        log.warning("state that an earlier process left on this host cannot be used: %s", error)
        return None
