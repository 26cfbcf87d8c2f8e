"""What keeps the tables of one subtask (Flink docs, "State Backends")."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from millrace.state.table import Table
from millrace.state.table_kinds import TABLE_KINDS


class KeyedStateBackend(ABC):
    """Keeps the tables of one subtask in one worker process.

    It is a cache: the truth is the layers, so whatever it holds may be lost at any time.
    """

    @abstractmethod
    def create_table(self, name: str, kind: str) -> Table:
        """A new, empty table; ``kind`` is one of the `TABLE_KINDS`."""

    def sealed(self, version: str) -> None:
        """All tables have been sealed, or brought by replay, to ``version``; no epoch is open."""

    def replaying(self) -> None:
        """The tables are about to be changed by layers: until `sealed` they are of no version."""

    def recover(self, versions: Sequence[str]) -> str | None:
        """Find on this host what another process left, and take it over.

        All tables are empty. ``versions`` are those that will do, oldest first; gives the one that
        the tables are at now, or None when nothing was found.
        """
        return None

    def close(self) -> None:
        """Give back memory and files; the tables are not used again."""


class HeapKeyedStateBackend(KeyedStateBackend):
    """Tables that are dicts in the memory of the process."""

    def create_table(self, name: str, kind: str) -> Table:
        return TABLE_KINDS[kind].in_memory()
