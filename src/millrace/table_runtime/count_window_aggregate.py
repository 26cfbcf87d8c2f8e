"""`CountWindowAggregateOperator`: aggregates a fixed number of rows of each group, in the order of
arrival.

A window is given when its last row has come; one that lacks rows is not. Flink:
``CountTumblingWindowAssigner``, ``CountSlidingWindowAssigner``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.resolved import AggregateCall
from millrace.runtime.operator import Operator
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.slot_table import SlotTable
from millrace.state.table_id import TableId
from millrace.state.table_kinds import COLUMN_MAP, COLUMNS
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.function_contexts import function_context
from millrace.table_runtime.group_accumulators import GroupAccumulators
from millrace.table_runtime.state_columns import values_by_key

__all__ = ["CountWindowAggregateOperator", "CountWindowAggregateSpec"]

_ROWS, _OWN = 0, 1
_NUMBER = pa.int64()


@dataclass(frozen=True)
class CountWindowAggregateSpec:
    """Settings of an aggregation over count windows.

    Attributes:
        input_type: columns of the input rows, which are insert-only.
        groups: positions of the columns to group by.
        size: rows of a window.
        slide: rows from the first of one window to the first of the next.
        output_type: groups, aggregates.
    """

    input_type: RowType
    groups: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    size: int
    slide: int
    output_type: RowType


class CountWindowAggregateOperator(Operator):
    """Aggregates rows by group and window number.

    Args:
        spec: settings of the aggregation.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, spec: CountWindowAggregateSpec) -> None:
        self._spec = spec

    def open(self) -> None:
        spec, state, uid = self._spec, self.context.state, self.context.uid
        self._accumulators = GroupAccumulators(
            spec.calls, spec.input_type, False, _OWN, function_context(self.context)
        )
        key = tuple(arrow_type(spec.input_type.fields[index].type) for index in spec.groups)
        rows = ValueColumn(np.dtype(np.int64), name="rows")
        self._groups: SlotTable = state.table(TableId(uid, "@groups"), COLUMNS)
        self._groups.bind(values_by_key(spec.input_type, spec.groups, (rows,)))
        self._windows: SlotTable = state.table(TableId(uid, "@windows"), COLUMN_MAP)
        values = (rows, *self._accumulators.value_columns)
        self._windows.bind(values_by_key(spec.input_type, spec.groups, values, (_NUMBER,)))
        self._accumulators.open(state, uid, key, self._windows, (_NUMBER,))
        self._schema = schema_of(spec.output_type)

    def restore(self) -> None:
        self._accumulators.restore()

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        spec, data = self._spec, batch.data
        keys = [data.column(index) for index in spec.groups]
        rows, windows, is_last = self._windows_of(self._numbered(keys, len(batch)))
        places = pa.array(rows)
        keys = [*(key.take(places) for key in keys), pa.array(windows)]
        slots = self._windows.slots_of(keys, create=True, count=rows.size)
        self._windows.touch(slots)
        np.add.at(self._windows.column(_ROWS), slots, 1)
        self._accumulators.accumulate(self._windows, slots, data.take(places), None)
        # windows are given in the order of the rows that complete them
        complete = np.flatnonzero(is_last)
        self._give(slots[complete[np.argsort(rows[complete], kind="stable")]])

    def _numbered(self, keys: list[pa.Array], count: int) -> Positions:
        """Number of each row within its group, from 0."""
        slots = self._groups.slots_of(keys, create=True, count=count)
        self._groups.touch(slots)
        order = np.argsort(slots, kind="stable")
        begins = np.flatnonzero(np.diff(slots[order], prepend=-1))
        lengths = np.diff(begins, append=count)
        numbers = np.empty(count, np.int64)
        numbers[order] = np.arange(count) - np.repeat(begins, lengths)
        numbers += self._groups.column(_ROWS)[slots]
        changed = slots[order][begins]
        counts = self._groups.column(_ROWS)
        counts[changed] += lengths
        if self._spec.size == self._spec.slide:
            # a group whose windows are all complete begins anew
            self._groups.remove(changed[counts[changed] % self._spec.size == 0])
        return numbers

    def _windows_of(self, numbers: Positions) -> tuple[Positions, Positions, Positions]:
        """Windows of rows: position of the row, number of the window, and whether the row is the
        last of the window."""
        size, slide = self._spec.size, self._spec.slide
        rows, windows = [], []
        for back in range(-(-size // slide)):
            window = numbers // slide - back
            chosen = np.flatnonzero((window >= 0) & (numbers - window * slide < size))
            rows.append(chosen)
            windows.append(window[chosen])
        places, window_numbers = np.concatenate(rows), np.concatenate(windows)
        return places, window_numbers, numbers[places] == window_numbers * slide + size - 1

    def _give(self, slots: Positions) -> None:
        if not slots.size:
            return
        table = self._windows
        columns = table.keys_at(slots)[:-1]
        columns += self._accumulators.values(slots, table.space.values)
        cast = [one.cast(field.type) for one, field in zip(columns, self._schema, strict=True)]
        result = pa.RecordBatch.from_arrays(cast, schema=self._schema)
        self.output.emit(ColumnBatch(result, None, None, "row"))
        self._accumulators.forget(slots)
        table.remove(slots)
