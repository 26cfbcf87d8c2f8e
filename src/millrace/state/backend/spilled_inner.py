"""The inner dict below one outer key of a nested table on the local disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from millrace.state.backend.spilled_dict import SpilledDict
from millrace.state.frozen import MISSING

INNER_BYTES = 700
"""About how much memory a dict takes that has hardly any entries, with its key."""


class StoredInners(Protocol):
    """What the table on disk has below its outer keys."""

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
        """Whether the rows are of a former dict, which was dropped."""
        self.absent: set[Any] = set()
        """Keys of which the store has nothing."""

    def load(self, key: Any) -> Any:
        return MISSING if self.void else self._table.fetch(self, key)

    def elsewhere(self) -> Iterator[tuple[Any, Any]]:
        return iter(()) if self.void else self._table.stored(self, set(dict.keys(self)))

    def __bool__(self) -> bool:
        return dict.__len__(self) > 0 or (not self.void and self._table.has_stored(self))


def held_by(entries: Any) -> int:
    """How many entries of a `SpilledInner`, and keys known to be absent, are in memory."""
    return dict.__len__(entries) + len(entries.absent)
