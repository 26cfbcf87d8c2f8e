"""Distances from one vertex, repaired after each batch of changes.

When edges of the tree of shortest paths go, only the vertices below them in the tree are computed
anew, from their other edges. A round has two phases. First all vertices below removed edges lose
their distances, in all subtasks: an offer of one of them would lead back to itself. Then they ask
for offers, and new edges make theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import ColumnBatch
from millrace.graph.streams.edge_columns import VALUE, numbers_of
from millrace.graph.streams.edge_table import VERTEX, slot_table
from millrace.graph.streams.lockstep_operator import Messages
from millrace.graph.streams.solver_operator import NONE, Floats, Integers, SolverOperator, joined
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.hash_index import Positions, distinct
from millrace.state.columns.positions import ValueColumn

__all__ = ["DISTANCE", "DistancesOperator"]

DISTANCE = "distance"
_FROM, _TO, _LENGTH = "from", "to", "length"
_WITHDRAW, _OFFER = range(2)
"""Phases of a round."""
_DISTANCE, _SHOWN, _VIA = range(3)
"""Columns of the state."""
_Paths = tuple[Integers, Integers, Floats]
"""Last vertices but one of paths, their ends, and their lengths."""


class DistancesOperator(SolverOperator):
    """Keeps the length of the shortest path from a vertex to each vertex that it reaches.

    Of a vertex of another subtask, it knows the shortest length that it has offered.

    Args:
        vertex_type: type of the ids.
        source: the vertex at which paths begin.
        loop: loop of the messages between subtasks.
    """

    phases = 2

    def __init__(self, vertex_type: pa.DataType, source: Any, loop: str) -> None:
        super().__init__(vertex_type, DISTANCE, loop)
        self._source = source
        self.message_schema = pa.schema(
            {_FROM: vertex_type, _TO: vertex_type, _LENGTH: pa.float64()}
        )

    def open(self) -> None:
        super().open()
        is_number = pa.types.is_integer(self._vertex)
        via = np.dtype(np.int64) if is_number else np.dtype(object)
        values = (
            ValueColumn(np.dtype(np.float64), np.inf, DISTANCE),
            ValueColumn(np.dtype(np.float64), np.inf, "shown"),
            ValueColumn(via, 0 if is_number else None, "via"),
        )
        columns = ColumnsOf((self._vertex,), (), (), values, (VERTEX,))
        self._kept = slot_table(self.context, "@distances", columns)

    # -- numbers by node -------------------------------------------------------------------

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        lengths = numbers_of(batch.data, VALUE)
        if lengths.size and not lengths.min() >= 0:  # NaN, too
            raise JobExecutionError(
                f"operator '{self.context.name}' got an edge with the length {lengths.min()}: "
                "lengths are 0 or more"
            )
        super().process_columns(number, batch)

    def _weights(self, slots: Positions, value: pa.Array) -> Floats:
        weights: Floats = value.to_numpy(zero_copy_only=False)
        return weights

    def _clear(self) -> None:
        self._distance = np.zeros(0)
        self._via = NONE
        self._cut: list[Positions] = []
        self._changed: list[Positions] = []
        [self._start] = self._numbered(pa.array([self._source], self._vertex))
        self._has_start = bool(self._is_own(np.array([self._start]))[0])
        if self._has_start:
            self._distance[self._start] = 0

    def _reach(self, count: int) -> None:
        known = self._distance.size
        if count > known:
            size = max(count, 2 * known)
            self._distance = np.concatenate([self._distance, np.full(size - known, np.inf)])
            self._via = np.concatenate([self._via, np.full(size - known, -1)])

    def _load(self) -> None:
        table = self._kept
        slots = table.live_slots()
        nodes = self._numbered(*table.keys_at(slots))
        self._distance[nodes] = table.column(_DISTANCE).take(slots)
        if self._has_start:
            self._distance[self._start] = 0
        has_via = np.isfinite(self._distance.take(nodes)) & (nodes != self._start)
        before = pa.array(table.column(_VIA).take(slots[has_via]), self._vertex)
        via = self._numbered(before)
        self._via[nodes[has_via]] = via

    def note(self) -> int:
        """Number of the edges of this subtask that begin or end at the vertex from which
        distances are measured."""
        start = np.array([self._start])
        edges = self._edges
        return int(edges.out.lengths(start)[0] + edges.into.lengths(start)[0])

    def progress(self) -> Any:
        cut, changed = (self._nodes.ids(joined(part)) for part in (self._cut, self._changed))
        return cut.to_pylist(), changed.to_pylist()

    def resume(self, progress: Any) -> None:
        cut, changed = (self._numbered(pa.array(ids, self._vertex)) for ids in progress)
        self._cut, self._changed = [cut], [changed]

    # -- rounds ----------------------------------------------------------------------------

    def begin_phase(self, phase: int, anew: bool) -> Messages | None:
        if phase == _WITHDRAW:
            return self._withdraw_removed(anew)
        return self._offer_added(anew)

    def receive(self, phase: int, rows: pa.RecordBatch) -> Messages | None:
        before, ends, lengths = rows.columns
        length = lengths.to_numpy(zero_copy_only=False)
        if phase == _WITHDRAW:
            via, nodes = self._nodes.find(before), self._nodes.find(ends)
            known = (via >= 0) & (nodes >= 0)
            return self._messages(self._withdraw((via[known], nodes[known], length[known])))
        asks = np.isnan(length)
        asked = self._nodes.find(ends.filter(pa.array(asks)))
        asked = distinct(asked[asked >= 0])
        self._distance[asked] = np.inf
        level = self._take_offers(before, ends, length, ~asks)
        slots = np.concatenate([self._edges.into.of(asked)[1], self._edges.out.of(level)[1]])
        return self._messages(self._relax(slots))

    def _take_offers(
        self, before: pa.Array, ends: pa.Array, length: Floats, offered: npt.NDArray[np.bool_]
    ) -> Positions:
        """Take the rows that offer a shorter path; returns the nodes that they reach."""
        places = np.flatnonzero(offered)
        nodes = self._numbered(ends.take(pa.array(places)))
        shorter = length.take(places) < self._distance.take(nodes)
        places = places[shorter]
        via = self._numbered(before.take(pa.array(places)))
        return self._shorten((via, nodes[shorter], length.take(places)))

    def _withdraw_removed(self, anew: bool) -> Messages | None:
        """Remove edges. What was reached by them loses its distance."""
        slots, copies, before = self._waiting()
        gone = slots[copies == 0]
        alike = slots[(copies > 0) & (before > 0)]
        added = slots[before == 0]
        self._touched = [added] if added.size else []
        self._count_copies(alike)
        edges = self._edges
        x, y = edges.x.take(gone), edges.y.take(gone)
        paths = x, y, self._distance.take(x) + edges.weight.take(gone)
        edges.disconnect(gone)
        self._table.remove(gone)
        if anew:
            self._forget()
            return None
        return self._messages(self._withdraw(paths))

    def _forget(self) -> None:
        """Let all vertices lose their distances."""
        every = np.arange(self._known)
        self._distance[:] = np.inf
        self._via[:] = -1
        self._changed.append(every[self._is_own(every)])
        if self._has_start:
            self._distance[self._start] = 0

    def _withdraw(self, paths: _Paths) -> _Paths:
        """Let vertices that are reached by paths lose their distances, and all below them; returns
        paths to vertices of other subtasks."""
        edges, others = self._edges, [_no_paths()]
        while paths[0].size:
            via, ends, length = paths
            reaches = length <= self._distance.take(ends)
            own = self._is_own(ends)
            others.append(_chosen(paths, reaches & ~own & np.isfinite(length)))
            level = distinct(ends[own & reaches & (self._via.take(ends) == via)])
            slots = edges.out.of(level)[1]
            x = edges.x.take(slots)
            paths = x, edges.y.take(slots), self._distance.take(x) + edges.weight.take(slots)
            self._distance[level], self._via[level] = np.inf, -1
            self._cut.append(level)
        return _all(others)

    def _offer_added(self, anew: bool) -> Messages | None:
        """Add edges. Vertices without a distance ask for one."""
        slots, _, before = self._waiting()
        added, later = slots[before == 0], slots[before > 0]
        self._touched = [later] if later.size else []
        self._count_copies(added)
        self._connect(added)
        cut = joined(self._cut)
        self._cut = []
        self._changed.append(cut)
        offers = [added, self._edges.into.of(cut)[1]]
        if anew and self._has_start:
            offers.append(self._edges.out.of(np.array([self._start]))[1])
        relaxed = self._relax(distinct(np.concatenate(offers)))
        return self._messages(relaxed, cut)

    def _relax(self, slots: Positions) -> _Paths:
        """Let paths go over edges where that is shorter, and go on from there; returns paths to
        vertices of other subtasks."""
        edges, others = self._edges, [_no_paths()]
        while slots.size:
            x, ends = edges.x.take(slots), edges.y.take(slots)
            length = self._distance.take(x) + edges.weight.take(slots)
            paths = x, ends, length
            own, shorter = self._is_own(ends), length < self._distance.take(ends)
            away = _chosen(paths, shorter & ~own)
            if away[0].size:
                np.minimum.at(self._distance, away[1], away[2])
                others.append(away)
            slots = edges.out.of(self._shorten(_chosen(paths, shorter & own)))[1]
        away = _all(others)
        # offers that were outdone meanwhile are not sent
        return _chosen(away, away[2] == self._distance.take(away[1]))

    def _shorten(self, paths: _Paths) -> Positions:
        """Take paths that are shorter; returns the nodes that they reach."""
        via, ends, length = _chosen(paths, paths[2] < self._distance.take(paths[1]))
        # of the paths to a node the shortest is written last
        order = np.argsort(-length, kind="stable")
        self._distance[ends.take(order)] = length.take(order)
        self._via[ends.take(order)] = via.take(order)
        level = distinct(ends)
        self._changed.append(level)
        return level

    def _messages(self, paths: _Paths, asking: Positions = NONE) -> Messages | None:
        """Messages about paths to vertices of other subtasks. Vertices that ask do so in all."""
        via, ends, length = paths
        others = [n for n in range(self._count) if n != self._index]
        if not ends.size and not (asking.size and others):
            return None
        asks = np.tile(asking, len(others))
        ends_of_all = self._nodes.ids(np.concatenate([ends, asks]))
        before = self._nodes.ids(np.concatenate([via, asks]))
        lengths = np.concatenate([length, np.full(asks.size, np.nan)])
        targets = np.concatenate([self._owner.take(ends), np.repeat(others, asking.size)])
        rows = [before, ends_of_all, pa.array(lengths)]
        made = pa.RecordBatch.from_arrays(rows, schema=self.message_schema)
        return Messages(made, targets.astype(np.int64))

    # -- results ---------------------------------------------------------------------------

    def end_epoch(self, ended: bool) -> None:
        super().end_epoch(ended)
        if self._changed or self._cut:
            self._write(joined([*self._changed, *self._cut]), False)

    def _show(self, note: int) -> None:
        if self._has_start:
            self._changed.append(np.array([self._start]))
            self._distance[self._start] = 0.0 if note else np.inf
        touched = joined(self._changed)
        self._changed = []
        self._write(touched, True)
        if self._has_start:
            self._distance[self._start] = 0

    def _write(self, touched: Positions, is_shown: bool) -> None:
        """Write the distances of nodes to the state. If they are shown, emit their changes."""
        table, ids = self._kept, self._nodes.ids(touched)
        slots = table.slots_of([ids], create=True)
        table.touch(slots)
        new, old = self._distance.take(touched), table.column(_SHOWN).take(slots)
        table.column(_DISTANCE)[slots] = new
        self._write_via(touched, slots)
        if is_shown:
            table.column(_SHOWN)[slots] = new
            changed = new != old
            before, now = np.isfinite(old) & changed, np.isfinite(new) & changed
            self._give(ids, old, new, before, now)
        left = np.isinf(new) & np.isinf(table.column(_SHOWN).take(slots))
        table.remove(slots[left])

    def _write_via(self, touched: Positions, slots: Positions) -> None:
        via = self._via.take(touched)
        known = via >= 0
        ids = self._nodes.ids(via[known])
        values = ids.to_numpy(zero_copy_only=False)
        self._kept.column(_VIA)[slots[known]] = values


def _chosen(paths: _Paths, mask: npt.NDArray[np.bool_]) -> _Paths:
    via, ends, length = paths
    return via[mask], ends[mask], length[mask]


def _no_paths() -> _Paths:
    return NONE, NONE, np.zeros(0)


def _all(several: list[_Paths]) -> _Paths:
    via, ends, length = zip(*several, strict=True)
    return np.concatenate(via), np.concatenate(ends), np.concatenate(length)
