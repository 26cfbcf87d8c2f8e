"""Base of operators that keep a number for each vertex. Each subtask has the edges that begin at
its vertices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.types.batch import ColumnBatch
from millrace.graph.streams.adjacency import Adjacency
from millrace.graph.streams.changelog import changelog
from millrace.graph.streams.copies import counted
from millrace.graph.streams.edge_columns import CHANGE, SOURCE, TARGET, VALUE, numbers_of
from millrace.graph.streams.edge_table import VERTEX, slot_table
from millrace.graph.streams.lockstep_operator import LockstepOperator
from millrace.graph.streams.node_numbers import NodeNumbers
from millrace.state.column_key_groups import owners_of_columns
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.growable_columns import grown
from millrace.state.columns.hash_index import Positions, distinct
from millrace.state.columns.positions import ValueColumn

__all__ = ["NONE", "SolverEdges", "Floats", "Integers", "SolverOperator", "joined"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NONE = np.zeros(0, np.int64)
"""No nodes, or no slots."""


@dataclass
class SolverEdges:
    """Edges by slot, and the slots at each node.

    Attributes:
        x, y: nodes of source and target by slot.
        weight: weight by slot.
        out, into: slots of the edges that begin or end at a node.
    """

    x: Integers
    y: Integers
    weight: Floats
    out: Adjacency
    into: Adjacency

    @staticmethod
    def empty() -> SolverEdges:
        """A `SolverEdges` object without any edges."""
        return SolverEdges(NONE, NONE, np.zeros(0), Adjacency(), Adjacency())

    def connect(self, slots: Positions, x: Integers, y: Integers, weights: Floats) -> None:
        """Add edges."""
        if slots.size:
            most = int(slots.max()) + 1
            self.x, self.y = grown(self.x, most), grown(self.y, most)
            self.weight = grown(self.weight, most)
            self.x[slots], self.y[slots], self.weight[slots] = x, y, weights
            self.out.add(x, slots)
            self.into.add(y, slots)

    def disconnect(self, slots: Positions) -> None:
        """Remove edges."""
        if slots.size:
            self.out.remove(self.x.take(slots), slots)
            self.into.remove(self.y.take(slots), slots)


class SolverOperator(LockstepOperator):
    """Keeps the edges that begin at the subtask's vertices, identified by source, target and value,
    and a number for each vertex.

    Args:
        vertex_type: type of the ids.
        result: name of the number in the results.
        loop: loop of the messages between subtasks.
    """

    def __init__(self, vertex_type: pa.DataType, result: str, loop: str) -> None:
        super().__init__(loop)
        self._vertex, self._result = vertex_type, result

    def open(self) -> None:
        super().open()
        values = (
            ValueColumn(np.dtype(np.int64), name="copies"),
            ValueColumn(np.dtype(np.int64), name="counted"),
        )
        inner = (self._vertex, pa.float64())
        columns = ColumnsOf((self._vertex,), inner, (), values, (SOURCE,))
        self._table = slot_table(self.context, "@out-edges", columns)
        self._schema = pa.schema({VERTEX: self._vertex, self._result: pa.float64()})

    def restore(self) -> None:
        self._derive()
        super().restore()

    def _derive(self) -> None:
        """Make from the state what is not in it: numbers of vertices, and edges by vertex."""
        table = self._table
        self._nodes, self._edges = NodeNumbers(self._vertex), SolverEdges.empty()
        self._owner = np.zeros(0, np.int64)
        self._known = 0
        slots = table.live_slots()
        copies, counts = table.column(0).take(slots), table.column(1).take(slots)
        changed = slots[(copies != counts) | (copies == 0)]
        self._touched = [changed] if changed.size else []
        self._clear()
        self._connect(slots[counts > 0])
        self._load()

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        if not len(batch):
            return
        data, table = batch.data, self._table
        slots = table.slots_of([data.column(name) for name in (SOURCE, TARGET, VALUE)], create=True)
        table.touch(slots)
        counted(slots, numbers_of(data, CHANGE), table.column(0))
        self._touched.append(slots)

    def has_input(self) -> bool:
        return bool(self._touched)

    def _waiting(self) -> tuple[Positions, Integers, Integers]:
        """Edges that have changed: their slots, present copies, and copies that count so far."""
        slots = distinct(np.concatenate([NONE, *self._touched]))
        self._touched = []
        copies, before = self._table.column(0).take(slots), self._table.column(1).take(slots)
        changed = copies != before
        self._table.remove(slots[~changed & (copies == 0)])
        return slots[changed], copies[changed], before[changed]

    def _count_copies(self, slots: Positions) -> None:
        """Let the present copies of edges count."""
        table = self._table
        table.touch(slots)
        table.column(1)[slots] = table.column(0).take(slots)

    def end_round(self, note: int) -> None:
        self._show(note)
        if self._nodes.is_sparse(self._table.space.count):
            self._derive()

    # -- nodes -----------------------------------------------------------------------------

    def _numbered(self, ids: pa.Array) -> Integers:
        """Numbers of vertices. New ones get a number, and a place in all arrays by node."""
        nodes = self._nodes.of(ids)
        known, count = self._known, self._nodes.count
        if count > known:
            self._owner = grown(self._owner, count)
            self._owner[known:count] = self._owners(self._nodes.ids(np.arange(known, count)))
            self._known = count
            self._reach(count)
        return nodes

    def _owners(self, ids: pa.Array) -> Integers:
        """Subtask of each vertex."""
        if self._count == 1:
            return np.zeros(len(ids), np.int64)
        most = self.context.max_parallelism
        owners: Integers = owners_of_columns(ids, self._count, most).astype(np.int64)
        return owners

    def _is_own(self, nodes: Positions) -> npt.NDArray[np.bool_]:
        """Whether each node is a vertex of this subtask."""
        own: npt.NDArray[np.bool_] = self._owner.take(nodes) == self._index
        return own

    def _connect(self, slots: Positions) -> None:
        """Add the edges at slots to those that are solved for."""
        if slots.size:
            source, target, value = self._table.keys_at(slots)
            x, y = self._numbered(source), self._numbered(target)
            self._edges.connect(slots, x, y, self._weights(slots, value))

    @abstractmethod
    def _clear(self) -> None:
        """Forget the numbers of all nodes."""

    @abstractmethod
    def _reach(self, count: int) -> None:
        """Have a number for so many nodes."""

    @abstractmethod
    def _load(self) -> None:
        """Take the numbers from the state."""

    @abstractmethod
    def _weights(self, slots: Positions, value: pa.Array) -> Floats:
        """Weights of edges."""

    @abstractmethod
    def _show(self, note: int) -> None:
        """Write the numbers to the state, and emit their changes."""

    def _give(
        self,
        vertices: pa.Array,
        old: Floats,
        new: Floats,
        before: npt.NDArray[np.bool_],
        now: npt.NDArray[np.bool_],
    ) -> None:
        rows = changelog(
            self._schema, [vertices, pa.array(old)], [vertices, pa.array(new)], before, now
        )
        if rows is not None:
            self.output.emit(rows)


def joined(parts: Sequence[npt.NDArray[np.int64]]) -> Integers:
    """Distinct nodes of all the given parts."""
    return distinct(np.concatenate([NONE, *parts]))
