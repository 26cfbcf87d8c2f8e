"""Distances from one vertex, repaired after each batch of changes.

When edges of the tree of shortest paths go, only the vertices below them in the tree are computed
anew, from their other edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.errors import JobExecutionError
from millrace.graph.streams.solver_operator import Floats, Integers, SolverOperator
from millrace.state.columns.growable_columns import grown
from millrace.state.columns.hash_index import Positions, distinct

__all__ = ["DISTANCE", "DistancesOperator"]

DISTANCE = "distance"
_NONE = np.zeros(0, np.int64)


class DistancesOperator(SolverOperator):
    """Keeps the length of the shortest path from a vertex to each vertex that it reaches.

    Args:
        vertex_type: type of the ids.
        source: the vertex at which paths begin.
    """

    def __init__(self, vertex_type: pa.DataType, source: Any) -> None:
        super().__init__(vertex_type, DISTANCE)
        self._source = source

    def _weights(self, slots: Positions, value: pa.Array) -> Floats:
        weights: Floats = value.to_numpy(zero_copy_only=False)
        if weights.size and not weights.min() >= 0:  # NaN, too
            raise JobExecutionError(
                f"operator '{self.context.name}' got an edge with the length {weights.min()}: "
                "lengths are 0 or more"
            )
        return weights

    def _solve(self) -> None:
        [self._start] = self._nodes.of(pa.array([self._source], self._vertex))
        self._distance = self._shown = np.zeros(0)
        self._via = np.zeros(0, np.int64)
        self._reach()
        self._relax(self._from_start())
        self._shown = self._distance.copy()

    def _reach(self) -> None:
        """Have a distance for each node."""
        known, count = self._distance.size, self._nodes.count
        if count > known:
            size = max(count, 2 * known)
            more = np.full(size - known, np.inf)
            self._distance = np.concatenate([self._distance, more])
            self._shown = np.concatenate([self._shown, more])
            self._via = np.concatenate([self._via, np.full(more.size, -1)])
        self._edges.degree = grown(self._edges.degree, self._distance.size)

    def _from_start(self) -> Positions:
        """The first vertex, if it has just become part of the graph or has left it."""
        start, edges = self._start, self._edges
        distance = 0.0 if edges.degree[start] else np.inf
        if distance == self._distance[start]:
            return _NONE
        self._distance[start] = distance
        return np.array([start])

    def _update(self, former: Positions, present: Positions) -> Positions:
        edges = self._edges
        cut = self._below(former)
        edges.disconnect(former)
        self._connect(present)
        self._reach()
        self._distance[cut], self._via[cut] = np.inf, -1
        begun = self._from_start()
        _, back = edges.into.of(cut)
        first = self._shorten(np.concatenate([back, present]))
        changed = self._relax(distinct(np.concatenate([first, begun])))
        return distinct(np.concatenate([cut, begun, changed]))

    def _below(self, former: Positions) -> Positions:
        """Nodes whose shortest path has one of the edges."""
        ends = self._edges.y.take(former)
        level = distinct(ends[self._via.take(ends) == former])
        found = [level]
        while level.size:
            _, out = self._edges.out.of(level)
            ends = self._edges.y.take(out)
            level = distinct(ends[self._via.take(ends) == out])
            found.append(level)
        return np.concatenate(found)

    def _relax(self, level: Positions) -> Positions:
        """Shorten paths from nodes on; returns all nodes whose distance has changed."""
        found = [level]
        while level.size:
            _, out = self._edges.out.of(level)
            level = self._shorten(out)
            found.append(level)
        return np.concatenate(found)

    def _shorten(self, slots: Integers) -> Positions:
        """Let paths go over edges if that is shorter; returns the nodes that they reach."""
        distance, ends = self._distance, self._edges.y.take(slots)
        length = distance.take(self._edges.x.take(slots)) + self._edges.weight.take(slots)
        shorter = length < distance.take(ends)
        slots, ends, length = slots[shorter], ends[shorter], length[shorter]
        if not slots.size:
            return _NONE
        # of the edges to a node the shortest is written last
        order = np.argsort(-length, kind="stable")
        distance[ends.take(order)] = length.take(order)
        self._via[ends.take(order)] = slots.take(order)
        return distinct(ends)

    def _emit(self, touched: Positions) -> None:
        new, old = self._distance.take(touched), self._shown.take(touched)
        changed = new != old
        touched, new, old = touched[changed], new[changed], old[changed]
        self._shown[touched] = new
        if touched.size:
            self._give(touched, old, new, np.isfinite(old), np.isfinite(new))
