"""Marker in a local store: version and types of the state, for a process that recovers it.

The marker is written in one step with the changes that lead to its version, so a store with a
marker holds exactly this version. The marker also contains tables in memory, if they are small.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from millrace import __version__
from millrace.state.backend.key_value_store import KeyValueStore
from millrace.state.kinds.table_kind import TableKind
from millrace.state.serialization.payload import decode, encode
from millrace.state.table import StateTable, TableDelta
from millrace.state.table_id import TableId
from millrace.state.table_kinds import kind_named

MARKER = b"\x00\x00marker"
"""Key of the marker, below the keys of all tables."""
ROWS = 3
"""Number of the row format, which every change of the format increases."""
PROGRAM = (ROWS, __version__, platform.python_version())
"""Identity of the program that can read the rows. For other programs, a conversion of the rows
is not worth its cost."""
MOST_IN_MEMORY = 50_000
"""Maximum number of entries in memory for which a marker is written."""


class SavedTable(NamedTuple):
    """Place of a table's rows in the local store."""

    kind: TableKind
    numbers: tuple[int, int]
    estimate: int


@dataclass(frozen=True, slots=True)
class SavedMarker:
    """Marker of a store that completely holds one version of the state."""

    version: str
    tables: dict[TableId, SavedTable]
    in_memory: dict[TableId, tuple[TableKind, TableDelta]]
    """Kind and content of tables that have no rows."""
    schemas: dict[TableId, Any]

    @staticmethod
    def of(
        version: str,
        tables: dict[TableId, SavedTable],
        in_memory: Mapping[TableId, tuple[TableKind, StateTable]],
        schemas: dict[TableId, Any],
    ) -> SavedMarker | None:
        """The marker for a version, without the changes of the open epoch. None if the marker would
        be too big, because it contains the tables that are only in memory."""
        if sum(table.entry_count() for _, table in in_memory.values()) > MOST_IN_MEMORY:
            return None
        contents = {
            name: (kind, table.former_entries()) for name, (kind, table) in in_memory.items()
        }
        return SavedMarker(version, tables, contents, schemas)

    def encode(self) -> bytes:
        """Encode the marker as a row of the store."""
        tables = {
            tuple(name): (table.kind.name, table.numbers, table.estimate)
            for name, table in self.tables.items()
        }
        in_memory = {
            tuple(name): (kind.name, table_delta)
            for name, (kind, table_delta) in self.in_memory.items()
        }
        schemas = {tuple(name): schema for name, schema in self.schemas.items()}
        content = (self.version, tables, in_memory, schemas)
        return encode((*PROGRAM, encode(content)))

    @staticmethod
    def read(store: KeyValueStore) -> SavedMarker | None:
        """The marker of a store; None if the store has no marker, or if another program wrote the
        marker.

        Raises:
            Exception: of any kind, if the marker is damaged.
        """
        row = store.get(MARKER)
        if row is None:
            return None
        *program, content = decode(row)
        return _decoded(content) if tuple(program) == PROGRAM else None

    def kinds(self) -> dict[TableId, TableKind]:
        """Kind of each table, by table name."""
        spilled = {name: table.kind for name, table in self.tables.items()}
        return spilled | {name: kind for name, (kind, _) in self.in_memory.items()}


def _decoded(content: bytes) -> SavedMarker:
    version, tables, in_memory, schemas = decode(content)
    return SavedMarker(
        version,
        {TableId(*name): SavedTable(kind_named(k), n, e) for name, (k, n, e) in tables.items()},
        {
            TableId(*name): (kind_named(kind), table_delta)
            for name, (kind, table_delta) in in_memory.items()
        },
        {TableId(*name): schema for name, schema in schemas.items()},
    )
