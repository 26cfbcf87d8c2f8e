"""Interface of an ordered store of bytes on the local disk, for backends that spill."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

StoredRow = tuple[bytes, bytes]
"""A key and the value that is stored under it."""


@dataclass(slots=True)
class WriteBatch:
    """Writes that form one atomic step: deletions of ranges, then deletions of keys, then new
    rows."""

    ranges: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Ranges of keys, each from the first key (inclusive) to the second (exclusive)."""
    deletes: list[bytes] = field(default_factory=list)
    puts: list[StoredRow] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.ranges or self.deletes or self.puts)


class KeyValueStore(ABC):
    """Keeps rows sorted by their keys (bytes compare as unsigned numbers).

    One thread of one process uses the store. After a crash it holds the results of the first n
    calls of `write`, for some n; the number of lost calls does not matter.

    Example:
        >>> class Sorted(KeyValueStore):
        ...     def __init__(self):
        ...         self.rows = {}
        ...     def get_many(self, keys):
        ...         return [self.rows.get(key) for key in keys]
        ...     def write(self, changes):
        ...         for start, end in changes.ranges:
        ...             changes.deletes.extend(key for key in self.rows if start <= key < end)
        ...         for key in changes.deletes:
        ...             self.rows.pop(key, None)
        ...         self.rows.update(changes.puts)
        ...     def scan(self, start, end):
        ...         return iter(sorted((k, v) for k, v in self.rows.items() if start <= k < end))
        >>> store = Sorted()
        >>> store.write(WriteBatch(puts=[(b"a", b"1"), (b"b", b"2")]))
        >>> list(store.scan(b"b", b"c")), store.get(b"a")
        ([(b'b', b'2')], b'1')
    """

    @abstractmethod
    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        """Values of ``keys``; None for each key without a row."""

    @abstractmethod
    def write(self, changes: WriteBatch) -> None:
        """Write all changes atomically: if the process dies during the write, no change is made."""

    @abstractmethod
    def scan(self, start: bytes, end: bytes) -> Iterator[StoredRow]:
        """Rows from ``start`` (inclusive) to ``end`` (exclusive) in key order, as of the
        beginning of the iteration."""

    def write_all(self, parts: Iterable[WriteBatch]) -> None:
        """Write changes that the caller produces one after the other during the write."""
        together = WriteBatch()
        for part in parts:
            together.ranges += part.ranges
            together.deletes += part.deletes
            together.puts += part.puts
        self.write(together)

    def begin_load(self) -> None:
        """Begin a bulk load, or continue the load that has begun. Until `end_load`, writes need
        not be atomic, and other processes cannot use the store. Reads see all writes
        nevertheless."""

    def end_load(self) -> None:
        """Finish the load, if one is open. Background work on the new rows may wait until
        `resume_compaction`.
        """

    def resume_compaction(self) -> None:
        """Allow background work again, because the first records after a load have been
        processed."""

    def get(self, key: bytes) -> bytes | None:
        """Value of ``key``; None if the store has no row for the key."""
        return self.get_many([key])[0]

    def row_count(self) -> int | None:
        """Approximate number of rows; None if it is not known."""
        return None

    def close(self) -> None:
        """Release the memory and handles of the store; its files stay."""
