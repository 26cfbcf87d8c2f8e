"""The inner dict below one outer key of a nested table on the local disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from millrace.state.backend.spilled_dict import SpilledDict
from millrace.state.frozen import MISSING

INNER_BYTES = 700
"""About how much memory a dict takes that has hardly any entries, with its key."""


class StoredInners(Protocol):
    """The rows of a nested table on disk, read by outer key."""

    def fetch(self, entries: SpilledInner, inner: Any) -> Any: ...
    def stored(self, entries: SpilledInner, here: set[Any]) -> Iterator[tuple[Any, Any]]: ...
    def has_stored(self, entries: SpilledInner) -> bool: ...


class SpilledInner(SpilledDict):
    """The entries below one outer key."""

    __slots__ = ("_table", "absent", "outer", "void")

    def __init__(self, table: StoredInners, outer: Any, void: bool) -> None:
        super().__init__()
        self._table = table
        self.outer = outer
        self.void = void
        """Whether rows on disk are of an earlier dict that was dropped, and do not count."""
        self.absent: set[Any] = set()
        """Keys that are known to have no row on disk."""

    def load(self, key: Any) -> Any:
        return MISSING if self.void else self._table.fetch(self, key)

    def spilled_items(self) -> Iterator[tuple[Any, Any]]:
        return iter(()) if self.void else self._table.stored(self, set(dict.keys(self)))

    def __bool__(self) -> bool:
        return dict.__len__(self) > 0 or (not self.void and self._table.has_stored(self))


def count_in_memory(entries: Any) -> int:
    """The number of a `SpilledInner`'s entries in memory and of keys known to be absent."""
    return dict.__len__(entries) + len(entries.absent)
