"""`HITS`: hubs, which link to authorities, and authorities, to which hubs link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from millrace.graph.kernels.adjacency import edge_weights
from millrace.graph.library.superstep_algorithm import (
    Columns,
    RowsAlgorithm,
    at_least_one,
    require_an_end,
)
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["HITS"]


class HITS(RowsAlgorithm):
    """Hyperlink-induced topic search: a hub score and an authority score of each vertex.

    In an iteration, a hub score is the sum of the authority scores of the targets, and then an
    authority score is the sum of the new hub scores of the sources. The squares of all hub scores
    sum to 1, and so do those of all authority scores. Authority scores begin with the in-degree.
    Gelly: ``library.linkanalysis.HITS``.

    Rows of the result: the id, ``hub_score``, ``authority_score``.

    Costs four passes over the edges per iteration.

    Args:
        max_iterations: iterations at most; None for no limit.
        convergence_threshold: iterations end when the changes of all scores sum to this or less;
            None for no threshold. The first iteration never ends them.
        include_zero_degree_vertices: whether the result has vertices without edges, with scores
            of 0.
        weighted: whether scores are multiplied by the values of edges.

    Raises:
        JobDefinitionError: there is neither a limit nor a threshold, or a value is out of range.

    Example::

        >>> scores = graph.run(HITS(max_iterations=20))  # doctest: +SKIP
    """

    def __init__(
        self,
        max_iterations: int | None = None,
        convergence_threshold: float | None = None,
        *,
        include_zero_degree_vertices: bool = False,
        weighted: bool = False,
    ) -> None:
        require_an_end("HITS", max_iterations, convergence_threshold)
        self.max_iterations = at_least_one(max_iterations, "max_iterations")
        self.convergence_threshold = convergence_threshold
        self.include_zero_degree_vertices = include_zero_degree_vertices
        self.weighted = self.reads_edge_values = weighted

    def columns(self, ids: Any, values: Any) -> Columns:
        return {"id": ids, "hub_score": "double", "authority_score": "double"}

    def program(self) -> SuperstepProgram:
        return _HITSProgram(self)


class _HITSProgram(SuperstepProgram):
    state = ("hubs", "authorities")

    def __init__(self, algorithm: HITS) -> None:
        self._algorithm = algorithm

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self._weights = edge_weights(partition, "HITS") if self._algorithm.weighted else None
        self.hubs = np.zeros(partition.vertex_count)
        in_degrees = partition.combine_at_targets(np.ones(partition.edge_count), "sum", 0.0)
        self.authorities = exchange.push(in_degrees, "sum")
        self._has_edge = (self.authorities > 0) | (partition.out_degrees > 0)

    def superstep(self, number: int) -> bool:
        partition = self.partition
        pulled = self.exchange.pull(self.authorities)[partition.targets]
        hubs = partition.combine_at_sources(self._weighted(pulled), "sum", 0.0)
        given = self._weighted(partition.to_edges(hubs))
        authorities = self.exchange.push(partition.combine_at_targets(given, "sum", 0.0), "sum")
        squares = np.array([np.square(hubs).sum(), np.square(authorities).sum()])
        norms = np.sqrt(self.exchange.all_reduce(squares))
        norms[norms == 0] = 1.0
        hubs, authorities = hubs / norms[0], authorities / norms[1]
        limit, threshold = self._algorithm.max_iterations, self._algorithm.convergence_threshold
        goes_on = limit is None or number < limit
        if threshold is not None:
            change = np.abs(hubs - self.hubs).sum() + np.abs(authorities - self.authorities).sum()
            total = float(self.exchange.all_reduce(float(change)))
            goes_on = goes_on and (number == 1 or total > threshold)
        self.hubs, self.authorities = hubs, authorities
        return goes_on

    def result(self) -> Mapping[str, Any]:
        import pyarrow as pa

        shown = self._has_edge
        if self._algorithm.include_zero_degree_vertices:
            shown = np.ones_like(shown)
        return {
            "id": self.partition.ids.filter(pa.array(shown)),
            "hub_score": self.hubs[shown],
            "authority_score": self.authorities[shown],
        }

    def _weighted(self, scores: Any) -> Any:
        return scores if self._weights is None else scores * self._weights
