"""Triangles of a graph, each counted in exactly one cell.

Vertices have one of a few colours. A cell is a multiset of three colours, and has the edges whose
ends have two of its colours; so the three edges of a triangle meet in the cell of its colours.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.graph.streams.adjacency import Adjacency
from millrace.graph.streams.changelog import PacedOperator
from millrace.graph.streams.copies import count_both_ways
from millrace.graph.streams.edge_columns import CHANGE, FLIPPED, HIGH, LOW, numbers_of
from millrace.graph.streams.edge_table import VERTEX, slot_table
from millrace.graph.streams.forest_operator import edge_keys
from millrace.graph.streams.node_numbers import NodeNumbers
from millrace.runtime.operator import Operator
from millrace.state.column_key_groups import owners_of_columns
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.growable_columns import grown
from millrace.state.columns.hash_index import HashIndex, Positions, distinct
from millrace.state.columns.positions import ValueColumn

__all__ = ["CELL", "COLOURS", "MOST_COLOURS", "CellsOperator", "TrianglesOperator"]

CELL = "cell"
COLOURS = 2
"""Colours of vertices if the program gives no number. Four cells keep up to four subtasks busy; an
edge is in two of them."""
MOST_COLOURS = 16
"""Most colours that a program may choose: they make 816 cells."""
_KEY_GROUPS = 128
_FORWARD, _BACKWARD, _COUNTED = range(3)
_Integers = npt.NDArray[np.int64]
_AT_ONCE = 1 << 20
"""Pairs of neighbours that are looked up together."""


@cache
def _cells(colours: int) -> list[tuple[int, int, int]]:
    return list(combinations_with_replacement(range(colours), 3))


@cache
def _cells_of_pair(colours: int) -> list[list[_Integers]]:
    """Numbers of the cells of an edge, by the colours of its ends."""
    cells = _cells(colours)

    def having(one: int, two: int) -> _Integers:
        wanted = [tuple(sorted((one, two, third))) for third in range(colours)]
        return np.array([cells.index(cell) for cell in wanted])  # type: ignore[arg-type]

    return [[having(one, two) for two in range(colours)] for one in range(colours)]


@cache
def _cell_keys(colours: int, max_parallelism: int) -> _Integers:
    """Keys of the cells, of which each subtask gets equally many, and neighbours if possible."""
    count = len(_cells(colours))
    keys = np.arange(64 * max(max_parallelism, count))
    groups = owners_of_columns(pa.array(keys), max_parallelism, max_parallelism)
    keys = keys[np.argsort(groups, kind="stable")]
    starts = np.searchsorted(np.sort(groups), np.arange(max_parallelism))
    wanted = np.arange(count) * max_parallelism // count
    places = np.arange(count) - np.searchsorted(wanted, wanted)  # among the cells of a group
    cell_keys: _Integers = keys[starts[wanted] + places]
    return cell_keys


def _colours_of(ids: pa.Array, colours: int) -> _Integers:
    owners: _Integers = owners_of_columns(ids, colours, _KEY_GROUPS).astype(np.int64)
    return owners


class CellsOperator(Operator):
    """Sends each edge to all of its cells.

    Args:
        colours: number of colours.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, colours: int = COLOURS) -> None:
        self._colours = colours

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        data, colours = batch.data, self._colours
        one, two = (_colours_of(data.column(name), colours) for name in (LOW, HIGH))
        table = np.array(_cells_of_pair(colours))
        keys = _cell_keys(colours, self.context.max_parallelism)
        cells = keys.take(table[one, two])
        rows = pa.array(np.repeat(np.arange(len(batch)), colours))
        columns = [column.take(rows) for column in data.columns]
        made = pa.RecordBatch.from_arrays(
            [*columns, pa.array(cells.reshape(-1))], [*data.schema.names, CELL]
        )
        self.output.emit(ColumnBatch(made, None, None, "dict"))


