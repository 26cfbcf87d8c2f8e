"""The keyed state backend: keeps the tables of one subtask (Flink docs, "State Backends")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.state.kinds.table_kind import TableKind
from millrace.state.table import StateTable, TableDelta
from millrace.state.table_id import TableId

Schemas = Callable[[], Mapping[TableId, Any] | None]
"""Schemas of the entries per table, as plain data; None if the entries in memory have no schema."""


@dataclass(frozen=True, slots=True)
class RecoveredState:
    """State that a dead process left on this host."""

    version: str
    kinds: Mapping[TableId, TableKind]
    """Kinds of all tables, by name."""
    schemas: Mapping[TableId, Any]
    in_memory: Mapping[TableId, tuple[TableKind, TableDelta]]
    """Kind and content of tables that are still to be filled."""


class KeyedStateBackend(ABC):
    """Keeps the tables of one subtask in one worker process.

    The backend is a cache: its content may be lost at any time, because the deltas have all state.
    """

    @abstractmethod
    def create_table(self, name: TableId, kind: TableKind) -> StateTable:
        """A new, empty table."""

    def sealed(self, version: str, schemas: Schemas | None = None) -> None:
        """Record that all tables are at ``version`` after an epoch was accepted, or after a replay.

        No epoch waits for its acceptance then, but one may be open, with changes that are not part
        of ``version``.
        """

    def replaying(self) -> None:
        """Note that deltas are about to change the tables. They have no version until `sealed`."""

    def recover(self, versions: Sequence[str]) -> RecoveredState | None:
        """Find state that another process left on this host, and take it over.

        Called before tables are created. ``versions`` are the versions that are acceptable, oldest
        first. Tables that are created later, with the names and kinds in the result, hold the state
        that was found.
        """
        return None

    def close(self) -> None:
        """Release memory and files; the tables are not used again."""


class HeapKeyedStateBackend(KeyedStateBackend):
    """Keeps tables as dicts in the memory of the process."""

    def create_table(self, name: TableId, kind: TableKind) -> StateTable:
        return kind.in_memory()
