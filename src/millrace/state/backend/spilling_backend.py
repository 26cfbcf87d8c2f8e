"""A backend whose tables are on the local disk, with their working set in memory."""

from __future__ import annotations

from collections.abc import Callable

from millrace.state.backend.key_value_store import Changes, KeyValueStore
from millrace.state.backend.keyed_state_backend import KeyedStateBackend
from millrace.state.backend.spilled_flat_table import SpilledFlatTable, SpilledListTable
from millrace.state.backend.spilled_nested_table import SpilledNestedTable
from millrace.state.backend.spilled_table import SpilledTable, TableRows
from millrace.state.internal_tables import EVENT_TIMERS, PROCESSING_TIMERS
from millrace.state.table import Table
from millrace.state.table_kinds import OPERATOR_TABLE, TABLE_KINDS, Layout

CACHE_BYTES = 256 << 20
KEPT = 0.75
"""How much of the memory stays in use when some is given up."""


class SpillingKeyedStateBackend(KeyedStateBackend):
    """Keeps tables in a store on the local disk.

    Timers and what belongs to operators rather than to keys (broadcast state, operator lists)
    stay in memory.

    Args:
        open_store: makes the store, when the first table needs one: empty, and used by nobody
            else.
        cache_bytes: about how much memory decoded entries may take between two epochs; an open
            epoch keeps all that it reads and changes.
        closed: called once a store that was opened is closed.
    """

    def __init__(
        self,
        open_store: Callable[[], KeyValueStore],
        cache_bytes: int = CACHE_BYTES,
        closed: Callable[[], None] | None = None,
    ) -> None:
        self._open_store = open_store
        self._store: KeyValueStore | None = None
        self._closed = closed
        self._cache_bytes = cache_bytes
        self._tables: list[SpilledTable] = []
        self._numbers = 0

    def create_table(self, name: str, kind: str) -> Table:
        layout, key_of = TABLE_KINDS[kind].layout, TABLE_KINDS[kind].key_of
        if layout is Layout.OPERATOR or stays_in_memory(name):
            return TABLE_KINDS[kind].in_memory()
        table: SpilledTable
        if layout is Layout.NESTED:
            table = SpilledNestedTable(self._rows(), self._rows(), key_of)
        elif layout is Layout.LIST:
            table = SpilledListTable(self._rows(), key_of)
        else:
            table = SpilledFlatTable(self._rows(), key_of)
        self._tables.append(table)
        return table

    def _rows(self) -> TableRows:
        self._numbers += 1
        if self._store is None:
            self._store = self._open_store()
        return TableRows(self._store, self._numbers)

    def replaying(self) -> None:
        self.flush()

    def sealed(self, version: str) -> None:
        held = sum(table.held_bytes() for table in self._tables)
        if held > self._cache_bytes:
            self.flush()
            for table in self._tables:
                table.evict(int(table.cached() * (1 - KEPT * self._cache_bytes / held)))

    def flush(self) -> None:
        """Write all that is unsaved."""
        changes = Changes()
        written: list[Callable[[], None]] = []
        for table in self._tables:
            if table.unsaved_count():
                written.append(table.flush(changes))
        if changes and self._store is not None:
            self._store.write(changes)
        for note in written:
            note()

    def close(self) -> None:
        self._tables.clear()
        if self._store is not None:
            self._store.close()
            self._store = None
            if self._closed is not None:
                self._closed()


def stays_in_memory(name: str) -> bool:
    """Whether a table is kept in memory whatever its kind."""
    return name == OPERATOR_TABLE or name.rpartition("/")[2] in (EVENT_TIMERS, PROCESSING_TIMERS)
