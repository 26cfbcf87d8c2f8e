"""Base of operators that keep all edges of a graph in one subtask, and a number for each vertex."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.types.batch import ColumnBatch
from millrace.graph.streams.adjacency import Adjacency
from millrace.graph.streams.changelog import PacedOperator, changelog
from millrace.graph.streams.copies import counted
from millrace.graph.streams.edge_columns import CHANGE, SOURCE, TARGET, VALUE, numbers_of
from millrace.graph.streams.edge_table import VERTEX, slot_table
from millrace.graph.streams.forest_operator import edge_keys
from millrace.graph.streams.node_numbers import NodeNumbers
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.growable_columns import grown
from millrace.state.columns.hash_index import Positions, distinct
from millrace.state.columns.positions import ValueColumn

__all__ = ["Edges", "Floats", "Integers", "SolverOperator"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass
class Edges:
    """Edges by slot, and the slots at each node.

    Attributes:
        x, y: nodes of source and target by slot.
        weight: weight by slot.
        out, into: slots of the edges that begin or end at a node.
        degree: number of edges at a node.
    """

    x: Integers
    y: Integers
    weight: Floats
    out: Adjacency
    into: Adjacency
    degree: Integers

    @staticmethod
    def empty() -> Edges:
        """No edges."""
        none = np.zeros(0, np.int64)
        return Edges(none, none, np.zeros(0), Adjacency(), Adjacency(), none)

    def connect(self, slots: Positions, x: Integers, y: Integers, nodes: int) -> None:
        """Add edges among so many nodes."""
        self.degree = grown(self.degree, nodes)
        if not slots.size:
            return
        most = int(slots.max()) + 1
        self.x, self.y = grown(self.x, most), grown(self.y, most)
        self.weight = grown(self.weight, most)
        self.x[slots], self.y[slots] = x, y
        self.out.add(x, slots)
        self.into.add(y, slots)
        np.add.at(self.degree, np.concatenate([x, y]), 1)

    def disconnect(self, slots: Positions) -> None:
        """Remove edges."""
        if slots.size:
            x, y = self.x.take(slots), self.y.take(slots)
            self.out.remove(x, slots)
            self.into.remove(y, slots)
            np.subtract.at(self.degree, np.concatenate([x, y]), 1)


class SolverOperator(PacedOperator):
    """Keeps edges, told apart by source, target and value, and a number for each vertex.

    Args:
        vertex_type: type of the ids.
        result: name of the number in the results.
    """

    def __init__(self, vertex_type: pa.DataType, result: str) -> None:
        self._vertex, self._result = vertex_type, result

    def open(self) -> None:
        super().open()
        values = (
            ValueColumn(np.dtype(np.int64), name="copies"),
            ValueColumn(np.dtype(np.int64), name="counted"),
        )
        key = edge_keys(self._vertex)
        columns = ColumnsOf(key, (pa.float64(),), (), values, (SOURCE, TARGET))
        self._table = slot_table(self.context, "@edges", columns)
        self._schema = pa.schema({VERTEX: self._vertex, self._result: pa.float64()})

    def restore(self) -> None:
        self._touched: list[Positions] = []
        self._nodes, self._edges = NodeNumbers(self._vertex), Edges.empty()
        slots = self._table.live_slots()
        self._connect(slots)
        self._solve()

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        data, table = batch.data, self._table
        slots = table.slots_of([data.column(name) for name in (SOURCE, TARGET, VALUE)], create=True)
        table.touch(slots)
        counted(slots, numbers_of(data, CHANGE), table.column(0))
        self._touched.append(slots)

    def has_changes(self) -> bool:
        return bool(self._touched)

    def give_results(self) -> None:
        table = self._table
        slots = distinct(np.concatenate(self._touched))
        self._touched = []
        copies, before = table.column(0).take(slots), table.column(1).take(slots)
        changed = slots[copies != before]
        table.remove(slots[copies == 0])
        left = changed[table.space.live.take(changed)]
        table.column(1)[left] = table.column(0).take(left)
        was_there = before[copies != before] > 0
        touched = self._update(changed[was_there], left)
        self._emit(touched)
        if self._nodes.is_sparse(table.space.count):
            self.restore()

    def _connect(self, slots: Positions) -> None:
        """Add the edges at slots to those that are solved for."""
        if slots.size:
            source, target, value = self._table.keys_at(slots)
            x, y = self._nodes.of(source), self._nodes.of(target)
            self._edges.connect(slots, x, y, self._nodes.count)
            self._edges.weight[slots] = self._weights(slots, value)

    @abstractmethod
    def _weights(self, slots: Positions, value: pa.Array) -> Floats:
        """Weights of edges."""

    @abstractmethod
    def _solve(self) -> None:
        """Compute the numbers of all vertices, after a restore."""

    @abstractmethod
    def _update(self, former: Positions, present: Positions) -> Positions:
        """Bring the numbers up to date; returns the nodes whose numbers may have changed.

        Args:
            former: changed edges that were there. They are still connected.
            present: changed edges that are there. They are not connected.
        """

    @abstractmethod
    def _emit(self, touched: Positions) -> None:
        """Emit the changes of the numbers of nodes."""

    def _give(
        self,
        nodes: Positions,
        old: Floats,
        new: Floats,
        before: npt.NDArray[np.bool_],
        now: npt.NDArray[np.bool_],
    ) -> None:
        vertices = self._nodes.ids(nodes)
        rows = changelog(
            self._schema, [vertices, pa.array(old)], [vertices, pa.array(new)], before, now
        )
        if rows is not None:
            self.output.emit(rows)
