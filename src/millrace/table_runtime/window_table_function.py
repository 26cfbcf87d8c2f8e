"""`WindowTableFunctionOperator`: emits each row once per window. The operator has no state.

Flink: ``AlignedWindowTableFunctionOperator``.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.join_pairs import milliseconds_of, without_null
from millrace.table_runtime.window_slices import WindowSlices
from millrace.table_runtime.window_time import WindowTime

__all__ = ["WindowTableFunctionOperator"]


class WindowTableFunctionOperator(Operator):
    """Adds window_start, window_end and window_time. Rows whose time is NULL are dropped and
    counted, since they belong to no window.

    Args:
        window: TUMBLE, HOP or CUMULATE.
        time: position of the time.
        output_type: the input's columns and the three of the window.
        clock: clock of the windows.
    """

    takes = BatchForm.COLUMNS

    def __init__(
        self, window: WindowSlices, time: int, output_type: RowType, clock: WindowTime
    ) -> None:
        self._window, self._time, self._output_type = window, time, output_type
        self._clock = clock

    def open(self) -> None:
        metrics = RegisteredGroup(self.context.metrics)
        self._dropped = metrics.counter("numNullRowTimeRecordsDropped")
        self._schema = schema_of(self._output_type)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        column, window = batch.data.column(self._time), self._window
        timed = without_null([column], len(batch))
        self._dropped.inc(int(np.count_nonzero(~timed)))
        slices = window.slice_ends(self._clock.wall(milliseconds_of(column)))
        first = window.first_ends(slices)
        ends = first[:, np.newaxis] + window.slide * np.arange(window.most)
        within = (ends <= window.last_ends(slices)[:, np.newaxis]) & timed[:, np.newaxis]
        rows, _ = np.nonzero(within)
        ends = ends[within]
        if not rows.size:
            return
        where = pa.array(rows)
        columns = [data_column.take(where) for data_column in batch.data.columns]
        for times in (window.starts(ends), ends, self._clock.instants(ends - 1)):
            kind = self._schema.field(len(columns)).type
            columns.append(pa.array(times).cast(pa.timestamp("ms")).cast(kind))
        kinds = None if batch.row_kinds is None else batch.row_kinds.take(where)
        data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self.output.emit(ColumnBatch(data, None, kinds, "row"))
