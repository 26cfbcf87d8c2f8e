"""`LabelPropagation`: communities by the labels of neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from millrace.graph.kernels.adjacency import in_edges
from millrace.graph.kernels.labels import vertex_labels
from millrace.graph.kernels.segments import Array, first_of_greatest, runs
from millrace.graph.library.superstep_algorithm import Columns, RowsAlgorithm, at_least_one
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["LabelPropagation"]

_BITS = 32


class LabelPropagation(RowsAlgorithm):
    """Communities: in each iteration, all vertices take the label that is most frequent among the
    sources of their in-edges.

    Labels begin with the values of vertices, or with their ids if they have no values. Of labels
    that are equally frequent, the greatest is taken; if each occurs once, the own label is one of
    them. Parallel edges count one by one. So the result is the same each time.

    Rows of the result: the id, and ``value``.

    Costs a sort of the edges' labels per iteration, only of vertices whose neighbours have changed.

    Args:
        max_iterations: iterations at most. They end earlier if no label changes.
        undirected: whether a vertex also counts the targets of its out-edges. The result is that
            of ``graph.get_undirected()``, which would take twice the memory.

    Example::

        >>> communities = graph.run(LabelPropagation(max_iterations=30))  # doctest: +SKIP
    """

    compares_vertex_values = True

    def __init__(self, max_iterations: int, *, undirected: bool = False) -> None:
        self.max_iterations = at_least_one(max_iterations, "max_iterations")
        self.undirected = undirected

    def columns(self, ids: Any, values: Any) -> Columns:
        return {"id": ids, "value": ids if values is None else values}

    def program(self) -> SuperstepProgram:
        return _LabelPropagationProgram(self.max_iterations or 1, self.undirected)


class _LabelPropagationProgram(SuperstepProgram):
    state = ("labels", "has_changed")

    def __init__(self, max_iterations: int, undirected: bool) -> None:
        self._max_iterations = max_iterations
        self._undirected = undirected

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self._dictionary = vertex_labels(partition, exchange)
        self.labels = self._dictionary.ranks
        self.has_changed = np.ones(partition.vertex_count, dtype=bool)
        self._view = in_edges(partition, exchange, both=self._undirected)

    def superstep(self, number: int) -> bool:
        view = self._view.partition
        labels = self._view.exchange.pull(self.labels)
        vertices, neighbours = view.sources, view.targets
        if number > 1:
            has_changed = self._view.exchange.pull(self.has_changed)
            to_do = view.combine_at_sources(has_changed[neighbours], "or", False)
            if 10 * np.count_nonzero(to_do) < 9 * len(to_do):
                edges = view.to_edges(to_do)
                vertices, neighbours = vertices[edges], neighbours[edges]
        vertices, frequencies, best = most_frequent(vertices, labels[neighbours])
        own = self.labels[vertices]
        best = np.where(frequencies == 1, np.maximum(own, best), best)
        self.has_changed = np.zeros(view.vertex_count, dtype=bool)
        self.has_changed[vertices] = best != own
        self.labels = self.labels.copy()
        self.labels[vertices] = best
        return bool(self.has_changed.any()) and number < self._max_iterations

    def result(self) -> Mapping[str, Any]:
        return {"id": self.partition.ids, "value": self._dictionary.decoded(self.labels)}


def most_frequent(vertices: Array, labels: Array) -> tuple[Array, Array, Array]:
    """The most frequent label of each vertex; of equally frequent labels, the greatest.

    Args:
        vertices: ascending, with repetitions.
        labels: not negative, below 2**32.

    Returns:
        distinct vertices, frequencies, labels.
    """
    keys = vertices.astype(np.int64) << _BITS | labels
    keys.sort()
    starts = runs(keys)
    frequencies = np.diff(np.append(starts, len(keys)))
    keys = keys[starts]
    return first_of_greatest(keys >> _BITS, frequencies, keys & (1 << _BITS) - 1)
