"""Edges of one subtask with their numbers of copies, which determine the effect of a change."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.graph.streams.copies import CopyCounts, counted
from millrace.graph.streams.edge_columns import (
    CHANGE,
    FLIPPED,
    HIGH,
    LOW,
    SOURCE,
    TARGET,
    VALUE,
    numbers_of,
)
from millrace.runtime.operator import Operator, OperatorContext
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.hash_index import Positions, distinct
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.slot_table import SlotTable
from millrace.state.table_id import TableId
from millrace.state.table_kinds import COLUMN_MAP, COLUMNS

__all__ = ["IN_VERTEX", "OUT", "VERTEX", "DistinctOperator", "EdgesOperator", "slot_table"]

VERTEX, OUT, IN_VERTEX = "vertex", "out", "in"
_COPIES = ValueColumn(np.dtype(np.int64), name="copies")


def slot_table(context: OperatorContext, name: str, columns: ColumnsOf) -> SlotTable:
    """Table of an operator, with its columns."""
    kind = COLUMN_MAP if columns.inner else COLUMNS
    table: SlotTable = context.state.table(TableId(context.uid, name), kind)
    table.bind(columns)
    return table


class EdgesOperator(Operator):
    """Passes on the changes that have an effect, and drops removals of missing edges.

    The input is distributed by the ends of the edges.

    Args:
        vertex_type: type of the ids.
        value_type: type of the values by which edges are told apart, too. None if values do not
            count.
        halves: whether the result has a row for each end of an edge, with changes of the vertex's
            out-degree and in-degree. If not, it has the edge.
    """

    takes = BatchForm.COLUMNS
    name = "@edges"

    def __init__(
        self, vertex_type: pa.DataType, value_type: pa.DataType | None = None, halves: bool = False
    ) -> None:
        self._vertex, self._value, self._halves = vertex_type, value_type, halves

    def open(self) -> None:
        inner = (pa.bool_(),) if self._value is None else (pa.bool_(), self._value)
        key = (self._vertex, self._vertex)
        columns = ColumnsOf(key, inner, (), (_COPIES,), (LOW, HIGH))
        self._table = slot_table(self.context, self.name, columns)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        data, table = batch.data, self._table
        keys = [data.column(LOW), data.column(HIGH), data.column(FLIPPED)]
        if self._value is not None:
            keys.append(data.column(VALUE))
        slots = table.slots_of(keys, create=True)
        table.touch(slots)
        copies = table.column(0)
        copy_counts = counted(slots, numbers_of(data, CHANGE), copies)
        gone = distinct(slots)
        gone = gone[copies.take(gone) == 0]
        if gone.size:
            table.remove(gone)
        self._emit(batch, self._counting(copy_counts))

    def _counting(self, copy_counts: CopyCounts) -> npt.NDArray[np.bool_]:
        return copy_counts.counts

    def _emit(self, batch: ColumnBatch, counting: npt.NDArray[np.bool_]) -> None:
        taken = batch if counting.all() else batch.filter(pa.array(counting))
        if len(taken):
            columns = _halves(taken.data) if self._halves else _edges(taken.data)
            times = None if self._halves else taken.timestamps
            self.output.emit(ColumnBatch(columns, times, None, "dict"))


class DistinctOperator(EdgesOperator):
    """Passes on the first addition of an edge, and the removal of its last copy."""

    name = "@distinct-edges"

    def _counting(self, copy_counts: CopyCounts) -> npt.NDArray[np.bool_]:
        counts: npt.NDArray[np.bool_] = (copy_counts.before == 0) != (copy_counts.after == 0)
        return counts


def _edges(data: pa.RecordBatch) -> pa.RecordBatch:
    """Edges with their sources and targets, from pairs."""
    import pyarrow.compute as pc

    low, high, flipped = (data.column(name) for name in (LOW, HIGH, FLIPPED))
    columns = [pc.if_else(flipped, high, low), pc.if_else(flipped, low, high)]
    names = [SOURCE, TARGET]
    for name in (VALUE, CHANGE):
        if name in data.schema.names:
            columns.append(data.column(name))
            names.append(name)
    return pa.RecordBatch.from_arrays(columns, names)


def _halves(data: pa.RecordBatch) -> pa.RecordBatch:
    """Both ends of each edge, with the changes of their degrees."""
    edges = _edges(data)
    change, none = edges.column(CHANGE), pa.array(np.zeros(len(edges), np.int64))
    columns: list[Any] = [
        pa.concat_arrays([edges.column(SOURCE), edges.column(TARGET)]),
        pa.concat_arrays([change, none]),
        pa.concat_arrays([none, change]),
    ]
    return pa.RecordBatch.from_arrays(columns, [VERTEX, OUT, IN_VERTEX])


def gone_slots(slots: Positions, *counts: npt.NDArray[Any]) -> Positions:
    """Slots at which all counts are 0, each once."""
    candidates = distinct(slots)
    empty = np.ones(candidates.size, np.bool_)
    for count in counts:
        empty &= count.take(candidates) == 0
    return candidates[empty]
