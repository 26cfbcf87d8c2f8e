"""`SessionAggregateOperator`: aggregates per session and key, emitted when the session has ended.

The state has accumulators per session (`Sessions`), which are merged when a row joins two sessions.
Late rows that touch no open session are dropped and counted. Flink: ``WindowAggregate`` over
SESSION, ``UnsliceWindowAggProcessor``.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.resolved import AggregateCall
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.metrics import RegisteredGroup
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.row_log import RowLog
from millrace.state.table_id import TableId
from millrace.state.table_kinds import ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.function_contexts import function_context
from millrace.table_runtime.group_accumulators import GroupAccumulators
from millrace.table_runtime.sessions import SESSION_BOUNDS, Sessions
from millrace.table_runtime.state_columns import logged_rows
from millrace.table_runtime.window_time import EVENT_TIME, WindowTime
from millrace.table_runtime.window_times import window_property
from millrace.table_runtime.windowing_operator import WindowingOperator

__all__ = ["SessionAggregateOperator", "SessionAggregateSpec"]


@dataclass(frozen=True)
class SessionAggregateSpec:
    """Settings of a session aggregation.

    Attributes:
        input_type: columns of the input rows, which are inserts.
        groups: positions of the columns to group by.
        calls: the aggregates, all of which can be merged.
        gap: gap of the sessions, in ms.
        time: position of the time.
        properties: window columns after the aggregates: any of "start", "end", "time".
        output_type: groups, aggregates, properties.
        clock: clock by which rows are assigned to sessions and sessions end.
    """

    input_type: RowType
    groups: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    gap: int
    time: int
    properties: tuple[str, ...]
    output_type: RowType
    clock: WindowTime = EVENT_TIME


class SessionAggregateOperator(WindowingOperator):
    """Aggregates rows by session.

    Args:
        spec: settings of the aggregation.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: SessionAggregateSpec) -> None:
        super().__init__(spec.clock)
        self._spec = spec

    def open(self) -> None:
        super().open()
        spec, context = self._spec, self.context
        self._dropped = RegisteredGroup(context.metrics).counter("numLateRecordsDropped")
        bounds = len(SESSION_BOUNDS)
        self._accumulators = GroupAccumulators(
            spec.calls, spec.input_type, False, bounds, function_context(self.context)
        )
        self._log: RowLog = context.state.table(TableId(context.uid, "@sessions"), ROW_LOG)
        numbers = (*SESSION_BOUNDS, *self._accumulators.value_columns)
        self._log.bind(logged_rows(spec.input_type, spec.groups, numbers, kept=()))
        self._sessions = Sessions(self._log, spec.gap, self._merge)
        self._schema = schema_of(spec.output_type)

    def restore(self) -> None:
        super().restore()
        self._sessions.restore()

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data, spec = batch.data, self._spec
        if not data.num_rows:
            return
        times = self.row_times(data.column(spec.time))
        keys = [data.column(index) for index in spec.groups]
        sessions, rows = self._sessions.add(keys, times, self.closed)
        if rows is not None:
            self._dropped.inc(times.size - rows.size)
            data = data.take(pa.array(rows))
        self._log.touch(sessions)
        self._accumulators.accumulate(self._log, sessions, data, None)

    def _merge(self, into: Positions, merged: Positions) -> None:
        self._accumulators.merge(into, self._log, merged, self._log)

    def earliest_end(self) -> int:
        return self._sessions.earliest_end(MAX_WATERMARK)

    def fire(self, reached: int) -> None:
        self._emit(self._sessions.due(reached))

    def _emit(self, sessions: Positions) -> None:
        if not sessions.size:
            return
        columns: list[pa.Array] = self._log.keys.keys_at(self._log.slots_at(sessions))
        columns += self._accumulators.values(sessions, self._log.space.values)
        starts, ends = self._sessions.starts(sessions), self._sessions.ends(sessions)
        times = {"start": starts, "end": ends, "time": self._spec.clock.instants(ends - 1)}
        columns += [window_property(times[kind]) for kind in self._spec.properties]
        cast = [one.cast(field.type) for one, field in zip(columns, self._schema, strict=True)]
        data = pa.RecordBatch.from_arrays(cast, schema=self._schema)
        self._sessions.remove(sessions)
        self.output.emit(ColumnBatch(data, None, None, "row"))
