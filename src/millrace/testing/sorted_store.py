"""A key-value store in memory, as an example of a third party's store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millrace.state.backend.key_value_store import KeyValueStore, StoredRow, WriteBatch


class SortedStore(KeyValueStore):
    """A dict that is sorted for iteration."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.reads = 0
        self.writes = 0

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.reads += 1
        return [self.rows.get(key) for key in keys]

    def write(self, changes: WriteBatch) -> None:
        self.writes += 1
        for start, end in changes.ranges:
            for key in [key for key in self.rows if start <= key < end]:
                del self.rows[key]
        for key in changes.deletes:
            self.rows.pop(key, None)
        self.rows.update(changes.puts)

    def scan(self, start: bytes, end: bytes) -> Iterator[StoredRow]:
        return iter([(k, self.rows[k]) for k in sorted(self.rows) if start <= k < end])
