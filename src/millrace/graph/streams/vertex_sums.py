"""Sums by vertex and of the whole graph: degrees, numbers of vertices and edges, triangles."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.graph.streams.changelog import Mask, changelog
from millrace.graph.streams.edge_columns import CHANGE, numbers_of
from millrace.graph.streams.edge_table import VERTEX, gone_slots, slot_table
from millrace.runtime.operator import Operator
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.slot_table import SlotTable

__all__ = ["SumSpec", "VertexSumsOperator", "WholeSumOperator"]

_Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SumSpec:
    """The sums that an operator keeps for each vertex, and which of them it emits.

    Attributes:
        columns: names of the summed columns. A vertex whose sums are all 0 is forgotten.
        shown: numbers of the columns whose sum is the result. None for the number of vertices: the
            output has the changes of this number.
        result: name of the result.
    """

    columns: tuple[str, ...]
    shown: tuple[int, ...] | None
    result: str


class _SumsOperator(Operator):
    """Keeps sums in a table, and at each flush emits their changes since the flush before."""

    takes = BatchForm.COLUMNS
    _table: SlotTable

    def flush(self) -> None:
        self._emit_changes()
        self._table.mark()

    def end_epoch(self, ended: bool) -> None:
        self._emit_changes()

    @abstractmethod
    def _emit_changes(self) -> None:
        """Emit the changes of the sums since the table was marked."""


class VertexSumsOperator(_SumsOperator):
    """Sums columns of changes by vertex, and emits the changes of the sums since its last flush.

    Args:
        vertex_type: type of the ids.
        spec: the sums.
    """

    def __init__(self, vertex_type: pa.DataType, spec: SumSpec) -> None:
        self._vertex, self._spec = vertex_type, spec

    def open(self) -> None:
        values = tuple(ValueColumn(np.dtype(np.int64), name=name) for name in self._spec.columns)
        columns = ColumnsOf((self._vertex,), (), (), values, (VERTEX,))
        self._table = slot_table(self.context, "@sums", columns)
        self._schema = pa.schema({VERTEX: self._vertex, self._spec.result: pa.int64()})

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        table, data = self._table, batch.data
        slots = table.slots_of([data.column(VERTEX)], create=True)
        table.touch(slots)
        sums = [table.column(index) for index in range(len(self._spec.columns))]
        for column, name in zip(sums, self._spec.columns, strict=True):
            np.add.at(column, slots, numbers_of(data, name))
        gone = gone_slots(slots, *sums)
        if gone.size:
            table.remove(gone)

    def _emit_changes(self) -> None:
        space = self._table.space
        former = space.marked()
        if not former.positions.size:
            return
        before, now = former.live, space.live.take(former.positions)
        if self._spec.shown is None:
            self._emit_number(int(np.count_nonzero(now)) - int(np.count_nonzero(before)))
            return
        old = _sum(former.values, self._spec.shown)
        new = _sum([column.take(former.positions) for column in space.values], self._spec.shown)
        changed = (before != now) | (now & (old != new))
        self._emit_rows(former.positions, old, new, before & changed, now & changed)

    def _emit_rows(
        self, slots: _Integers, old: _Integers, new: _Integers, before: Mask, now: Mask
    ) -> None:
        [vertices] = self._table.keys_at(slots)
        rows = changelog(
            self._schema, [vertices, pa.array(old)], [vertices, pa.array(new)], before, now
        )
        if rows is not None:
            self.output.emit(rows)

    def _emit_number(self, change: int) -> None:
        if change:
            data = pa.record_batch({CHANGE: pa.array([change], pa.int64())})
            self.output.emit(ColumnBatch(data, None, None, "dict"))


def _sum(columns: list[_Integers], shown: tuple[int, ...]) -> _Integers:
    total = columns[shown[0]].copy()
    for number in shown[1:]:
        total += columns[number]
    return total


class WholeSumOperator(_SumsOperator):
    """Sums a column of changes, in one subtask, and emits a row with the sum whenever it has
    changed.

    Args:
        column: name of the column.
        result: name of the result.
    """

    def __init__(self, column: str, result: str) -> None:
        self._column, self._result = column, result

    def open(self) -> None:
        values = (ValueColumn(np.dtype(np.int64), name=self._result),)
        self._table = slot_table(self.context, "@sum", ColumnsOf((), values=values))
        self._schema = pa.schema({self._result: pa.int64()})

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        slots = self._table.slots_of([], create=True, count=1)
        self._table.touch(slots)
        self._table.column(0)[slots] += numbers_of(batch.data, self._column).sum()

    def _emit_changes(self) -> None:
        former = self._table.space.marked()
        if not former.positions.size:
            return
        new = self._table.column(0).take(former.positions)
        before = former.live
        changed = ~before | (former.values[0] != new)
        rows = changelog(
            self._schema, [pa.array(former.values[0])], [pa.array(new)], before & changed, changed
        )
        if rows is not None:
            self.output.emit(rows)
