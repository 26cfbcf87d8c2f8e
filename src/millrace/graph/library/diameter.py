"""`Diameter`: a lower bound of the length of the longest shortest path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace.graph.kernels.adjacency import distinct_neighbours
from millrace.graph.kernels.labels import OrderedLabels
from millrace.graph.library.superstep_algorithm import at_least_one
from millrace.graph.library.superstep_analytic import SuperstepAnalytic, one_row
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["Diameter"]


class Diameter(SuperstepAnalytic[int]):
    """A lower bound of the diameter: the number of edges of a long shortest path, whatever the
    directions of edges, in the component of the vertex with most neighbours.

    A sweep finds the distances from a vertex to all others. The first one begins at the vertex with
    most neighbours, each further one at a vertex that was farthest in the sweep before. Two sweeps
    find the diameter of a tree; on other graphs the result is at least half the diameter, and
    usually equal to it. Of several such vertices, the one with the least id is taken.

    Costs a pass over the edges for each step of each sweep. ``graph.run`` returns the number.

    Args:
        sweeps: number of sweeps.

    Example::

        >>> graph.run(Diameter())  # doctest: +SKIP
    """

    maxima = ("diameter",)

    def __init__(self, sweeps: int = 4) -> None:
        self.sweeps = at_least_one(sweeps, "sweeps") or 1

    def program(self) -> SuperstepProgram:
        return _DiameterProgram(self.sweeps)

    def result_of(self, numbers: dict[str, int]) -> int:
        return numbers["diameter"]


class _DiameterProgram(SuperstepProgram):
    state = ("distances", "is_last", "step", "sweep", "diameter")

    distances: npt.NDArray[np.int64]
    """Distance of each own vertex in this sweep; -1 if it has not been reached yet."""
    is_last: npt.NDArray[np.bool_]
    """Whether each own vertex was reached in the last step."""
    step: int

    def __init__(self, sweeps: int) -> None:
        self._sweeps = sweeps

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self._view = distinct_neighbours(partition, exchange)
        self._ranks = OrderedLabels(partition.ids, exchange, "ids of vertices").ranks
        self.diameter = 0
        self.sweep = 0
        self._begin(self._view.partition.out_degrees)

    def superstep(self, number: int) -> bool:
        view = self._view.partition
        reached = self._view.exchange.pull(self.is_last)[view.targets]
        is_next = view.combine_at_sources(reached, "or", False) & (self.distances < 0)
        if self.exchange.all_reduce(int(is_next.any()), "max"):
            self.step += 1
            self.distances[is_next] = self.step
            self.is_last = is_next
            return True
        self.diameter = max(self.diameter, self.step)
        if self.sweep == self._sweeps:
            return False
        self._begin(self.distances)
        return True

    def result(self) -> Mapping[str, Any]:
        return one_row({"diameter": self.diameter})

    def _begin(self, scores: Any) -> None:
        """Begin a sweep at the vertex with the greatest score, the least id of several."""
        best = int(self.exchange.all_reduce(int(scores.max(initial=-1)), "max"))
        is_best = scores == best
        least = int(self._ranks[is_best].min()) if is_best.any() else np.iinfo(np.int64).max
        first = self.exchange.all_reduce(least, "min")
        self.is_last = is_best & (self._ranks == first)
        self.distances = np.where(self.is_last, 0, -1)
        self.step = 0
        self.sweep += 1
