"""`SessionWindowTableFunctionOperator`: emits rows with their session windows when the session has
ended.

Rows wait in the state until the watermark has passed the end of their session. Late rows that touch
no open session are dropped and counted. Flink: ``UnalignedWindowTableFunctionOperator``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.metrics import RegisteredGroup
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.row_log import RowLog
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.join_pairs import without_null
from millrace.table_runtime.sessions import SESSION_BOUNDS, Sessions
from millrace.table_runtime.state_columns import logged_rows
from millrace.table_runtime.window_time import EVENT_TIME, WindowTime
from millrace.table_runtime.window_times import window_property
from millrace.table_runtime.windowing_operator import WindowingOperator

__all__ = ["SessionWindowTableFunctionOperator", "SessionWindowSpec"]

_TIME = 0


@dataclass(frozen=True)
class SessionWindowSpec:
    """Settings of session windows, for `SessionWindowTableFunctionOperator`.

    Attributes:
        input_type: columns of the rows, which are inserts.
        partition: positions of the columns of PARTITION BY.
        gap: gap of the sessions, in ms.
        time: position of the time.
        output_type: the input's columns, window_start, window_end, window_time.
        clock: clock by which rows are assigned to sessions and sessions end.
    """

    input_type: RowType
    partition: tuple[int, ...]
    gap: int
    time: int
    output_type: RowType
    clock: WindowTime = EVENT_TIME


class SessionWindowTableFunctionOperator(WindowingOperator):
    """Adds window_start, window_end and window_time. Rows whose time is NULL are dropped and
    counted, since they belong to no session.

    Args:
        spec: settings of the windows.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: SessionWindowSpec) -> None:
        super().__init__(spec.clock)
        self._spec = spec

    def open(self) -> None:
        super().open()
        spec, context = self._spec, self.context
        metrics = RegisteredGroup(context.metrics)
        self._late = metrics.counter("numLateRecordsDropped")
        self._timeless = metrics.counter("numNullRowTimeRecordsDropped")
        self._rows: RowLog = context.state.table(TableId(context.uid, "@rows"), ROW_LOG)
        times = ValueColumn(np.dtype(np.int64), name="time")
        self._rows.bind(logged_rows(spec.input_type, spec.partition, (times,)))
        log: RowLog = context.state.table(TableId(context.uid, "@sessions"), ROW_LOG)
        log.bind(logged_rows(spec.input_type, spec.partition, SESSION_BOUNDS, kept=()))
        self._log = log
        self._sessions = Sessions(log, spec.gap, _nothing_else)
        self._schema = schema_of(spec.output_type)

    def restore(self) -> None:
        super().restore()
        self._sessions.restore()

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data, spec = batch.data, self._spec
        column = data.column(spec.time)
        if column.null_count:
            timed = without_null([column], data.num_rows)
            self._timeless.inc(int(np.count_nonzero(~timed)))
            data = data.filter(pa.array(timed))
        if not data.num_rows:
            return
        times = self.row_times(data.column(spec.time))
        keys = [data.column(index) for index in spec.partition]
        _, rows = self._sessions.add(keys, times, self.closed)
        if rows is not None:
            self._late.inc(times.size - rows.size)
            data, times = data.take(pa.array(rows)), times.take(rows)
            keys = [data.column(index) for index in spec.partition]
        if times.size:
            added = self._rows.append(self._rows.slots_of(keys, True, times.size), data)
            self._rows.column(_TIME)[added] = times

    def earliest_end(self) -> int:
        return self._sessions.earliest_end(MAX_WATERMARK)

    def fire(self, reached: int) -> None:
        self._emit(self._sessions.due(reached))

    def _emit(self, sessions: Positions) -> None:
        """Emit the rows of sessions, in the order of the sessions."""
        if not sessions.size:
            return
        keys = self._log.keys.keys_at(self._log.slots_at(sessions))
        starts, ends = self._sessions.starts(sessions), self._sessions.ends(sessions)
        rows, owners = self._rows.rows_of(self._rows.slots_of(keys, False, sessions.size))
        times = self._rows.column(_TIME).take(rows)
        within = (starts.take(owners) <= times) & (times < ends.take(owners))
        rows, owners = rows[within], owners[within]
        columns = self._rows.take(rows).columns
        for instants in (starts, ends, self._spec.clock.instants(ends - 1)):
            kind = self._schema.field(len(columns)).type
            columns.append(window_property(instants.take(owners)).cast(kind))
        data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self._rows.remove(rows)
        self._sessions.remove(sessions)
        self.output.emit(ColumnBatch(data, None, None, "row"))


def _nothing_else(_into: Positions, _merged: Positions) -> None:
    """Handler for merged sessions that does nothing, since the rows of a session are found by
    their times."""
