"""`OrderedRows`: rows that wait until the watermark passes them, and are then processed in order.

Flink docs: "Process Table Functions", ORDER BY; Flink: ``InputSortBuffer``.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.resolved import SortKey
from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import OperatorContext
from millrace.state.columns.row_log import RowLog
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.ranking import Numbers, sorted_positions
from millrace.table_runtime.state_columns import logged_rows

__all__ = ["OrderedRows"]


class OrderedRows:
    """Waiting rows of one table. Rows whose time the watermark has passed are dropped and counted.

    Args:
        context: context of the operator, whose keyed state holds the rows.
        number: number of the input.
        row_type: columns of the rows.
        partition: positions of the key's columns.
        order: columns of the order. The first is the event time, ascending.
    """

    def __init__(
        self,
        context: OperatorContext,
        number: int,
        row_type: RowType,
        partition: tuple[int, ...],
        order: tuple[SortKey, ...],
    ) -> None:
        self._partition, self._order = partition, order
        self._schema = schema_of(row_type)
        self._dropped = RegisteredGroup(context.metrics).counter("numLateRecordsDropped")
        self._log: RowLog = context.state.table(TableId(context.uid, f"@rows-{number}"), ROW_LOG)
        self._log.bind(logged_rows(row_type, partition))
        self._arrived: list[pa.RecordBatch] = []
        """Rows of this epoch."""

    def restore(self) -> None:
        """Refresh after a restore has changed the state."""
        self._arrived.clear()
        rows = self._log.live_rows()
        self._due = int(self.times(self._log.take(rows)).min()) if rows.size else MAX_WATERMARK

    def add(self, data: pa.RecordBatch, watermark: int) -> None:
        """Add rows that arrive at the given watermark."""
        times = self.times(data)
        late = times <= watermark
        if watermark != MIN_WATERMARK and late.any():
            self._dropped.inc(int(np.count_nonzero(late)))
            data, times = data.filter(pa.array(~late)), times[~late]
        if data.num_rows:
            self._due = min(self._due, int(times.min()))
            self._arrived.append(data)

    def take(self, timestamp: int) -> pa.RecordBatch | None:
        """Remove the rows up to a time, and return them in order. None if there are none."""
        if timestamp < self._due:
            return None
        parts, rows = [], self._log.live_rows()
        if rows.size:
            rows = rows[np.argsort(self._log.sequence_at(rows))]
            kept = self._log.take(rows)
            due = self.times(kept) <= timestamp
            parts.append(kept.filter(pa.array(due)))
            self._due = int(self.times(kept)[~due].min(initial=MAX_WATERMARK))
            self._log.remove(rows[due])
        else:
            self._due = MAX_WATERMARK
        arrived, self._arrived = self._arrived, []
        for data in arrived:
            times = self.times(data)
            due = times <= timestamp
            parts.append(data.filter(pa.array(due)))
            if not due.all():
                self._arrived.append(data.filter(pa.array(~due)))
                self._due = min(self._due, int(times[~due].min()))
        return self._sorted(parts) if parts else None

    def end_epoch(self) -> None:
        """Store the waiting rows in the state."""
        arrived, self._arrived = self._arrived, []
        for data in arrived:
            keys = [data.column(index) for index in self._partition]
            slots = self._log.slots_of(keys, create=True, count=data.num_rows)
            self._log.append(slots, data)

    def _sorted(self, parts: list[pa.RecordBatch]) -> pa.RecordBatch:
        columns = [
            pa.concat_arrays([part.column(index) for part in parts])
            for index in range(len(self._schema))
        ]
        data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        numbers = np.arange(data.num_rows)
        order = sorted_positions(data, self._order, np.zeros_like(numbers), numbers)
        return data.take(pa.array(order))

    def times(self, data: pa.RecordBatch) -> Numbers:
        """Event times of rows, in ms."""
        column = data.column(self._order[0].index)
        times = column.cast(pa.timestamp("ms", column.type.tz), safe=False).view(pa.int64())
        milliseconds: Numbers = times.fill_null(MIN_WATERMARK).to_numpy(zero_copy_only=False)
        return milliseconds
