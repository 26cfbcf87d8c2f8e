"""`ConnectedComponents` and Gelly's other names of it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from millrace.graph.kernels.components import components
from millrace.graph.kernels.labels import vertex_labels
from millrace.graph.library.superstep_algorithm import Columns, RowsAlgorithm, at_least_one
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = [
    "ConnectedComponents",
    "GSAConnectedComponents",
    "VertexCentricConnectedComponents",
]

_NONE = np.iinfo(np.int64).max


class ConnectedComponents(RowsAlgorithm):
    """Weakly connected components: vertices between which there is a path, whatever the direction
    of its edges, get the same value, which is the least of the values that they had. If vertices
    have no values, it is the least of their ids.

    Rows of the result: the id, and ``value``.

    A task first finds the components of the edges that it has, so an iteration carries a value
    through all of them and then to other tasks. Costs a few passes over the edges, and one over the
    vertices that tasks share per iteration; a handful of iterations is usual.

    Args:
        max_iterations: iterations at most. An iteration carries values as far as one of Gelly, or
            farther; if it is the last, distant vertices of a component may have different values.

    Example::

        >>> components = graph.run(ConnectedComponents(max_iterations=50))  # doctest: +SKIP
    """

    compares_vertex_values = True

    def __init__(self, max_iterations: int) -> None:
        self.max_iterations = at_least_one(max_iterations, "max_iterations")

    def columns(self, ids: Any, values: Any) -> Columns:
        return {"id": ids, "value": ids if values is None else values}

    def program(self) -> SuperstepProgram:
        return _ComponentsProgram(self.max_iterations or 1)


class GSAConnectedComponents(ConnectedComponents):
    """`ConnectedComponents` under the name of Gelly's implementation by gather-sum-apply
    iterations. The same program runs."""


class VertexCentricConnectedComponents(ConnectedComponents):
    """`ConnectedComponents` under the name of Gelly's implementation by vertex-centric iterations.
    The same program runs."""


class _ComponentsProgram(SuperstepProgram):
    state = ("least",)

    def __init__(self, max_iterations: int) -> None:
        self._max_iterations = max_iterations

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self._labels = vertex_labels(partition, exchange)
        self._component = components(partition.slot_count, partition.sources, partition.targets)
        own = self._component[: partition.vertex_count]
        count = int(self._component.max(initial=-1)) + 1
        self.least = np.full(count, _NONE)
        """The least label that each component of this task's edges knows of."""
        np.minimum.at(self.least, own, self._labels.ranks)
        bounds = partition.ghost_offsets + partition.vertex_count
        self._ghosts = [self._component[low:high] for low, high in itertools.pairwise(bounds)]
        self._mirrors = [own[mirror] for mirror in partition.mirrors]

    def superstep(self, number: int) -> bool:
        parts = [
            [self.least[ghosts], self.least[mirrors]]
            for ghosts, mirrors in zip(self._ghosts, self._mirrors, strict=True)
        ]
        received = self.exchange.swap_parts("least", parts)
        least = self.least.copy()
        for ghosts, mirrors, (of_mirrors, of_ghosts) in zip(
            self._ghosts, self._mirrors, received, strict=True
        ):
            np.minimum.at(least, mirrors, of_mirrors)
            np.minimum.at(least, ghosts, of_ghosts)
        has_changed = not np.array_equal(least, self.least)
        self.least = least
        return has_changed and number < self._max_iterations

    def result(self) -> Mapping[str, Any]:
        own = self._component[: self.partition.vertex_count]
        return {"id": self.partition.ids, "value": self._labels.decoded(self.least[own])}
