"""Sparsification: each subtask keeps its edges, and sends on only the edges of a spanning forest.

Components of the whole graph are those of the forests' union, which is small. A removal of an edge
that is in no forest goes no further than its subtask.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.types.batch import ColumnBatch
from millrace.graph.streams.changelog import PacedOperator
from millrace.graph.streams.copies import count_both_ways
from millrace.graph.streams.edge_columns import CHANGE, FLIPPED, HIGH, LOW, numbers_of
from millrace.graph.streams.edge_table import slot_table
from millrace.graph.streams.node_numbers import NodeNumbers
from millrace.graph.streams.spanning_forest import SpanningForest
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.growable_columns import grown
from millrace.state.columns.hash_index import Positions, distinct
from millrace.state.columns.positions import ValueColumn

__all__ = ["SIDE", "ForestOperator", "edge_keys"]

SIDE = "side"
"""Column that tells which edge of the double cover a row is about; 0 without a double cover."""
_FORWARD, _BACKWARD, _SENT = range(3)


def edge_keys(kind: pa.DataType) -> tuple[pa.DataType, pa.DataType]:
    """Types of a pair of vertices."""
    return kind, kind


class ForestOperator(PacedOperator):
    """Keeps the edges of a subtask, and sends the changes of their spanning forest.

    With a double cover, each vertex is two nodes, and an edge leads from either of one vertex to
    the other one of the other vertex: two nodes of a vertex are connected if an odd cycle is in
    their component.

    Args:
        vertex_type: type of the ids.
        cover: whether the forest is one of the double cover.
    """

    def __init__(self, vertex_type: pa.DataType, cover: bool = False) -> None:
        self._vertex, self._cover = vertex_type, cover

    def open(self) -> None:
        super().open()
        values = (
            ValueColumn(np.dtype(np.int64), name="forward"),
            ValueColumn(np.dtype(np.int64), name="backward"),
            ValueColumn(np.dtype(np.int8), name="sent"),
        )
        columns = ColumnsOf(edge_keys(self._vertex), (), (), values, (LOW, HIGH))
        self._table = slot_table(self.context, "@edges", columns)

    def restore(self) -> None:
        self._touched: list[Positions] = []
        self._derive()
        self._is_new = bool(self._table.space.count)

    def _derive(self) -> None:
        """Number the vertices, and build the forest of the edges that have been sent."""
        self._nodes = NodeNumbers(self._vertex)
        self._forest = SpanningForest()
        self._loops = np.zeros(0, np.bool_)
        slots = self._table.live_slots()
        self._set_ends(slots)
        for side, sent in enumerate(self._sent_by_side(slots)):
            edges = slots[sent]
            self._forest.assume(self._numbers(edges[~self._loops.take(edges)], side))

    # -- changes -----------------------------------------------------------------------

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        data, table = batch.data, self._table
        slots = table.slots_of([data.column(LOW), data.column(HIGH)], create=True)
        table.touch(slots)
        forward, backward = table.column(_FORWARD), table.column(_BACKWARD)
        flipped = numbers_of(data, FLIPPED)
        count_both_ways(slots, numbers_of(data, CHANGE), flipped, forward, backward)
        self._touched.append(slots)

    def has_changes(self) -> bool:
        return bool(self._touched) or self._is_new

    def give_results(self) -> None:
        table = self._table
        slots = distinct(np.concatenate(self._touched)) if self._touched else _NONE
        self._touched = []
        copies = table.column(_FORWARD).take(slots) + table.column(_BACKWARD).take(slots)
        sent = table.column(_SENT).take(slots)
        dead, fresh = slots[copies == 0], slots[(copies > 0) & (sent == 0)]
        before = self._taken(dead)
        self._set_ends(fresh)
        cut = self._forest.cut(before) if before.size else False
        table.remove(dead)
        if cut or self._is_new:
            came, left = self._forest.repair(self._all_numbers(table.live_slots()))
        else:
            came, left = self._forest.link(self._all_numbers(fresh)), _NONE
        self._is_new = False
        self._mark(came, left)
        self._send(before, came, left, self._always_sent(fresh))
        if self._nodes.is_sparse(table.space.count):
            self._derive()
            self._forest.repair(self._all_numbers(table.live_slots()))

    def _mark(self, came: Positions, left: Positions) -> None:
        """Note in the table what is sent."""
        bits = self._table.column(_SENT)
        for edges, is_sent in ((came, True), (left, False)):
            slots, sides = self._slots(edges)
            self._table.touch(slots)
            for side in range(2 if self._cover else 1):
                some = slots[sides == side]
                bits[some] = bits[some] | (1 << side) if is_sent else bits[some] & ~(1 << side)

    def _always_sent(self, fresh: Positions) -> Positions:
        """Edges from a vertex to itself, which tell that the vertex exists. They are sent without
        being in a forest."""
        edges = self._numbers(fresh[self._loops.take(fresh)], 0)
        self._mark(edges, _NONE)
        return edges

    def _send(self, dead: Positions, came: Positions, left: Positions, loops: Positions) -> None:
        parts = [came, loops, dead, left]
        edges = np.concatenate(parts)
        if not edges.size:
            return
        slots, sides = self._slots(edges)
        change = np.repeat(np.array([1, 1, -1, -1]), [part.size for part in parts])
        columns = [*self._table.keys_at(slots), pa.array(sides, pa.int8()), pa.array(change)]
        data = pa.RecordBatch.from_arrays(columns, [LOW, HIGH, SIDE, CHANGE])
        self.output.emit(ColumnBatch(data, None, None, "dict"))

    def _taken(self, dead: Positions) -> Positions:
        """Edges at slots that have been sent."""
        sent = self._sent_by_side(dead)
        return np.concatenate([self._numbers(dead[some], side) for side, some in enumerate(sent)])

    # -- numbers of edges --------------------------------------------------------------

    def _numbers(self, slots: Positions, side: int) -> Positions:
        return 2 * slots + side if self._cover else slots

    def _all_numbers(self, slots: Positions) -> Positions:
        """Edges that may be in the forest."""
        joining = slots[~self._loops.take(slots)]
        if not self._cover:
            return joining
        return (2 * joining[:, None] + np.arange(2)).reshape(-1)

    def _slots(self, edges: Positions) -> tuple[Positions, npt.NDArray[np.int64]]:
        if self._cover:
            return edges >> 1, edges & 1
        return edges, np.zeros(edges.size, np.int64)

    def _sent_by_side(self, slots: Positions) -> list[npt.NDArray[np.bool_]]:
        bits = self._table.column(_SENT).take(slots)
        return [(bits >> side) & 1 == 1 for side in range(2 if self._cover else 1)]

    def _set_ends(self, slots: Positions) -> None:
        if not slots.size:
            return
        low, high = self._table.keys_at(slots)
        x, y = self._nodes.of(low), self._nodes.of(high)
        self._loops = grown(self._loops, int(slots.max()) + 1)
        self._loops[slots] = x == y
        if self._cover:
            self._forest.set_ends(2 * slots, 2 * x, 2 * y + 1)
            self._forest.set_ends(2 * slots + 1, 2 * x + 1, 2 * y)
        else:
            self._forest.set_ends(slots, x, y)


_NONE = np.zeros(0, np.int64)
