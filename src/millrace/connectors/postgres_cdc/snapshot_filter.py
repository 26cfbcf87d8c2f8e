"""Filter of changes that are already in the results of the queries on the tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from millrace.connectors.postgres_cdc.chunk_reader import key_buckets
from millrace.connectors.postgres_cdc.log_cursor import LogChange
from millrace.connectors.postgres_cdc.splits import Page

__all__ = ["DatabaseSnapshot", "SnapshotFilter"]


class SnapshotFilter:
    """Compares each change with the page that holds the changed row.

    A page saw a transaction whole or not at all, and PostgreSQL says which ones it saw: there are
    no changes that may or may not be in it.

    Args:
        pages: pages of each table, by its full name, in the order of their keys.
    """

    def __init__(self, pages: Mapping[str, Sequence[Page]]) -> None:
        self._pages = pages
        self._snapshots = {
            name: list({DatabaseSnapshot.parse(page.snapshot) for page in own})
            for name, own in pages.items()
        }

    def unseen(self, connection: Any, changes: Sequence[LogChange]) -> list[LogChange]:
        """The changes that no page contains yet."""
        verdicts = self._by_transaction(changes)
        open_by_table: dict[str, list[int]] = defaultdict(list)
        for index, verdict in enumerate(verdicts):
            if verdict is None and changes[index].op != "t":
                open_by_table[changes[index].table.table.full_name].append(index)
        for name, indexes in open_by_table.items():
            self._decide(connection, name, changes, indexes, verdicts)
        return [change for change, seen in zip(changes, verdicts, strict=True) if not seen]

    def _by_transaction(self, changes: Sequence[LogChange]) -> list[bool | None]:
        """Whether pages contain each change; None if only some snapshots include its
        transaction."""
        known: dict[tuple[str, int], bool | None] = {}
        verdicts = []
        for change in changes:
            place = change.table.table.full_name, change.transaction.xid
            if place not in known:
                known[place] = self._seen_by_all(*place)
            verdicts.append(known[place])
        return verdicts

    def _seen_by_all(self, name: str, xid: int) -> bool | None:
        seen = {snapshot.sees(xid) for snapshot in self._snapshots.get(name, ())}
        return seen.pop() if len(seen) == 1 else None if seen else False

    def _decide(
        self,
        connection: Any,
        name: str,
        changes: Sequence[LogChange],
        indexes: Sequence[int],
        verdicts: list[bool | None],
    ) -> None:
        """Decide by the pages of the rows, which the database must find, because it defines the
        order of keys."""
        pages = self._pages[name]
        bounds = [page.start for page in pages if page.start is not None]
        keys = [changes[index].key for index in indexes]
        table = changes[indexes[0]].table.table
        buckets = key_buckets(connection, table, bounds, keys)
        for index, bucket in zip(indexes, buckets, strict=True):
            snapshot = DatabaseSnapshot.parse(pages[bucket].snapshot)
            verdicts[index] = snapshot.sees(changes[index].transaction.xid)


_CYCLE = 1 << 32
"""The log has the lower 32 bits of a transaction's id."""


@dataclass(frozen=True)
class DatabaseSnapshot:
    """Snapshot of a query (``pg_current_snapshot()``).

    Attributes:
        xmin: transactions below this id had ended.
        xmax: this one and those above had not begun.
        running: ids between the two that had not ended.

    Example:
        >>> seen = DatabaseSnapshot.parse("10:20:10,14,15")
        >>> [seen.sees(xid) for xid in (9, 10, 11, 14, 19, 20)]
        [True, False, True, False, True, False]
    """

    xmin: int
    xmax: int
    running: frozenset[int]

    @staticmethod
    @lru_cache(maxsize=65_536)
    def parse(text: str) -> DatabaseSnapshot:
        """Snapshot from PostgreSQL's text form."""
        xmin, xmax, running = text.split(":")
        return DatabaseSnapshot(
            int(xmin),
            int(xmax),
            frozenset(map(int, running.split(","))) if running else frozenset(),
        )

    def sees(self, xid: int) -> bool:
        """Whether the query saw the effects of a transaction. The transaction must be known to
        commit at some time.

        Args:
            xid: its id, of which the lower 32 bits count: it is the one nearest to the snapshot.
        """
        distance = (xid - self.xmax) % _CYCLE
        if distance < _CYCLE // 2:
            return False
        full = self.xmax + distance - _CYCLE
        return full < self.xmin or full not in self.running
