"""PageRank, refreshed around each change.

A rank that is not exactly right leaves a residual: the difference to what its neighbours make of
it. A change of edges changes few residuals. Those above a limit are added to their ranks and handed
on to the neighbours, until all are below it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millrace.graph.streams.edge_table import VERTEX, slot_table
from millrace.graph.streams.solver_operator import Floats, Integers, SolverOperator
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.growable_columns import grown
from millrace.state.columns.hash_index import Positions, distinct
from millrace.state.columns.positions import ValueColumn

__all__ = ["RANK", "RanksOperator"]

RANK = "rank"


class RanksOperator(SolverOperator):
    """Keeps the rank of each vertex. Copies of an edge count.

    Args:
        vertex_type: type of the ids.
        damping: probability of following an edge.
        tolerance: largest residual, and largest difference of a rank that is not shown.
    """

    def __init__(self, vertex_type: pa.DataType, damping: float, tolerance: float) -> None:
        super().__init__(vertex_type, RANK)
        self._damping, self._tolerance = damping, tolerance

    def open(self) -> None:
        super().open()
        shown = (ValueColumn(np.dtype(np.float64), name=RANK),)
        columns = ColumnsOf((self._vertex,), (), (), shown, (VERTEX,))
        self._shown = slot_table(self.context, "@ranks", columns)

    def _weights(self, slots: Positions, value: pa.Array) -> Floats:
        return self._table.column(0).take(slots).astype(np.float64)

    def _solve(self) -> None:
        self._rank = np.zeros(0)
        self._residual = np.zeros(0)
        self._present = np.zeros(0, np.bool_)
        self._reach()
        slots = self._shown.live_slots()
        if slots.size:
            nodes = self._nodes.of(*self._shown.keys_at(slots))
            self._reach()
            self._rank[nodes] = self._shown.column(0).take(slots)
        every = np.arange(self._nodes.count)
        self._residual[every] -= self._rank.take(every)
        self._exist(every)
        self._spread(every, self._rank.take(every))
        self._push(every)

    def _reach(self) -> None:
        count = self._nodes.count
        self._rank = grown(self._rank, count)
        self._residual = grown(self._residual, count)
        self._present = grown(self._present, count)
        self._edges.degree = grown(self._edges.degree, count)

    def _exist(self, nodes: Positions) -> None:
        """Note which of distinct nodes are in the graph: those have a rank of their own."""
        now, before = self._edges.degree.take(nodes) > 0, self._present.take(nodes)
        own = 1 - self._damping
        self._residual[nodes] += own * (now.astype(np.float64) - before.astype(np.float64))
        self._present[nodes] = now
        gone = nodes[~now]
        self._rank[gone] = self._residual[gone] = 0

    def _spread(self, nodes: Positions, ranks: Floats) -> Integers:
        """Add what nodes of such ranks give their neighbours to residuals; returns the
        neighbours."""
        rows, slots = self._edges.out.of(nodes)
        weights = self._edges.weight.take(slots)
        strength = np.bincount(rows, weights, nodes.size)
        ends = self._edges.y.take(slots)
        given = self._damping * ranks.take(rows) * weights / strength.take(rows)
        np.add.at(self._residual, ends, given)
        return ends

    def _update(self, former: Positions, present: Positions) -> Positions:
        edges = self._edges
        sources, targets = edges.x.take(former), edges.y.take(former)
        of_present = self._ends_of(present)
        self._reach()
        sources = distinct(np.concatenate([sources, of_present[0]]))
        reached = [self._spread(sources, -self._rank.take(sources))]
        edges.disconnect(former)
        self._connect(present)
        self._reach()
        ends = distinct(np.concatenate([sources, targets, of_present[1]]))
        reached.append(self._spread(sources, self._rank.take(sources)))
        self._exist(ends)
        touched = distinct(np.concatenate([ends, *reached]))
        return distinct(np.concatenate([ends, self._push(touched)]))

    def _ends_of(self, slots: Positions) -> tuple[Integers, Integers]:
        source, target, _ = self._table.keys_at(slots)
        return self._nodes.of(source), self._nodes.of(target)

    def _push(self, nodes: Positions) -> Positions:
        """Hand residuals on until all are small; returns the nodes whose ranks have changed."""
        changed = [nodes[:0]]
        while True:
            rest = self._residual.take(nodes)
            large = np.abs(rest) > self._tolerance * (1 - self._damping)
            nodes, rest = nodes[large], rest[large]
            if not nodes.size:
                return distinct(np.concatenate(changed))
            self._rank[nodes] += rest
            self._residual[nodes] = 0
            changed.append(nodes)
            nodes = distinct(self._spread(nodes, rest))

    def _emit(self, touched: Positions) -> None:
        if not touched.size:
            return
        table = self._shown
        ids = self._nodes.ids(touched)
        slots = table.slots_of([ids], create=False)
        before, now = slots >= 0, self._present.take(touched)
        new, old = self._rank.take(touched), np.zeros(touched.size)
        if before.any():
            old[before] = table.column(0).take(slots[before])
        changed = (before != now) | (now & (np.abs(new - old) > self._tolerance))
        table.remove(slots[changed & before & ~now])
        written = np.flatnonzero(changed & now)
        if written.size:
            at = table.slots_of([ids.take(pa.array(written))], create=True)
            table.touch(at)
            table.column(0)[at] = new.take(written)
        self._give(touched, old, new, before & changed, now & changed)
