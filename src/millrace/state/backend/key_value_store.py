"""An ordered store of bytes on the local disk: what a backend that spills needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

StoredRow = tuple[bytes, bytes]
"""A key and what is stored under it."""


@dataclass(slots=True)
class Changes:
    """Writes that are one atomic step: first ranges are deleted, then keys, then rows are put."""

    ranges: list[tuple[bytes, bytes]] = field(default_factory=list)
    """From the first key (inclusive) to the second (exclusive)."""
    deletes: list[bytes] = field(default_factory=list)
    puts: list[StoredRow] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.ranges or self.deletes or self.puts)


class KeyValueStore(ABC):
    """Keeps rows in the order of their keys (bytes compare as unsigned numbers).

    One thread of one process uses it. After a crash it holds what the first so many calls of
    `write` made, for some number of them; how many are lost does not matter.

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
        >>> store.write(Changes(puts=[(b"a", b"1"), (b"b", b"2")]))
        >>> list(store.scan(b"b", b"c")), store.get(b"a")
        ([(b'b', b'2')], b'1')
    """

    @abstractmethod
    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        """Read the values of ``keys``; None: there is none."""

    @abstractmethod
    def write(self, changes: Changes) -> None:
        """Make all these changes, or (when the process dies meanwhile) none of them."""

    @abstractmethod
    def scan(self, start: bytes, end: bytes) -> Iterator[StoredRow]:
        """The rows from ``start`` (inclusive) to ``end`` (exclusive) in order, as they are when
        the iteration begins."""

    def write_all(self, parts: Iterable[Changes]) -> None:
        """The same for changes that are made one after the other while they are written."""
        together = Changes()
        for part in parts:
            together.ranges += part.ranges
            together.deletes += part.deletes
            together.puts += part.puts
        self.write(together)

    def begin_load(self) -> None:
        """Much is going to be written: until `end_load` it need not be written step by step, nor
        be of use to another process. Whatever is read meanwhile has it, nevertheless. A load that
        has begun goes on."""

    def end_load(self) -> None:
        """All is written, if a load has begun. Work on it in the background may wait until
        `resume_compaction`."""

    def resume_compaction(self) -> None:
        """The first records after a load have been processed, or more than that."""

    def get(self, key: bytes) -> bytes | None:
        """Read the value of ``key``; None: there is none."""
        return self.get_many([key])[0]

    def row_count(self) -> int | None:
        """About how many rows there are; None: it is not known."""
        return None

    def close(self) -> None:
        """Give back what the store holds of the machine; its files stay."""
