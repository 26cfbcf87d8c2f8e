"""`CommunityDetection`: communities by labels with scores. A score becomes smaller with each
edge over which its label is passed on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from millrace.graph.data_set import DataSet
from millrace.graph.graph import Graph
from millrace.graph.kernels.adjacency import edge_weights, in_edges
from millrace.graph.kernels.labels import vertex_labels
from millrace.graph.kernels.segments import Array, runs
from millrace.graph.library.superstep_algorithm import Columns, SuperstepAlgorithm, at_least_one
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["CommunityDetection"]

_BITS = 32


class CommunityDetection(SuperstepAlgorithm[Graph[Any, Any, Any]]):
    """Communities by label propagation with scores and hop attenuation.

    Labels begin with the values of vertices (their ids if they have none), scores with 1. In each
    iteration, a vertex sends its label, and its score times the value of the edge, over all edges,
    whatever their direction. A vertex takes the label whose scores sum to most, the least of
    several. Its score becomes the label's greatest score, less ``delta`` / iteration if the label
    is new. Vertices without edges keep their labels.

    ``graph.run`` returns the graph with the labels as values of vertices, as in Gelly.

    Costs a sort of all edges' messages per iteration.

    Args:
        max_iterations: iterations at most. They end earlier if nothing changes.
        delta: hop attenuation.

    Example::

        >>> communities = graph.run(CommunityDetection(30)).get_vertices()  # doctest: +SKIP
    """

    compares_vertex_values = True
    reads_edge_values = True

    def __init__(self, max_iterations: int, delta: float = 0.5) -> None:
        self.max_iterations = at_least_one(max_iterations, "max_iterations")
        self.delta = delta

    def columns(self, ids: Any, values: Any) -> Columns:
        return {"id": ids, "value": ids if values is None else values}

    def program(self) -> SuperstepProgram:
        return _CommunityProgram(self.max_iterations or 1, self.delta)

    def finished(self, graph: Graph[Any, Any, Any], rows: DataSet[Any]) -> Graph[Any, Any, Any]:
        """The graph with other values of vertices."""
        return Graph(rows, graph.get_edges())


class _CommunityProgram(SuperstepProgram):
    state = ("labels", "scores")

    def __init__(self, max_iterations: int, delta: float) -> None:
        self._max_iterations = max_iterations
        self._delta = delta

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self._dictionary = vertex_labels(partition, exchange)
        self.labels = self._dictionary.ranks
        self.scores = np.ones(partition.vertex_count)
        weights = edge_weights(partition, "CommunityDetection")
        self._view = in_edges(partition, exchange, weights, both=True)

    def superstep(self, number: int) -> bool:
        view, exchange = self._view.partition, self._view.exchange
        labels = exchange.pull(self.labels)[view.targets]
        scores = exchange.pull(self.scores)[view.targets] * self._view.edge_values
        vertices, best, greatest = best_scored(view.sources, labels, scores)
        is_new = best != self.labels[vertices]
        greatest = np.where(is_new, greatest - self._delta / number, greatest)
        new_labels, new_scores = self.labels.copy(), self.scores.copy()
        new_labels[vertices], new_scores[vertices] = best, greatest
        has_changed = bool(is_new.any()) or not np.array_equal(new_scores, self.scores)
        self.labels, self.scores = new_labels, new_scores
        return has_changed and number < self._max_iterations

    def result(self) -> Mapping[str, Any]:
        return {"id": self.partition.ids, "value": self._dictionary.decoded(self.labels)}


def best_scored(vertices: Array, labels: Array, scores: Array) -> tuple[Array, Array, Array]:
    """For each vertex, the label whose scores have the greatest sum, and this label's greatest
    score.

    Scores are added in ascending order, so that sums do not depend on how the graph is divided.

    Returns:
        distinct vertices, labels, scores.
    """
    keys = vertices.astype(np.int64) << _BITS | labels
    order = np.lexsort((scores, keys))
    keys, scores = keys[order], scores[order]
    starts = runs(keys)
    if not len(starts):
        return vertices, labels, scores
    sums = np.add.reduceat(scores, starts)
    greatest = np.maximum.reduceat(scores, starts)
    keys = keys[starts]
    first = runs(keys >> _BITS)
    best_sums = np.maximum.reduceat(sums, first)
    is_best = sums == np.repeat(best_sums, np.diff(np.append(first, len(sums))))
    places = np.where(is_best, np.arange(len(sums)), len(sums))
    chosen = np.minimum.reduceat(places, first)
    return keys[chosen] >> _BITS, keys[chosen] & (1 << _BITS) - 1, greatest[chosen]
