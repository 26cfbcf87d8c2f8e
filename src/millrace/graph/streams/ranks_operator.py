"""PageRank, computed again around each change.

A rank that is not exactly right leaves a residual: the difference to what its neighbours make of
it. A change of edges changes few residuals. Those above a limit are added to their ranks and handed
on to the neighbours, also in other subtasks, until all are below it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.graph.streams.edge_table import VERTEX, slot_table
from millrace.graph.streams.lockstep_operator import Messages
from millrace.graph.streams.solver_operator import NONE, Floats, Integers, SolverOperator, joined
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.growable_columns import grown
from millrace.state.columns.hash_index import Positions, distinct
from millrace.state.columns.positions import ValueColumn

__all__ = ["RANK", "RanksOperator"]

RANK = "rank"
_TO, _GIVEN, _ENTRIES = "to", "given", "entries"
_RANK, _RESIDUAL, _INTO, _SHOWN = range(4)
"""Columns of the state."""


class RanksOperator(SolverOperator):
    """Keeps the rank of each vertex. Each copy of an edge counts.

    The residual of another subtask's vertex is what it has to be sent.

    Args:
        vertex_type: type of the ids.
        damping: probability of following an edge.
        tolerance: largest residual, and largest difference of a rank that is not shown.
        loop: loop of the messages between subtasks.
    """

    def __init__(
        self, vertex_type: pa.DataType, damping: float, tolerance: float, loop: str
    ) -> None:
        super().__init__(vertex_type, RANK, loop)
        self._damping, self._tolerance = damping, tolerance
        self.message_schema = pa.schema(
            {_TO: vertex_type, _GIVEN: pa.float64(), _ENTRIES: pa.int64()}
        )

    def open(self) -> None:
        super().open()
        number = np.dtype(np.float64)
        values = (
            ValueColumn(number, 0, RANK),
            ValueColumn(number, 0, "residual"),
            ValueColumn(np.dtype(np.int64), 0, "in-degree"),
            ValueColumn(number, np.nan, "shown"),
        )
        columns = ColumnsOf((self._vertex,), (), (), values, (VERTEX,))
        self._kept = slot_table(self.context, "@residuals", columns)

    # -- numbers by node -------------------------------------------------------------------

    def _weights(self, slots: Positions, value: pa.Array) -> Floats:
        return self._table.column(1).take(slots).astype(np.float64)

    def _clear(self) -> None:
        self._rank, self._residual = np.zeros(0), np.zeros(0)
        self._entries = NONE
        self._present = np.zeros(0, np.bool_)
        self._changed: list[Positions] = []

    def _reach(self, count: int) -> None:
        self._rank = grown(self._rank, count)
        self._residual = grown(self._residual, count)
        self._entries = grown(self._entries, count)
        self._present = grown(self._present, count)

    def _load(self) -> None:
        table = self._kept
        slots = table.live_slots()
        nodes = self._numbered(*table.keys_at(slots))
        self._rank[nodes] = table.column(_RANK).take(slots)
        self._residual[nodes] = table.column(_RESIDUAL).take(slots)
        self._entries[nodes] = table.column(_INTO).take(slots)
        self._present[nodes] = self._has_edges(nodes)

    def progress(self) -> Any:
        return self._nodes.ids(joined(self._changed)).to_pylist()

    def resume(self, progress: Any) -> None:
        self._changed = [self._numbered(pa.array(progress, self._vertex))]

    # -- rounds ----------------------------------------------------------------------------

    def begin_phase(self, phase: int, anew: bool) -> Messages | None:
        slots, copies, before = self._waiting()
        former, present = slots[before > 0], slots[copies > 0]
        sources = joined([self._edges.x.take(former), self._sources_of(present)])
        reached = [sources, self._spread(sources, -self._rank.take(sources))]
        reached.append(self._count_entries(former, -1))
        self._edges.disconnect(former)
        self._count_copies(slots)
        self._table.remove(slots[copies == 0])
        self._connect(present)
        reached.append(self._count_entries(present, 1))
        reached.append(self._spread(sources, self._rank.take(sources)))
        if anew:
            reached = [self._forget()]
        return self._handed_on(joined(reached))

    def receive(self, phase: int, rows: pa.RecordBatch) -> Messages | None:
        ends, *numbers = rows.columns
        nodes = self._numbered(ends)
        given, entries = (column.to_numpy(zero_copy_only=False) for column in numbers)
        np.add.at(self._residual, nodes, given)
        np.add.at(self._entries, nodes, entries)
        return self._handed_on(distinct(nodes))

    def _forget(self) -> Positions:
        """Compute all residuals anew, from the ranks; returns all nodes."""
        every = np.arange(self._known)
        own = every[self._is_own(every)]
        self._residual[:] = 0
        self._residual[own] = -self._rank.take(own)
        self._entries[:] = 0
        self._present[:] = False
        self._spread(own, self._rank.take(own))
        self._count_entries(self._edges.out.of(own)[1], 1)
        return every

    def _sources_of(self, slots: Positions) -> Integers:
        return self._numbered(self._table.keys_at(slots)[0]) if slots.size else NONE

    def _count_entries(self, slots: Positions, change: int) -> Integers:
        """Count edges that come or go at their targets; returns the targets."""
        ends = self._edges.y.take(slots)
        np.add.at(self._entries, ends, change)
        return ends

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

    def _handed_on(self, reached: Positions) -> Messages | None:
        """Hand residuals on from nodes on, and collect what other subtasks have to get."""
        own = self._is_own(reached)
        self._exist(reached[own])
        away = joined([reached[~own], self._push(reached[own])])
        away = away[(self._residual.take(away) != 0) | (self._entries.take(away) != 0)]
        if not away.size:
            return None
        columns = [
            self._nodes.ids(away),
            pa.array(self._residual.take(away)),
            pa.array(self._entries.take(away)),
        ]
        self._residual[away] = self._entries[away] = 0
        rows = pa.RecordBatch.from_arrays(columns, schema=self.message_schema)
        return Messages(rows, self._owner.take(away))

    def _has_edges(self, nodes: Positions) -> npt.NDArray[np.bool_]:
        has_edges: npt.NDArray[np.bool_] = (self._entries.take(nodes) > 0) | (
            self._edges.out.lengths(nodes) > 0
        )
        return has_edges

    def _exist(self, nodes: Positions) -> None:
        """Note which of distinct nodes are in the graph: those have a rank of their own."""
        now, before = self._has_edges(nodes), self._present.take(nodes)
        own = 1 - self._damping
        self._residual[nodes] += own * (now.astype(np.float64) - before.astype(np.float64))
        self._present[nodes] = now
        gone = nodes[~now]
        self._rank[gone] = self._residual[gone] = 0

    def _push(self, nodes: Positions) -> Positions:
        """Hand residuals on until all of this subtask are small; returns the nodes of others that
        they reach."""
        away = []
        while nodes.size:
            self._changed.append(nodes)
            rest = self._residual.take(nodes)
            large = np.abs(rest) > self._tolerance * (1 - self._damping)
            nodes, rest = nodes[large], rest[large]
            self._rank[nodes] += rest
            self._residual[nodes] = 0
            reached = distinct(self._spread(nodes, rest))
            own = self._is_own(reached)
            away.append(reached[~own])
            nodes = reached[own]
        return joined(away)

    # -- results ---------------------------------------------------------------------------

    def end_epoch(self, ended: bool) -> None:
        super().end_epoch(ended)
        if self._changed:
            self._write(joined(self._changed), False)

    def _show(self, note: int) -> None:
        touched = joined(self._changed)
        self._changed = []
        self._write(touched, True)

    def _write(self, touched: Positions, is_shown: bool) -> None:
        """Write the numbers of nodes to the state. If they are shown, emit the changes of ranks."""
        table, ids = self._kept, self._nodes.ids(touched)
        slots = table.slots_of([ids], create=True)
        table.touch(slots)
        new, old = self._rank.take(touched), table.column(_SHOWN).take(slots)
        now, before = self._present.take(touched), ~np.isnan(old)
        table.column(_RANK)[slots] = new
        table.column(_RESIDUAL)[slots] = self._residual.take(touched)
        table.column(_INTO)[slots] = self._entries.take(touched)
        if is_shown:
            changed = (before != now) | (now & (np.abs(new - old) > self._tolerance))
            table.column(_SHOWN)[slots[changed]] = np.where(now, new, np.nan)[changed]
            self._give(ids, old, new, before & changed, now & changed)
            table.remove(slots[~now])
