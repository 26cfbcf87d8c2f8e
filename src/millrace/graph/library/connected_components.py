"""`ConnectedComponents`, and the other names that Gelly has for it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace.graph.kernels.adjacency import fetch, numbered
from millrace.graph.kernels.components import components, spanning_stars
from millrace.graph.kernels.labels import vertex_labels
from millrace.graph.kernels.segments import Array
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
_PLAIN = 6
"""Supersteps after which a component counts as one of large diameter."""


class ConnectedComponents(RowsAlgorithm):
    """Weakly connected components: vertices that are connected by a path, whatever the direction of
    its edges, get the same value. This value is the least of the values of these vertices, or,
    without values, the least of their ids.

    Rows of the result: the id, and ``value``.

    A task first finds the components of the edges that it has, so an iteration carries a value
    through all of them and then to other tasks. Costs a few passes over the edges, and one over the
    vertices that tasks share per iteration; a handful of iterations is usual. The number of
    iterations grows with the logarithm of the largest component's diameter, not with the diameter.

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
        hops = 1 if self.checkpoints is not None else 2
        return _ComponentsProgram(self.max_iterations or 1, hops)

    def prepared_edges(self) -> Callable[[Iterator[Any]], Iterator[Any]]:
        return spanning_stars


class GSAConnectedComponents(ConnectedComponents):
    """`ConnectedComponents` under the name of Gelly's implementation by gather-sum-apply
    iterations. The same program runs."""


class VertexCentricConnectedComponents(ConnectedComponents):
    """`ConnectedComponents` under the name of Gelly's implementation by vertex-centric iterations.
    The same program runs."""


class _ComponentsProgram(SuperstepProgram):
    """Program of `ConnectedComponents`. Nodes are the components of a task's edges, which meet
    where tasks share a vertex. The first supersteps carry the least labels from node to node. If
    this does not end soon, each node also gets a parent, a node of the same component. Nodes attach
    themselves to the least parent nearby and to the parents of their parents, as in FastSV (Zhang,
    Azad and Buluç, 2020), so that the number of supersteps grows with the logarithm of the
    distance.

    Args:
        max_iterations: iterations at most.
        hops: exchanges of an iteration: 2 if an edge may have become two of the same component.
        plain: supersteps without parents.
    """

    state = ("least", "parents")

    parents: npt.NDArray[np.int64] | None
    """Number of each node's parent; None before the first superstep with parents."""

    def __init__(self, max_iterations: int, hops: int = 1, plain: int = _PLAIN) -> None:
        self._exchanges = max_iterations * hops
        self._plain = plain

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self._labels = vertex_labels(partition, exchange)
        self._component = components(partition.slot_count, partition.sources, partition.targets)
        own = self._component[: partition.vertex_count]
        self._count = int(self._component.max(initial=-1)) + 1
        self.least = np.full(self._count, _NONE)
        """The least label that each node knows of."""
        np.minimum.at(self.least, own, self._labels.ranks)
        self.parents = None
        bounds = partition.ghost_offsets + partition.vertex_count
        self._ghosts = [self._component[low:high] for low, high in itertools.pairwise(bounds)]
        self._mirrors = [own[mirror] for mirror in partition.mirrors]

    def superstep(self, number: int) -> bool:
        if number <= self._plain:
            least = self._least_nearby(self.least)
            goes_on = not np.array_equal(least, self.least)
        else:
            if self.parents is None:
                self.parents = numbered(self._count, self.partition)
            least = self._least_nearby(self.least)
            parents = self._hung(self.parents)
            has_changed = [
                not np.array_equal(least, self.least),
                not np.array_equal(parents, self.parents),
            ]
            self.parents = parents
            # each of the two ends with the components
            goes_on = bool(self.exchange.all_reduce(np.array(has_changed, np.int8), "max").all())
        self.least = least
        return goes_on and number < self._exchanges

    def result(self) -> Mapping[str, Any]:
        least = self.least if self.parents is None else self._least_of_trees(self.parents)
        own = self._component[: self.partition.vertex_count]
        return {"id": self.partition.ids, "value": self._labels.decoded(least[own])}

    def _least_nearby(self, values: Array) -> Array:
        """The least value of each node and the nodes of other tasks with which it shares a
        vertex."""
        parts = [
            [values[ghosts], values[mirrors]]
            for ghosts, mirrors in zip(self._ghosts, self._mirrors, strict=True)
        ]
        received = self.exchange.swap_parts("least", parts)
        least = values.copy()
        for ghosts, mirrors, (of_mirrors, of_ghosts) in zip(
            self._ghosts, self._mirrors, received, strict=True
        ):
            np.minimum.at(least, mirrors, of_mirrors)
            np.minimum.at(least, ghosts, of_ghosts)
        return least

    def _hung(self, parents: Array) -> Array:
        """Parents after a superstep: nodes, and their parents' parents, hang below the least
        parent's parent nearby. A parent has a lower number than its children, so there are no
        cycles."""
        (grandparents,) = fetch(parents, [parents], self.exchange)
        nearest = self._least_nearby(grandparents)
        lower = nearest < grandparents
        hung = np.minimum(parents, nearest)
        self._lower(hung, grandparents[lower], nearest[lower])
        return hung

    def _least_of_trees(self, parents: Array) -> Array:
        """The least value that a node, its parent or another child of that one knows of."""
        least = self.least.copy()
        self._lower(least, parents, self.least)
        (of_parents,) = fetch(parents, [least], self.exchange)
        np.minimum(least, of_parents, out=least)
        return least

    def _lower(self, values: Array, numbers: Array, offered: Array) -> None:
        """Lower values of nodes of any task to those that are offered for their numbers."""
        tasks = numbers % self.partition.parallelism
        nodes = numbers // self.partition.parallelism
        nodes, offered = self.exchange.route(tasks, nodes, offered)
        np.minimum.at(values, nodes, offered)
