"""`TimeToLive`: finds the entries of a columnar table that have expired.

One of the table's numeric columns has the time of each entry's last write. The column is written
even if entries do not expire, so that a query can get a time to live later and keep its state.
Flink: ``StateTtlConfig`` of tables, ``OnCreateAndWrite`` and ``NeverReturnExpired``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from millrace.state.columns.columnar_table import ColumnarTable
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.positions import ValueColumn

__all__ = ["LAST_USED", "TimeToLive"]

LAST_USED = ValueColumn(np.dtype(np.int64), name="last_used")
_AT_LEAST = 10_000
_ROUNDS = 64
"""Number of epochs in which the whole table is searched. An epoch searches a 64th of the table,
so expired entries are gone after 64 epochs."""


class TimeToLive:
    """Finds the expired entries of a table.

    Args:
        table: the table.
        column: the number of its `LAST_USED` column.
        millis: milliseconds without a write until an entry expires; 0 if entries never expire.
    """

    def __init__(self, table: ColumnarTable, column: int, millis: int) -> None:
        self._table = table
        self._column = column
        self._millis = millis
        self._now = 0
        self._cursor = 0

    def __bool__(self) -> bool:
        """Whether entries expire at all."""
        return self._millis > 0

    def begin_epoch(self, now: int) -> None:
        """Set the current time to ``now``, in ms."""
        self._now = now

    def renew(self, positions: Positions) -> None:
        """Set the time of last use of the given entries to now. They must have been touched."""
        self._table.space.values[self._column][positions] = self._now

    def alive(self, positions: Positions) -> npt.NDArray[np.bool_]:
        """Mask of the entries that have not expired."""
        if not self._millis:
            return np.ones(positions.size, np.bool_)
        return self.alive_at(self._table.space.values[self._column].take(positions))

    def alive_at(self, last_used: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Mask of the entries that have not expired, given the time of last use of each."""
        return last_used > self._now - self._millis

    def swept(self) -> Positions:
        """The expired entries in the next part of the table. Over several epochs, the calls
        cover the whole table."""
        space = self._table.space
        if not self._millis or not space.end:
            return np.zeros(0, np.int64)
        start = self._cursor if self._cursor < space.end else 0
        end = min(start + max(_AT_LEAST, space.end // _ROUNDS), space.end)
        self._cursor = end
        old = space.live[start:end] & ~self.alive_at(space.values[self._column][start:end])
        return start + np.flatnonzero(old)
