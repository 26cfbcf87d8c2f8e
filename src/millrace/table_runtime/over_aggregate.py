"""`OverAggregateOperator`: OVER aggregates with an ORDER BY of a time attribute.

Rows wait in a `RowLog` until the watermark passes them. A frame without lower bound has running
accumulators and keeps no emitted rows. A bounded frame keeps the rows that later frames may still
reach. Flink: ``RowTimeRangeUnboundedPrecedingFunction`` and similar classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import BooleanType, RowField, RowType
from millrace.expressions.resolved import AggregateCall, SortKey
from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.declared_state import DeclaredValue
from millrace.runtime.expiry_queue import ExpiryQueue
from millrace.runtime.metrics import RegisteredGroup
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.row_log import RowLog
from millrace.state.columns.slot_table import SlotTable
from millrace.state.columns.time_to_live import LAST_USED, TimeToLive
from millrace.state.internal_tables import PASSED
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.table_id import TableId
from millrace.state.table_kinds import COLUMNS, ROW_LOG
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.function_contexts import function_context
from millrace.table_runtime.group_accumulators import GroupAccumulators
from millrace.table_runtime.over_values import once
from millrace.table_runtime.ranking import Numbers, ranks_of, sorted_positions
from millrace.table_runtime.state_columns import logged_rows, values_by_key

__all__ = ["OverAggregateOperator", "OverAggregateSpec"]

_TIME, _GIVEN, _LAST_USED = range(3)
"""Numbers per row: its time, whether its result was emitted, and its time of arrival."""
_RUNNING_USED, _OWN = 0, 1
"""Columns of a partition's running aggregates: the time of its last row; and the number of these
columns."""
_PAIRS = 1 << 20
"""Number of pairs of a row and a row of its frame that are built at a time."""
_WATERMARK = OperatorStateDeclaration(PASSED, RedistributionMode.MERGE, max)


@dataclass(frozen=True)
class OverAggregateSpec:
    """Settings of an OVER aggregation.

    Attributes:
        input_type: columns of the input rows, which are insert-only.
        partition: positions of the columns of PARTITION BY.
        order: the columns to order by.
        rows: whether the bound counts rows (ROWS). Else it is a time in ms (RANGE), and rows of
            equal order are in each other's frames.
        preceding: the lower bound. None if the frame begins with the partition.
        calls: the aggregates.
        output_type: the input's columns, then the aggregates.
        rowtime: whether the first column of the order is the event time.
        state_ttl: ms after which a partition without new or waiting rows is forgotten. 0 for
            never.
    """

    input_type: RowType
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    rows: bool
    preceding: int | None
    calls: tuple[AggregateCall, ...]
    output_type: RowType
    rowtime: bool = True
    lags: tuple[int, ...] = ()
    """Distances in rows of LAG calls, which stand in place of aggregates. ``preceding`` reaches
    them."""
    first_of_peers: bool = False
    """Whether a row gets the values of the first row with equal order, as RANK needs."""
    state_ttl: int = 0


class OverAggregateOperator(Operator):
    """Emits each row with the aggregates of its frame.

    Args:
        spec: settings of the aggregation.
    """

    takes = BatchForm.COLUMNS
    operator_states = (_WATERMARK,)

    def __init__(self, spec: OverAggregateSpec) -> None:
        self._spec = spec

    def open(self) -> None:
        spec, context = self._spec, self.context
        self._dropped = RegisteredGroup(context.metrics).counter("numLateRecordsDropped")
        self._passed = DeclaredValue(self, _WATERMARK)
        types = [arrow_type(field.type) for field in spec.input_type.fields]
        key = tuple(types[index] for index in spec.partition)
        self._log: RowLog = context.state.table(TableId(context.uid, "@rows"), ROW_LOG)
        numbers = [ValueColumn(np.dtype(np.int64), name=name) for name in ("time", "given")]
        self._log.bind(logged_rows(spec.input_type, spec.partition, [*numbers, LAST_USED]))
        self._life = TimeToLive(self._log, _LAST_USED, spec.state_ttl)
        calls, rows = ((), spec.input_type) if spec.lags else _marked(spec)
        self._accumulators = GroupAccumulators(
            calls, rows, False, _OWN, function_context(self.context)
        )
        values = (LAST_USED, *self._accumulators.value_columns)
        self._frame_columns = ColumnsOf((pa.int64(),), values=values)
        if spec.preceding is None:
            self._running: SlotTable = context.state.table(
                TableId(context.uid, "@running"), COLUMNS
            )
            self._running.bind(values_by_key(spec.input_type, spec.partition, values))
            self._accumulators.open(context.state, context.uid, key, self._running)
            self._running_life = TimeToLive(self._running, _RUNNING_USED, spec.state_ttl)
        self._schema = schema_of(spec.output_type)
        self._now = 0

    @property
    def _is_range(self) -> bool:
        """Whether frames reach back for a time: emitted rows are kept as long."""
        return self._spec.preceding is not None and not self._spec.rows

    def restore(self) -> None:
        self._accumulators.restore()
        self.watermark = self._passed.get(MIN_WATERMARK)
        rows = self._log.live_rows()
        times, given = self._log.column(_TIME).take(rows), self._log.column(_GIVEN).take(rows)
        self._waiting, self._given = ExpiryQueue(), ExpiryQueue()
        self._waiting.add(rows[given == 0], times[given == 0])
        if self._is_range:
            self._given.add(rows[given > 0], times[given > 0])

    def advance_processing_time(self, now: int) -> None:
        self._now = now
        self._life.begin_epoch(now)
        if self._spec.preceding is None:
            self._running_life.begin_epoch(now)

    # -- rows --------------------------------------------------------------------------

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data, spec = batch.data, self._spec
        times = self._times(data)
        if spec.rowtime:
            late = times <= self.watermark
            if late.any():
                self._dropped.inc(int(np.count_nonzero(late)))
                data, times = data.filter(pa.array(~late)), times[~late]
        if not data.num_rows:
            return
        keys = [data.column(index) for index in spec.partition]
        if self._life:
            self._forget_expired(keys, data.num_rows)
        slots = self._log.slots_of(keys, create=True, count=data.num_rows)
        rows = self._log.append(slots, data)
        self._log.column(_TIME)[rows] = times
        self._life.renew(rows)
        self._waiting.add(rows, times)

    def _times(self, data: pa.RecordBatch) -> Numbers:
        if not self._spec.rowtime:
            return np.full(data.num_rows, self._now)
        column = data.column(self._spec.order[0].index)
        times = column.cast(pa.timestamp("ms", column.type.tz), safe=False).view(pa.int64())
        milliseconds: Numbers = times.fill_null(MIN_WATERMARK).to_numpy(zero_copy_only=False)
        return milliseconds

    def process_watermark(self, timestamp: int) -> None:
        spec = self._spec
        earliest = self._waiting.earliest()
        if spec.rowtime and earliest is not None and timestamp >= earliest:
            self._give(timestamp)
        super().process_watermark(timestamp)

    def flush(self) -> None:
        if not self._spec.rowtime and self._waiting.earliest() is not None:
            self._give(MAX_WATERMARK)

    def end_epoch(self, ended: bool) -> None:
        spec = self._spec
        if self.watermark != MIN_WATERMARK:
            self._passed.put(self.watermark)
        if not spec.rowtime:
            self._give(MAX_WATERMARK)
        if self._life:
            self._forget_rows(np.unique(self._log.slots_at(self._life.swept())))
            if spec.preceding is None:
                self._forget_running(self._running_life.swept())

    # -- time to live ------------------------------------------------------------------

    def _forget_expired(self, keys: list[pa.Array], count: int) -> None:
        """Forget the expired state of partitions before new rows of these partitions are added."""
        slots = np.unique(self._log.slots_of(keys, create=False, count=count))
        self._forget_rows(slots[slots >= 0])
        if self._spec.preceding is None:
            slots = np.unique(self._running.slots_of(keys, create=False, count=count))
            slots = slots[slots >= 0]
            self._forget_running(slots[~self._running_life.alive(slots)])

    def _forget_rows(self, slots: Positions) -> None:
        """Forget the rows of partitions whose rows were all emitted and have expired."""
        rows, owners = self._log.rows_of(slots)
        kept = self._life.alive(rows) | (self._log.column(_GIVEN).take(rows) == 0)
        used = np.bincount(owners[kept], minlength=slots.size) > 0
        self._log.remove(rows[~used.take(owners)])

    def _forget_running(self, slots: Positions) -> None:
        """Forget the aggregates of partitions without waiting rows."""
        if slots.size:
            waiting = self._log.slots_of(self._running.keys_at(slots), False, slots.size)
            slots = slots[self._log.counts(waiting) == 0]
            self._accumulators.forget(slots)
            self._running.remove(slots)

    # -- results -----------------------------------------------------------------------

    def _give(self, timestamp: int) -> None:
        """Emit the rows up to a time."""
        log, spec = self._log, self._spec
        due = self._waiting.due(timestamp)
        if due.size:
            slots, owners = np.unique(log.slots_at(due), return_inverse=True)
            if spec.preceding is None:  # no other row is needed
                self._give_of(due, owners)
            else:
                rows, owners = log.rows_of(slots)
                reached = log.column(_TIME).take(rows) <= timestamp
                self._give_of(rows[reached], owners[reached])
        if self._is_range:
            assert spec.preceding is not None
            if due.size:
                self._given.add(due, log.column(_TIME).take(due))
            self._forget_before((timestamp if spec.rowtime else self._now) - spec.preceding)

    def _forget_before(self, time: int) -> None:
        """Forget the rows that were emitted and are before a time: no frame reaches them. Those of
        expired partitions are gone already, and others may have got their numbers."""
        log = self._log
        rows = np.unique(self._given.due(time - 1))
        rows = rows[log.space.live.take(rows)]
        times, given = log.column(_TIME).take(rows), log.column(_GIVEN).take(rows)
        log.remove(rows[(given > 0) & (times < time)])

    def _give_of(self, rows: Positions, owners: Numbers) -> None:
        """Emit the rows that were not emitted yet. The given rows include all rows of their
        frames."""
        log, spec = self._log, self._spec
        data = log.take(rows)
        order = sorted_positions(data, spec.order, owners, log.sequence_at(rows))
        peers = [data.column(key.index) for key in spec.order]
        rows, owners, data = rows.take(order), owners.take(order), data.take(pa.array(order))
        new = np.flatnonzero(log.column(_GIVEN).take(rows) == 0)
        numbers: Numbers = np.arange(rows.size)
        last: Numbers = numbers
        by_row = spec.rows or (spec.preceding is None and not spec.rowtime)
        if spec.first_of_peers and spec.rowtime:
            starts = np.searchsorted(owners, owners, side="left")
            last = starts + ranks_of("RANK", owners, peers, order) - 1
        elif not by_row:
            places = ranks_of("DENSE_RANK", owners, peers, order)
            ends = np.ones(rows.size, np.bool_)
            ends[:-1] = (places[1:] != places[:-1]) | (owners[1:] != owners[:-1])
            last = np.asarray(np.flatnonzero(ends)[np.cumsum(ends) - ends], np.int64)
        if spec.preceding is None:
            values = [column.take(pa.array(last)) for column in self._run(data)]
            log.remove(rows)
        else:
            first = self._first(log.column(_TIME).take(rows), owners, numbers)
            if spec.lags:
                values = self._lagged(data, owners, new)
            else:
                values = self._framed(data, first.take(new), last.take(new))
            log.touch(rows.take(new))
            log.column(_GIVEN)[rows.take(new)] = 1
            if spec.rows:
                behind = np.searchsorted(owners, owners, side="right") - numbers
                log.remove(rows[behind > spec.preceding])
        columns = [*data.take(pa.array(new)).columns, *values]
        cast = [one.cast(field.type) for one, field in zip(columns, self._schema, strict=True)]
        result = pa.RecordBatch.from_arrays(cast, schema=self._schema)
        self.output.emit(ColumnBatch(result, None, None, "row"))

    def _run(self, data: pa.RecordBatch) -> list[pa.Array]:
        """Running aggregates after each row. Rows of a partition are adjacent."""
        keys = [data.column(index) for index in self._spec.partition]
        slots = self._running.slots_of(keys, create=True, count=data.num_rows)
        self._running.touch(slots)
        self._running_life.renew(slots)
        return self._accumulators.running(self._running, slots, data)

    def _first(self, times: Numbers, owners: Numbers, numbers: Numbers) -> Numbers:
        """Position of the first row of each row's frame."""
        preceding = self._spec.preceding
        assert preceding is not None
        start = np.searchsorted(owners, owners, side="left")
        if self._spec.rows:
            by_count: Numbers = np.maximum(start, numbers - preceding)
            return by_count
        # one sorted line of numbers: partitions are further apart than any frame reaches
        line = times - times.min() + owners * (int(times.max() - times.min()) + preceding + 1)
        first: Numbers = np.maximum(start, np.searchsorted(line, line - preceding, side="left"))
        return first

    def _lagged(self, data: pa.RecordBatch, owners: Numbers, new: Numbers) -> list[pa.Array]:
        """Values of LAG. If the partition has no row so far back, the default or NULL."""
        start = np.searchsorted(owners, owners.take(new), side="left")
        lagged = []
        for call, lag in zip(self._spec.calls, self._spec.lags, strict=True):
            outside = new - lag < start
            values = data.column(call.arguments[0])
            given = values.take(pa.array(new - lag, mask=outside))
            if len(call.arguments) > 2 and outside.any():
                default = data.column(call.arguments[2]).take(pa.array(new)).cast(values.type)
                given = pc.if_else(pa.array(outside), default, given)
            lagged.append(given)
        return lagged

    def _framed(self, data: pa.RecordBatch, first: Numbers, last: Numbers) -> list[pa.Array]:
        """Aggregates of frames, which are runs of adjacent rows."""
        sizes = last - first + 1
        cuts = np.cumsum(sizes) // _PAIRS
        parts = []
        for cut in np.unique(cuts):
            chosen = np.flatnonzero(cuts == cut)
            size = sizes.take(chosen)
            frames = SlotTable()
            frames.bind(self._frame_columns)
            slots = frames.slots_of([pa.array(chosen)], create=True)
            begins = np.cumsum(size) - size
            within = np.arange(int(size.sum())) - np.repeat(begins, size)
            pairs = data.take(pa.array(np.repeat(first.take(chosen), size) + within))
            for call in self._spec.calls:
                pairs, _ = once(call, np.repeat(chosen, size), pairs)
            self._accumulators.accumulate(frames, np.repeat(slots, size), pairs, None)
            parts.append(self._accumulators.values(slots, frames.space.values))
        return [pa.concat_arrays(column) for column in zip(*parts, strict=True)]


def _marked(spec: OverAggregateSpec) -> tuple[tuple[AggregateCall, ...], RowType]:
    """The aggregate calls, and the type of the rows that they read. In a bounded frame, a
    DISTINCT call filters by an additional column: whether a row is the first of the frame with
    its value (`once`)."""
    if spec.preceding is None:
        return spec.calls, spec.input_type
    fields, calls = list(spec.input_type.fields), []
    for call in spec.calls:
        if call.distinct:
            call = replace(call, distinct=False, filter=len(fields))
            fields.append(RowField(f"first{len(fields)}", BooleanType()))
        calls.append(call)
    return tuple(calls), RowType(tuple(fields))