class TrianglesOperator(PacedOperator):
    """Counts triangles of its cells, and emits by how much the counts change.

    Args:
        vertex_type: type of the ids.
        by_vertex: whether changes are given by vertex. If not, as one number.
        colours: number of colours.
    """

    def __init__(self, vertex_type: pa.DataType, by_vertex: bool, colours: int = COLOURS) -> None:
        self._vertex, self._by_vertex, self._colours = vertex_type, by_vertex, colours

    def open(self) -> None:
        super().open()
        values = (
            ValueColumn(np.dtype(np.int64), name="forward"),
            ValueColumn(np.dtype(np.int64), name="backward"),
            ValueColumn(np.dtype(np.bool_), name="counted"),
        )
        columns = ColumnsOf((pa.int64(),), edge_keys(self._vertex), (), values, (CELL,))
        self._table = slot_table(self.context, "@cells", columns)

    def restore(self) -> None:
        self._touched: list[Positions] = []
        self._nodes = NodeNumbers(pa.int64(), self._vertex)
        self._adjacency, self._index = Adjacency(), HashIndex()
        self._x = self._y = np.zeros(0, np.int64)
        self._weight = self._wanted = np.zeros(0, np.int64)
        slots = self._table.live_slots()
        if slots.size:
            self._connect(slots)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        data = batch.data
        is_edge = pc.not_equal(data.column(LOW), data.column(HIGH))
        data = data.filter(is_edge)  # a loop is in no triangle
        if not len(data):
            return
        table = self._table
        slots = table.slots_of([data.column(name) for name in (CELL, LOW, HIGH)], create=True)
        table.touch(slots)
        forward, backward = table.column(_FORWARD), table.column(_BACKWARD)
        flipped = numbers_of(data, FLIPPED)
        count_both_ways(slots, numbers_of(data, CHANGE), flipped, forward, backward)
        self._touched.append(slots)

    def has_changes(self) -> bool:
        return bool(self._touched)

    def give_results(self) -> None:
        table = self._table
        slots = distinct(np.concatenate(self._touched))
        self._touched = []
        copies = table.column(_FORWARD).take(slots) + table.column(_BACKWARD).take(slots)
        was_counted = table.column(_COUNTED).take(slots)
        gone, came = slots[(copies == 0) & was_counted], slots[(copies > 0) & ~was_counted]
        lost = self._triangles(gone)
        self._disconnect(gone)
        table.remove(slots[copies == 0])
        if came.size:
            table.column(_COUNTED)[came] = True
            self._connect(came)
        self._emit(self._triangles(came), lost)
        if self._nodes.is_sparse(table.space.count):
            self.restore()  # numbers of vertices that have left are free then

    # -- triangles ---------------------------------------------------------------------

    def _triangles(self, slots: Positions) -> _Integers:
        """Triangles with an edge at the slots, once each: rows of three nodes."""
        if not slots.size:
            return np.zeros((0, 3), np.int64)
        order = np.full(self._x.size, slots.size)
        order[slots] = np.arange(slots.size)
        x, y = self._x.take(slots), self._y.take(slots)
        few = self._adjacency.lengths(x) <= self._adjacency.lengths(y)
        near, far = np.where(few, x, y), np.where(few, y, x)
        ends = np.cumsum(self._adjacency.lengths(near))
        parts = np.searchsorted(ends, np.arange(0, int(ends[-1]) + 1, _AT_ONCE), side="right")
        bounds = np.unique(np.concatenate([parts, [0, slots.size]]))
        triangles = [
            self._closed(slots, near, far, order, int(start), int(end))
            for start, end in pairwise(bounds)
        ]
        return np.concatenate(triangles)

    def _closed(
        self,
        slots: Positions,
        near: _Integers,
        far: _Integers,
        order: _Integers,
        start: int,
        end: int,
    ) -> _Integers:
        rows, one = self._adjacency.of(near[start:end])
        rows = rows + start
        third = self._x.take(one) + self._y.take(one) - near.take(rows)
        two = self._edges_between(far.take(rows), third)
        mine = order.take(slots.take(rows))
        # the first of a triangle's edges among the slots finds it
        first = (two >= 0) & (mine < order.take(one)) & (mine < order.take(two, mode="clip"))
        triangles = np.stack([near.take(rows)[first], far.take(rows)[first], third[first]], axis=1)
        here = self._weight.take(triangles).sum(axis=1) == self._wanted.take(triangles[:, 0])
        kept: _Integers = triangles[here]
        return kept

    def _edges_between(self, x: _Integers, y: _Integers) -> _Integers:
        """Slot of the edge between nodes. -1 if there is none."""
        return self._index.find([_word(x, y)])

    # -- edges -------------------------------------------------------------------------

    def _connect(self, slots: Positions) -> None:
        cell, low, high = self._table.keys_at(slots)
        x, y = self._nodes.of(cell, low), self._nodes.of(cell, high)
        most = int(slots.max()) + 1
        self._x, self._y = grown(self._x, most), grown(self._y, most)
        self._x[slots], self._y[slots] = x, y
        self._colour(cell, low, x)
        self._colour(cell, high, y)
        self._index.insert([_word(x, y)], slots)
        self._adjacency.add(np.concatenate([x, y]), np.concatenate([slots, slots]))

    def _colour(self, cells: pa.Array, ids: pa.Array, nodes: _Integers) -> None:
        """Note the colours of nodes and of their cells. A multiset of colours is the sum of their
        weights: a triangle counts in the cell of its colours, not in others that have its edges."""
        most = self._nodes.count
        self._weight, self._wanted = grown(self._weight, most), grown(self._wanted, most)
        self._weight[nodes] = 4 ** _colours_of(ids, self._colours)
        keys = _cell_keys(self._colours, self.context.max_parallelism)
        order = np.argsort(keys)
        sums = (4 ** np.array(_cells(self._colours))).sum(axis=1).take(order)
        at = np.searchsorted(keys.take(order), cells.to_numpy(zero_copy_only=False))
        self._wanted[nodes] = sums.take(at)

    def _disconnect(self, slots: Positions) -> None:
        if slots.size:
            x, y = self._x.take(slots), self._y.take(slots)
            self._index.delete(slots)
            self._adjacency.remove(np.concatenate([x, y]), np.concatenate([slots, slots]))

    def _emit(self, gained: _Integers, lost: _Integers) -> None:
        if not self._by_vertex:
            change = pa.array([gained.shape[0] - lost.shape[0]], pa.int64())
            columns, names = [change], [CHANGE]
        else:
            nodes = np.concatenate([gained.reshape(-1), lost.reshape(-1)])
            sums = np.bincount(nodes, np.repeat([1, -1], [gained.size, lost.size]))
            changed = np.flatnonzero(sums)
            counts = pa.array(sums.take(changed).astype(np.int64))
            columns, names = [self._nodes.ids(changed), counts], [VERTEX, CHANGE]
        made = pa.RecordBatch.from_arrays(columns, names)
        if len(made):
            self.output.emit(ColumnBatch(made, None, None, "dict"))


def _word(x: _Integers, y: _Integers) -> _Integers:
    """One number for two nodes, in whatever order."""
    word: _Integers = (np.minimum(x, y) << 32) | np.maximum(x, y)
    return word
