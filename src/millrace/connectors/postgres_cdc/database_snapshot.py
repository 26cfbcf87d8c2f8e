"""Database snapshots: the set of transactions that a query saw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

__all__ = ["DatabaseSnapshot"]

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
        """Whether the query saw the effects of a transaction, which is known to commit at some
        time.

        Args:
            xid: its id, of which the lower 32 bits count: it is the one nearest to the snapshot.
        """
        distance = (xid - self.xmax) % _CYCLE
        if distance < _CYCLE // 2:
            return False
        full = self.xmax + distance - _CYCLE
        return full < self.xmin or full not in self.running
