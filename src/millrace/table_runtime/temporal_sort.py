"""`TemporalSortOperator`: emits rows in the order of their times, as the watermark passes them.

Flink: ``RowTimeSortOperator``, ``ProcTimeSortOperator``.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.resolved import SortKey
from millrace.runtime.buffer import MIN_WATERMARK
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.expiry_queue import ExpiryQueue
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.row_log import RowLog
from millrace.state.internal_tables import PASSED
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.ranking import Numbers, sorted_positions
from millrace.table_runtime.state_columns import logged_rows

__all__ = ["TemporalSortOperator"]

_WATERMARK = OperatorStateDeclaration(PASSED, RedistributionMode.MERGE, max)


class TemporalSortOperator(Operator):
    """Keeps rows until the watermark passes them. Rows that arrive after that are dropped and
    counted.

    Args:
        input_type: columns of the rows, which are insert-only.
        keys: the columns to order by.
        rowtime: position of the event time, the first key. None if the order is that of processing
            time, which is the same for all rows of one epoch.
    """

    takes = BatchForm.COLUMNS
    operator_states = (_WATERMARK,)

    def __init__(self, input_type: RowType, keys: tuple[SortKey, ...], rowtime: int | None) -> None:
        self._input_type, self._keys, self._rowtime = input_type, keys, rowtime

    def open(self) -> None:
        context = self.context
        self._dropped = RegisteredGroup(context.metrics).counter("numLateRecordsDropped")
        self._passed = DeclaredValue(self, _WATERMARK)
        self._log: RowLog = context.state.table(TableId(context.uid, "@rows"), ROW_LOG)
        self._log.bind(logged_rows(self._input_type, ()))
        self._schema = schema_of(self._input_type)

    def restore(self) -> None:
        self.watermark = self._passed.get(MIN_WATERMARK)
        self._waiting = ExpiryQueue()
        rows = self._log.live_rows()
        if self._rowtime is not None and rows.size:
            self._waiting.add(rows, self._times(self._log.take(rows)))

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data = batch.data
        if self._rowtime is not None:
            times = self._times(data)
            late = times <= self.watermark
            if late.any():
                self._dropped.inc(int(np.count_nonzero(late)))
                data, times = data.filter(pa.array(~late)), times[~late]
        if data.num_rows:
            slots = self._log.slots_of([], create=True, count=data.num_rows)
            rows = self._log.append(slots, data)
            if self._rowtime is not None:
                self._waiting.add(rows, times)

    def process_watermark(self, timestamp: int) -> None:
        if self._rowtime is not None:
            self._emit(self._waiting.due(timestamp))
        super().process_watermark(timestamp)

    def flush(self) -> None:
        if self._rowtime is None:
            self._emit(self._log.live_rows())

    def end_epoch(self, ended: bool) -> None:
        self.flush()
        if self._rowtime is not None and self.watermark != MIN_WATERMARK:
            self._passed.put(self.watermark)

    def _times(self, data: pa.RecordBatch) -> Numbers:
        assert self._rowtime is not None
        column = data.column(self._rowtime)
        times = column.cast(pa.timestamp("ms", column.type.tz), safe=False).view(pa.int64())
        # a row without time is before all others, as null is in an order
        milliseconds: Numbers = times.fill_null(MIN_WATERMARK).to_numpy(zero_copy_only=False)
        return milliseconds

    def _emit(self, rows: Positions) -> None:
        if not rows.size:
            return
        data, sequence = self._log.take(rows), self._log.sequence_at(rows)
        order = sorted_positions(data, self._keys, np.zeros_like(rows), sequence)
        columns = data.take(pa.array(order)).columns
        sorted_ = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self.output.emit(ColumnBatch(sorted_, None, None, "row"))
        self._log.remove(rows)
