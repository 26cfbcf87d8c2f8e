"""`PageRank` and `WeightedPageRank`: the importance of vertices, computed from the links to
them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from millrace.graph.kernels.adjacency import edge_weights
from millrace.graph.library.superstep_algorithm import (
    Columns,
    RowsAlgorithm,
    at_least_one,
    between_zero_and_one,
    require_an_end,
)
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["PageRank", "WeightedPageRank"]


class PageRank(RowsAlgorithm):
    """Scores that sum to 1: the probability that a random walk along the edges is at a vertex.

    Each vertex divides its score among its out-edges; vertices without out-edges divide theirs
    among all. Parallel edges count one by one. Gelly: ``library.linkanalysis.PageRank``.

    Rows of the result: the id, and ``score``.

    Costs two passes over the edges per iteration; with d as damping factor, about log(t) / log(d)
    iterations reach a threshold of t.

    Args:
        damping_factor: chance to follow a link rather than to go to any vertex.
        max_iterations: iterations at most; None for no limit.
        convergence_threshold: iterations end when the scores' changes sum to this or less; None for
            no threshold.
        include_zero_degree_vertices: whether vertices without edges take part.
        weighted: whether a score is divided by the values of edges instead of evenly.

    Raises:
        JobDefinitionError: there is neither a limit nor a threshold, or a value is out of range.

    Example::

        >>> ranks = graph.run(PageRank(0.85, max_iterations=20))  # doctest: +SKIP
    """

    def __init__(
        self,
        damping_factor: float = 0.85,
        max_iterations: int | None = None,
        convergence_threshold: float | None = None,
        *,
        include_zero_degree_vertices: bool = False,
        weighted: bool = False,
    ) -> None:
        require_an_end("PageRank", max_iterations, convergence_threshold)
        self.damping_factor = between_zero_and_one(damping_factor, "damping_factor")
        self.max_iterations = at_least_one(max_iterations, "max_iterations")
        self.convergence_threshold = convergence_threshold
        self.include_zero_degree_vertices = include_zero_degree_vertices
        self.weighted = self.reads_edge_values = weighted

    def columns(self, ids: Any, values: Any) -> Columns:
        return {"id": ids, "score": "double"}

    def program(self) -> SuperstepProgram:
        return _PageRankProgram(self)


class _PageRankProgram(SuperstepProgram):
    state = ("scores", "change")

    def __init__(self, algorithm: PageRank) -> None:
        self._algorithm = algorithm
        self.change = np.inf
        """Sum of the changes of the last iteration."""

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self._weights = None
        if self._algorithm.weighted:
            self._weights = edge_weights(partition, "PageRank", negative=False)
        if self._weights is None:
            leaving = partition.out_degrees.astype(np.float64)
        else:
            leaving = partition.combine_at_sources(self._weights, "sum", 0.0)
        self._is_sink = leaving == 0
        self._inverse = np.divide(1.0, leaving, out=np.zeros_like(leaving), where=~self._is_sink)
        self._takes_part = np.ones(partition.vertex_count, dtype=bool)
        if not self._algorithm.include_zero_degree_vertices:
            is_target = np.zeros(partition.slot_count, dtype=bool)
            is_target[partition.targets] = True
            self._takes_part = exchange.push(is_target, "or") | (partition.out_degrees > 0)
        self._vertices = int(exchange.all_reduce(int(self._takes_part.sum())))
        self.scores = np.where(self._takes_part, 1 / max(self._vertices, 1), 0.0)

    def superstep(self, number: int) -> bool:
        algorithm, partition = self._algorithm, self.partition
        if not self._vertices:
            return False
        lost = float(self.exchange.all_reduce(float(self.scores[self._is_sink].sum())))
        given = partition.to_edges(self.scores * self._inverse)
        if self._weights is not None:
            given *= self._weights
        taken = self.exchange.push(partition.combine_at_targets(given, "sum", 0.0), "sum")
        damping = algorithm.damping_factor
        scores = damping * taken + (1 - damping + damping * lost) / self._vertices
        scores[~self._takes_part] = 0.0
        limit = algorithm.max_iterations
        goes_on = limit is None or number < limit
        if algorithm.convergence_threshold is not None:
            change = float(np.abs(scores - self.scores).sum())
            self.change = float(self.exchange.all_reduce(change))
            goes_on = goes_on and self.change > algorithm.convergence_threshold
        self.scores = scores
        return goes_on

    def result(self) -> Mapping[str, Any]:
        import pyarrow as pa

        ids = self.partition.ids.filter(pa.array(self._takes_part))
        return {"id": ids, "score": self.scores[self._takes_part]}


class WeightedPageRank(RowsAlgorithm):
    """Scores with weighted edges: an edge passes on its value times the score of its source,
    divided by the source's number of out-edges. Gelly: ``library.PageRank``.

    Vertices without out-edges keep nothing, so scores sum to 1 only if each vertex has one and the
    values of a vertex's edges are 1 on average. Rows of the result: the id, and ``value``.

    Costs two passes over the edges per iteration.

    Args:
        beta: damping factor.
        max_iterations: number of iterations.
    """

    reads_edge_values = True

    def __init__(self, beta: float, max_iterations: int) -> None:
        self.beta = between_zero_and_one(beta, "beta")
        self.max_iterations = at_least_one(max_iterations, "max_iterations")

    def columns(self, ids: Any, values: Any) -> Columns:
        return {"id": ids, "value": "double"}

    def program(self) -> SuperstepProgram:
        return _WeightedPageRankProgram(self.beta, self.max_iterations or 1)


class _WeightedPageRankProgram(SuperstepProgram):
    state = ("ranks",)

    def __init__(self, beta: float, max_iterations: int) -> None:
        self._beta = beta
        self._max_iterations = max_iterations

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        weights = edge_weights(partition, "WeightedPageRank", negative=False)
        self._shares = weights / partition.to_edges(partition.out_degrees)
        self.ranks = np.full(partition.vertex_count, 1 / max(partition.total_vertices, 1))

    def superstep(self, number: int) -> bool:
        partition = self.partition
        given = partition.to_edges(self.ranks) * self._shares
        taken = self.exchange.push(partition.combine_at_targets(given, "sum", 0.0), "sum")
        self.ranks = self._beta * taken + (1 - self._beta) / max(partition.total_vertices, 1)
        return number < self._max_iterations

    def result(self) -> Mapping[str, Any]:
        return {"id": self.partition.ids, "value": self.ranks}
