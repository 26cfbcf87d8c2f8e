"""Base of tables whose entries are on the local disk.

Memory holds the working set: decoded entries that were read or changed. A change is *unsaved* from
the end of its epoch until it is flushed, which happens when memory is needed. The changes of an
open epoch, and of an epoch that waits for its acceptance, are never written to the store, so the
cost of a roll-back depends only on these changes. For an entry that is not in memory:

- if it was touched in the open epoch, or is unsaved, it does not exist, whatever the store says;
- else the store has its value, if it exists.

A flush may happen while an epoch is open, when the epoch before it has just been accepted. It then
writes the accepted values, which the undo log has of the entries that the open epoch touched.
"""

from __future__ import annotations

import struct
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from itertools import filterfalse, islice
from random import randrange
from typing import Any

from millrace.state.backend.key_value_store import KeyValueStore, StoredRow, WriteBatch
from millrace.state.backend.spilled_dict import in_memory
from millrace.state.frozen import MISSING
from millrace.state.table import StateTable

ROWS_AT_ONCE = 1 << 14
"""Number of rows that are encoded at a time."""

SAMPLE = 64
RENEWED = 8
"""The entries are measured again if 1/8 of those in memory are new or were touched."""

_NUMBER = struct.Struct(">H")


class TableRows:
    """Rows of one table in the store."""

    def __init__(
        self, store: KeyValueStore, number: int, before_writing: Callable[[], None] | None = None
    ) -> None:
        self.store = store
        self._before_writing = before_writing
        self.prefix = _NUMBER.pack(number)
        self.end = _NUMBER.pack(number + 1)
        self.empty = True
        """Whether the store has never received a row of this table."""

    def write(self, changes: WriteBatch) -> None:
        """Write the changes of this table to the store."""
        if changes:
            self._announce()
            self.empty = self.empty and not changes.puts
            self.store.write(changes)

    def get(self, key: bytes) -> bytes | None:
        """Row of a key of this table; None if there is none."""
        return None if self.empty else self.store.get(key)

    def scan(self, start: bytes, end: bytes) -> Iterator[StoredRow]:
        """Rows of a range of keys."""
        return iter(()) if self.empty else self.store.scan(start, end)

    def _announce(self) -> None:
        if self._before_writing is not None:
            self._before_writing()

    def clear(self) -> None:
        """Delete all rows."""
        if not self.empty:
            self._announce()
            self.store.write(WriteBatch(ranges=[(self.prefix, self.end)]))
            self.empty = True


class SpilledTable(StateTable):
    """Table that can write its unsaved entries to the store and evict entries from memory."""

    spills = True
    rows: TableRows
    estimate: int = 0
    """Approximate number of entries."""
    entry_bytes: float = 300.0
    """Approximate bytes of memory that an entry takes."""
    stirred: int = 0
    """Number of entries added or touched since the last measurement."""

    @abstractmethod
    def cached(self) -> int:
        """Number of entries in memory."""

    @abstractmethod
    def unsaved_count(self) -> int:
        """Number of entries to be written."""

    @abstractmethod
    def flush(self) -> Iterator[WriteBatch]:
        """Yield the unsaved changes, to be written in one step, while no epoch waits."""

    @abstractmethod
    def flushed(self) -> None:
        """Record that the changes of `flush` have been written."""

    @abstractmethod
    def evict(self, entries: int) -> None:
        """Remove about ``entries`` entries from memory, the oldest first. There must be no
        unsaved entries. Entries that the open epoch touched stay."""

    def recovered(self, estimate: int) -> None:
        """Take over the rows that another process left for this table."""
        self.rows.empty = False
        self.estimate = estimate

    @abstractmethod
    def sample(self) -> list[Any]:
        """Sample of the entries in memory, spread over all of them."""

    def measure(self) -> None:
        """Estimate the memory that an entry takes."""
        if not self.stirred or RENEWED * self.stirred < self.cached():
            return
        self.stirred = 0
        sample = self.sample()
        if sample:
            mean = mean_size(sample)
            # a sample may miss the big ones: the memory has a bound, so be slow to think less
            self.entry_bytes = max(mean, (mean + self.entry_bytes) / 2)

    def held_bytes(self) -> float:
        """Approximate bytes of memory that the table takes."""
        return max(self.cached(), self.unsaved_count()) * self.entry_bytes


def spread(entries: dict[Any, Any], most: int) -> list[Any]:
    """Sample of at most ``most`` entries in memory, taken at equal distances."""
    step = -(-dict.__len__(entries) // most)
    return list(islice(dict.items(entries), randrange(step), None, step)) if step else []


def growth(entries: dict[Any, Any], undo: dict[Any, Any]) -> int:
    """Number of entries added since the beginning of the open epoch."""
    came = sum(1 for old in undo.values() if old is MISSING)
    return came - sum(1 for _ in filterfalse(in_memory(entries), undo))


def accepted(
    keys: Sequence[Any],
    entries: dict[Any, Any],
    undo: Mapping[Any, Any],
    former: Callable[[Any], Any],
) -> tuple[list[Any], list[Any], list[Any]]:
    """Accepted state of the unsaved entries: the keys that exist, their values, and the keys that
    do not exist. ``former`` has the values before the open epoch of the keys in ``undo``.
    """
    is_here = in_memory(entries)
    idle = list(filterfalse(undo.__contains__, keys)) if undo else keys
    here = list(filter(is_here, idle))
    values = [entries[key] for key in here]
    gone = list(filterfalse(is_here, idle)) if len(here) < len(idle) else []
    if len(idle) < len(keys):
        for key in filter(undo.__contains__, keys):
            value = former(key)
            if value is MISSING:
                gone.append(key)
            else:
                here.append(key)
                values.append(value)
    return here, values, gone


SLOT = 104
"""Bytes for an entry of a dict, with its share of free places."""
_DEPTH = 8
_WIDTH = 32
"""Number of elements of a container that are measured as a sample of all."""


def mean_size(sample: list[Any]) -> float:
    """Bytes per entry of a dict, given (key, value) pairs."""
    return SLOT + sum(_size(part, _DEPTH) for pair in sample for part in pair) / len(sample)


def _size(value: Any, depth: int) -> float:
    size: float = sys.getsizeof(value)
    parts = _parts(value) if depth else []
    if parts:
        seen = parts[:: -(-len(parts) // _WIDTH)]
        size += sum(_size(part, depth - 1) for part in seen) * len(parts) / len(seen)
    return size


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, (tuple, list, set, frozenset)):
        return list(value)
    if isinstance(value, Enum):
        return []  # there is only one of it
    held = getattr(value, "__dict__", None)
    kind: Any = type(value)
    slots = [getattr(value, name, None) for name in _slots(kind)]
    return [held, *slots] if isinstance(held, dict) else slots


@lru_cache(maxsize=1024)
def _slots(kind: Any) -> tuple[str, ...]:
    slots = (vars(base).get("__slots__", ()) for base in kind.__mro__)
    return tuple(name for names in slots for name in ((names,) if type(names) is str else names))
