"""`WindowAggregateOperator`: aggregates per window and group, emitted when the window is complete.

The state has accumulators per group and slice (`WindowSlices`). They are per window if an aggregate
cannot be merged from slices (DISTINCT), or if rows already have window columns. When time passes
the end of a window, all due windows are computed at once. Rows behind all their windows are dropped
and counted. Flink: ``SlicingWindowOperator``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.resolved import AggregateCall
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.metrics import RegisteredGroup
from millrace.state.columns.growable_columns import grown
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.slot_table import SlotTable
from millrace.state.table_id import TableId
from millrace.state.table_kinds import COLUMN_MAP
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.function_contexts import function_context
from millrace.table_runtime.group_accumulators import GroupAccumulators, signs_of
from millrace.table_runtime.state_columns import values_by_key
from millrace.table_runtime.window_slices import Times, WindowSlices
from millrace.table_runtime.window_time import EVENT_TIME, WindowTime
from millrace.table_runtime.window_times import required_times, window_property
from millrace.table_runtime.windowing_operator import WindowingOperator

__all__ = ["WindowAggregateOperator", "WindowAggregateSpec"]

_ROWS, _OWN = 0, 1
_NEVER = MAX_WATERMARK
_SLICE = pa.int64()


@dataclass(frozen=True)
class WindowAggregateSpec:
    """Settings of a window aggregation.

    Attributes:
        input_type: columns of the input rows.
        groups: positions of the columns to group by.
        calls: the aggregates.
        window: the windows.
        time: position of the time, or of window_end if ``attached``.
        attached: whether the input rows already have window columns.
        properties: window columns after the aggregates: any of "start", "end", "time".
        output_type: groups, aggregates, properties.
        retracts: whether the input may have retractions.
        clock: clock by which rows are assigned to windows and windows fire.
    """

    input_type: RowType
    groups: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    window: WindowSlices
    time: int
    attached: bool
    properties: tuple[str, ...]
    output_type: RowType
    retracts: bool = False
    clock: WindowTime = EVENT_TIME


class WindowAggregateOperator(WindowingOperator):
    """Aggregates rows by window and group.

    Args:
        spec: settings of the aggregation.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: WindowAggregateSpec) -> None:
        super().__init__(spec.clock)
        self._spec = spec

    def open(self) -> None:
        super().open()
        spec, context = self._spec, self.context
        self._dropped = RegisteredGroup(context.metrics).counter("numLateRecordsDropped")
        self._accumulators = GroupAccumulators(
            spec.calls, spec.input_type, spec.retracts, _OWN, function_context(self.context)
        )
        key = tuple(arrow_type(spec.input_type.fields[index].type) for index in spec.groups)
        rows = ValueColumn(np.dtype(np.int64), name="rows")
        values = (rows, *self._accumulators.value_columns)
        self._columns = values_by_key(spec.input_type, spec.groups, values, (_SLICE,))
        self._table: SlotTable = context.state.table(TableId(context.uid, "@slices"), COLUMN_MAP)
        self._table.bind(self._columns)
        self._accumulators.open(context.state, context.uid, key, self._table, (_SLICE,))
        window = spec.window
        by_window = spec.attached or self._accumulators.unmergeable or window.size == window.slide
        self._explodes = by_window and not spec.attached and window.size != window.slide
        # a window that is kept as such is a slice of its own
        self._windows = WindowSlices(1, 1) if by_window else window
        self._schema = schema_of(spec.output_type)

    def restore(self) -> None:
        super().restore()
        self._accumulators.restore()
        slots = self._table.live_slots()
        self._ends = np.zeros(0, np.int64)
        self._due = _NEVER
        if slots.size:
            ends = self._table.keys_at(slots)[-1].to_numpy(zero_copy_only=False)
            self._note(slots, ends)

    # -- rows --------------------------------------------------------------------------

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        data, signs = batch.data, signs_of(batch.row_kinds)
        ends = self._slices(data.column(self._spec.time))
        rows, ends = self._exploded(ends) if self._explodes else self._in_time(ends)
        if not ends.size:
            return
        if rows is not None:
            data = data.take(pa.array(rows))
            signs = None if signs is None else signs.take(rows)
        keys = [data.column(index) for index in self._spec.groups] + [pa.array(ends)]
        table = self._table
        slots = table.slots_of(keys, create=True)
        table.touch(slots)
        np.add.at(table.column(_ROWS), slots, 1 if signs is None else signs)
        self._note(slots, ends)
        self._accumulators.accumulate(table, slots, data, signs)

    def _slices(self, column: pa.Array) -> Times:
        """End of each row's slice."""
        if self._spec.attached:
            return required_times(column, self.context.name)
        return self._spec.window.slice_ends(self.row_times(column))

    def _in_time(self, ends: Times) -> tuple[Positions | None, Times]:
        """Rows with at least one window that has not fired. None if all rows have one."""
        last, window = self._windows.last_ends(ends), self._spec.window
        late = last - 1 <= self.closed
        out = late
        if window.size < window.slide and not self._spec.attached:
            between = window.last_ends(ends) < window.first_ends(ends)
            late, out = late & ~between, late | between
        if not out.any():
            return None, ends
        self._dropped.inc(int(np.count_nonzero(late)))
        rows = np.flatnonzero(~out)
        return rows, ends.take(rows)

    def _exploded(self, slices: Times) -> tuple[Positions | None, Times]:
        """One row for each window that has not fired."""
        window = self._spec.window
        first, last = window.first_ends(slices), window.last_ends(slices)
        rows, ends = [], []
        for number in range(window.most):
            end = first + number * window.slide
            chosen = np.flatnonzero((end <= last) & (end - 1 > self.closed))
            rows.append(chosen)
            ends.append(end.take(chosen))
        late = (last - 1 <= self.closed) & (first <= last)
        self._dropped.inc(int(np.count_nonzero(late)))
        return np.concatenate(rows), np.concatenate(ends)

    def _note(self, slots: Positions, ends: Times) -> None:
        """Record the end of each slot's slice."""
        self._ends = grown(self._ends, self._table.space.end)
        self._ends[slots] = ends
        first = np.maximum(self._windows.first_ends(ends).min(), self.closed + 1)
        self._due = min(self._due, int(first))

    # -- windows -----------------------------------------------------------------------

    def earliest_end(self) -> int:
        return self._due - 1

    def fire(self, reached: int) -> None:
        slots = self._table.live_slots()
        slices = self._ends.take(slots)
        if self._windows.size == self._windows.slide:
            due = slices - 1 <= reached
            self._emit(self._table, slots[due], slices[due])
            left = slices[~due]
        else:
            self._fire_merged(slots, slices, reached)
            due = self._windows.last_ends(slices) - 1 <= reached
            left = slices[~due]
        self._accumulators.forget(slots[due])
        self._table.remove(slots[due])
        self._due = self._next_due(left, reached)

    def _next_due(self, slices: Times, reached: int) -> int:
        if not slices.size:
            return _NEVER
        first, slide = self._windows.first_ends(slices), self._windows.slide
        # of slices some of whose windows have fired: the next one
        behind = np.maximum(reached + 1 - first, -1) // slide + 1
        return int((first + np.maximum(behind, 0) * slide).min())

    def _fire_merged(self, slots: Positions, slices: Times, reached: int) -> None:
        """Merge slices into windows, and emit these."""
        windows, merged = self._windows, SlotTable()
        merged.bind(self._columns)
        first, last = windows.first_ends(slices), windows.last_ends(slices)
        keys = self._table.keys_at(slots)[:-1]
        for number in range(windows.most):
            end = first + number * windows.slide
            chosen = np.flatnonzero((end <= last) & (end - 1 > self.reached) & (end - 1 <= reached))
            if not chosen.size:
                continue
            rows = pa.array(chosen)
            of_windows = [*(key.take(rows) for key in keys), pa.array(end.take(chosen))]
            targets, sources = merged.slots_of(of_windows, create=True), slots.take(chosen)
            counts = self._table.column(_ROWS).take(sources)
            np.add.at(merged.column(_ROWS), targets, counts)
            self._accumulators.merge(targets, merged, sources, self._table)
        live = merged.live_slots()
        if live.size:
            ends = merged.keys_at(live)[-1].to_numpy(zero_copy_only=False)
            self._emit(merged, live, ends)

    def _emit(self, table: SlotTable, slots: Positions, ends: Times) -> None:
        """Emit windows in the order of their ends, except windows whose rows were all retracted."""
        kept = table.column(_ROWS).take(slots) > 0
        slots, ends = slots[kept], ends[kept]
        if not slots.size:
            return
        order = np.argsort(ends, kind="stable")
        slots, ends = slots.take(order), ends.take(order)
        columns: list[pa.Array] = table.keys_at(slots)[:-1]
        columns += self._accumulators.values(slots, table.space.values)
        columns += [self._property(kind, ends) for kind in self._spec.properties]
        cast = [one.cast(field.type) for one, field in zip(columns, self._schema, strict=True)]
        data = pa.RecordBatch.from_arrays(cast, schema=self._schema)
        self.output.emit(ColumnBatch(data, None, None, "row"))

    def _property(self, kind: str, ends: Times) -> pa.Array:
        times = {"start": self._spec.window.starts, "end": _same, "time": _before}[kind](ends)
        return window_property(self._spec.clock.instants(times) if kind == "time" else times)


def _same(ends: Times) -> Times:
    return ends


def _before(ends: Times) -> Times:
    """Greatest time within a window."""
    return ends - 1
