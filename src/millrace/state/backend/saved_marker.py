"""What a store says of itself, for a process that goes on with it.

It is written in one step with the changes that make that version, so a store that has it holds
exactly that. What stays in memory is in it too, if it is little.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from millrace.common.payload import dump_pickle
from millrace.state.backend.key_value_store import KeyValueStore
from millrace.state.table import Delta, Table

MARKER = b"\x00\x00marker"
"""Below the keys of all tables."""
MOST_IN_MEMORY = 50_000
"""With more entries in memory a store says nothing."""


class SavedTable(NamedTuple):
    """Where the rows of a table are."""

    kind: str
    numbers: tuple[int, int]
    estimate: int


@dataclass(frozen=True, slots=True)
class SavedMarker:
    """The version of all that is in the store."""

    version: str
    tables: dict[str, SavedTable]
    in_memory: dict[str, tuple[str, Delta]]
    """Kind and content of tables that have no rows."""
    schemas: dict[str, Any]

    @staticmethod
    def of(
        version: str,
        tables: dict[str, SavedTable],
        in_memory: Mapping[str, tuple[str, Table]],
        schemas: dict[str, Any],
    ) -> SavedMarker | None:
        """The marker; None: too much is in memory."""
        if sum(table.entry_count() for _, table in in_memory.values()) > MOST_IN_MEMORY:
            return None
        contents = {
            name: (kind, table.scan(None, sys.maxsize).delta)
            for name, (kind, table) in in_memory.items()
        }
        return SavedMarker(version, tables, contents, schemas)

    def encode(self) -> bytes:
        """Its row."""
        return dump_pickle((self.version, self.tables, self.in_memory, self.schemas))

    @staticmethod
    def read(store: KeyValueStore) -> SavedMarker | None:
        """What a store says; None: it holds no one version."""
        row = store.get(MARKER)
        return None if row is None else SavedMarker(*pickle.loads(row))

    def kinds(self) -> dict[str, str]:
        """The kinds of all tables by name."""
        spilled = {name: table.kind for name, table in self.tables.items()}
        return spilled | {name: kind for name, (kind, _) in self.in_memory.items()}
