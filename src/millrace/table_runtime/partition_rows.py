"""`PartitionRows`: the rows in partitions of a changelog, both as of now and as of the last flush.

The former result of a partition is computed again from the rows that its log keeps for an abort, so
no result is stored beside the input.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.state.columns.hash_index import Positions, distinct
from millrace.state.columns.row_log import RowLog
from millrace.state.columns.time_to_live import TimeToLive
from millrace.table_runtime.group_accumulators import Signs
from millrace.table_runtime.ranking import equal_pairs, without_row

__all__ = ["PartitionRows"]


class PartitionRows:
    """Adds and removes rows, and tracks which partitions were touched since the last flush.

    Args:
        log: log of the rows, by partition.
        partition: positions of the key's columns.
        last_used: column of the log for the time to live.
        state_ttl: ms without a write after which a row is forgotten. 0 for never.
    """

    def __init__(
        self, log: RowLog, partition: tuple[int, ...], last_used: int, state_ttl: int
    ) -> None:
        self._log, self._partition = log, partition
        self._life = TimeToLive(log, last_used, state_ttl)
        self._touched: list[Positions] = []

    def begin_epoch(self, now: int) -> None:
        """Begin an epoch, with no touched partitions."""
        self._touched = []
        self._life.begin_epoch(now)

    def flushed(self) -> None:
        """Record that the changes up to now were emitted."""
        self._touched = []
        self._log.mark()

    def end_epoch(self) -> None:
        """Remove expired rows."""
        self._log.remove(self._life.swept())

    def change(self, data: pa.RecordBatch, signs: Signs) -> None:
        """Add rows, or remove them if their sign is negative."""
        if signs is None:
            self._append(data)
            return
        if self._life and (signs < 0).any():
            lasting = ~self._expired(data, signs)
            data, signs = data.filter(pa.array(lasting)), signs[lasting]
        # of equal rows it does not matter which one goes, so all can come before any goes
        self._append(data.filter(pa.array(signs > 0)))
        self._retract(data.filter(pa.array(signs < 0)))

    def _expired(self, data: pa.RecordBatch, signs: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
        """Flags of the retractions of rows that have expired."""
        slots = self._log.slots_of(self._keys(data), create=False, count=data.num_rows)
        rows, _ = self.rows_of(distinct(slots[slots >= 0]))
        return without_row(self._log.take(rows).columns, data.columns, signs)

    def _append(self, data: pa.RecordBatch) -> None:
        slots = self._log.slots_of(self._keys(data), create=True, count=data.num_rows)
        self._life.renew(self._log.append(slots, data))
        self._touched.append(slots)

    def _retract(self, data: pa.RecordBatch) -> None:
        slots = self._log.slots_of(self._keys(data), create=False, count=data.num_rows)
        known = distinct(slots[slots >= 0])
        rows, owners = self.rows_of(known)
        held = self._log.take(rows)
        retracted = equal_pairs(held.columns, known.take(owners), data.columns, slots)
        self._log.remove(rows.take(retracted))
        self._touched.append(known)

    def _keys(self, data: pa.RecordBatch) -> list[pa.Array]:
        return [data.column(index) for index in self._partition]

    def touched(self) -> Positions:
        """Partitions that have changed in this epoch since the last flush."""
        if not self._touched:
            return np.empty(0, np.int64)
        return distinct(np.concatenate(self._touched))

    def renew(self, rows: Positions) -> None:
        """Set the last write time of rows to now."""
        if self._life:
            self._log.touch(rows)
            self._life.renew(rows)

    def rows_of(self, slots: Positions) -> tuple[Positions, Positions]:
        """Unexpired rows of partitions, and for each row the position of its partition."""
        return self._alive(*self._log.rows_of(slots))

    def former_rows_of(self, slots: Positions) -> tuple[Positions, Positions]:
        """Rows as `rows_of` returns them, as of the last flush of this epoch. Without a flush, as
        of the beginning of the epoch.
        """
        return self._alive(*self._log.former_rows_of(slots))

    def _alive(self, rows: Positions, owners: Positions) -> tuple[Positions, Positions]:
        if not self._life:
            return rows, owners
        alive = self._life.alive(rows)
        return rows[alive], owners[alive]
