"""`SingleSourceShortestPaths`, and the other name that Gelly has for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobDefinitionError, JobExecutionError, SerializationError
from millrace.graph.graph import Graph
from millrace.graph.kernels.adjacency import edge_weights
from millrace.graph.kernels.segments import entries
from millrace.graph.library.superstep_algorithm import Columns, RowsAlgorithm, at_least_one
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["GSASingleSourceShortestPaths", "SingleSourceShortestPaths"]


class SingleSourceShortestPaths(RowsAlgorithm):
    """Lengths of the shortest paths from a vertex along the direction of edges, whose values are
    their lengths (1 for each if edges have no values).

    Rows of the result: the id, and ``value``, which is infinite for vertices that cannot be reached
    (Gelly: the greatest double). Each iteration extends paths by an edge, and looks only at the
    out-edges of vertices whose distance has changed.

    Args:
        source: id of the vertex at which paths begin. Gelly: ``srcVertexId``.
        max_iterations: edges of a path at most.

    Raises:
        JobExecutionError: the source is not a vertex of the graph.

    Example::

        >>> distances = graph.run(SingleSourceShortestPaths("Oslo", 30))  # doctest: +SKIP
    """

    reads_edge_values = True

    def __init__(self, source: Any, max_iterations: int) -> None:
        if source is None:
            raise JobDefinitionError(
                "the source of the shortest paths is None: give the id of a vertex"
            )
        self.source = source
        self.max_iterations = at_least_one(max_iterations, "max_iterations")

    def columns(self, ids: Any, values: Any) -> Columns:
        return {"id": ids, "value": "double"}

    def program(self) -> SuperstepProgram:
        return _ShortestPathsProgram(self.source, self.max_iterations or 1)

    def program_for(self, graph: Graph[Any, Any, Any]) -> Callable[[], SuperstepProgram]:
        source = self.source
        with suppress(SerializationError):  # then the program says that it is no vertex
            source = graph.id_type.encode([source])[0].as_py()
        return partial(_ShortestPathsProgram, source, self.max_iterations or 1)


class GSASingleSourceShortestPaths(SingleSourceShortestPaths):
    """`SingleSourceShortestPaths` under the name of Gelly's implementation by gather-sum-apply
    iterations. The same program runs."""


class _ShortestPathsProgram(SuperstepProgram):
    state = ("distances", "has_changed")

    def __init__(self, source: Any, max_iterations: int) -> None:
        self._source = source
        self._max_iterations = max_iterations

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self._lengths = edge_weights(partition, "SingleSourceShortestPaths", infinite=True)
        self.has_changed = self._place_of_source()
        self.distances = np.where(self.has_changed, 0.0, np.inf)
        self._slots = np.full(partition.slot_count, np.inf)

    def superstep(self, number: int) -> bool:
        partition, slots = self.partition, self._slots
        changed = np.flatnonzero(self.has_changed)
        edges, counts = entries(partition.offsets, changed)
        targets = partition.targets[edges]
        np.minimum.at(
            slots, targets, np.repeat(self.distances[changed], counts) + self._lengths[edges]
        )
        is_target = np.zeros(len(slots), dtype=bool)
        is_target[targets] = True
        offered, is_found = self.exchange.push_changed(slots, is_target, "min")
        slots[targets] = np.inf
        self.has_changed = is_found & (offered < self.distances)
        self.distances[self.has_changed] = offered[self.has_changed]
        return bool(self.has_changed.any()) and number < self._max_iterations

    def result(self) -> Mapping[str, Any]:
        return {"id": self.partition.ids, "value": self.distances}

    def _place_of_source(self) -> Any:
        """Whether each own vertex is the source."""
        ids = self.partition.ids
        try:
            source = pa.scalar(self._source, ids.type)
            if pa.types.is_integer(ids.type) and source.as_py() != self._source:
                raise ValueError(f"{self._source} would be truncated")
            is_source = np.asarray(pc.equal(ids, source), dtype=bool)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            is_source = np.zeros(len(ids), dtype=bool)
        if not self.exchange.all_reduce(int(is_source.any())):
            raise JobExecutionError(
                f"no vertex has the id {self._source!r}, which was given as the source of "
                f"shortest paths (ids are of type {ids.type})"
            )
        return is_source
