"""Clustering coefficients: fractions of a vertex's pairs of neighbours that are neighbours of
each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from millrace.graph.data_set import DataSet
from millrace.graph.graph import Graph
from millrace.graph.kernels.adjacency import distinct_neighbours
from millrace.graph.kernels.segments import Array
from millrace.graph.kernels.triangles import find_triangles
from millrace.graph.library.superstep_algorithm import Columns, RowsAlgorithm, SuperstepAlgorithm
from millrace.graph.library.superstep_analytic import SuperstepAnalytic, one_row
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = [
    "AverageClusteringCoefficient",
    "AverageClusteringCoefficientResult",
    "GlobalClusteringCoefficient",
    "GlobalClusteringCoefficientResult",
    "LocalClusteringCoefficient",
]

_BUFFERED = 1 << 20
"""Triangles that are counted at a time."""


class LocalClusteringCoefficient(RowsAlgorithm):
    """For each vertex, the fraction of the possible edges between its neighbours that exist.

    Rows of the result: the id, ``degree``, ``triangle_count``, and ``score``, which is NaN for
    vertices with less than two neighbours. The degree is the number of distinct neighbours.
    Undirected, the triangle count is the number of pairs of neighbours with an edge between them.
    Directed, it is the number of edges between neighbours, of which a pair may have two. Self-loops
    and parallel edges do not count. Gelly: ``library.clustering.directed`` and ``.undirected``.

    Costs as `TriangleListing`, without the memory for the triangles.

    Args:
        directed: whether edges between neighbours count by direction.
        include_zero_degree_vertices: whether the result has vertices without neighbours.

    Example::

        >>> scores = graph.run(LocalClusteringCoefficient())  # doctest: +SKIP
    """

    def __init__(
        self, *, directed: bool = False, include_zero_degree_vertices: bool = True
    ) -> None:
        self.directed = directed
        self.include_zero_degree_vertices = include_zero_degree_vertices

    def columns(self, ids: Any, values: Any) -> Columns:
        counts = {"degree": "int64", "triangle_count": "int64"}
        return {"id": ids, **counts, "score": "double"}

    def program(self) -> SuperstepProgram:
        return _LocalProgram(self.directed, self.include_zero_degree_vertices)


@dataclass(frozen=True)
class AverageClusteringCoefficientResult:
    """Result of `AverageClusteringCoefficient`.

    Attributes:
        number_of_vertices: of the graph, also of vertices with less than two neighbours.
        average_clustering_coefficient: NaN if the graph is empty.
    """

    number_of_vertices: int
    average_clustering_coefficient: float


class AverageClusteringCoefficient(SuperstepAlgorithm[AverageClusteringCoefficientResult]):
    """Average of `LocalClusteringCoefficient` over all vertices. Vertices with less than two
    neighbours count as 0. ``graph.run`` returns an `AverageClusteringCoefficientResult`.

    Costs as `LocalClusteringCoefficient`.

    Args:
        directed: as in `LocalClusteringCoefficient`.
    """

    def __init__(self, *, directed: bool = False) -> None:
        self.directed = directed

    def columns(self, ids: Any, values: Any) -> Columns:
        return {"vertices": "int64", "scores": "double"}

    def program(self) -> SuperstepProgram:
        return _AverageProgram(self.directed, True)

    def finished(
        self, graph: Graph[Any, Any, Any], rows: DataSet[Any]
    ) -> AverageClusteringCoefficientResult:
        """Combine the rows of all tasks to the result."""
        return self.outcome(rows.to_arrow())

    def outcome(self, table: Any) -> AverageClusteringCoefficientResult:
        """Combine the rows of all tasks to the result."""
        vertices = sum(table["vertices"].to_pylist())
        scores = sum(table["scores"].to_pylist())
        return AverageClusteringCoefficientResult(vertices, scores / vertices if vertices else nan)


@dataclass(frozen=True)
class GlobalClusteringCoefficientResult:
    """Result of `GlobalClusteringCoefficient`.

    Attributes:
        number_of_triplets: pairs of neighbours, summed over all vertices.
        number_of_triangles: triplets whose ends are neighbours, three of each triangle.
    """

    number_of_triplets: int
    number_of_triangles: int

    @property
    def global_clustering_coefficient_score(self) -> float:
        """Fraction of triplets that are closed; NaN if there is no triplet."""
        if not self.number_of_triplets:
            return nan
        return self.number_of_triangles / self.number_of_triplets


class GlobalClusteringCoefficient(SuperstepAnalytic[GlobalClusteringCoefficientResult]):
    """Fraction of the pairs of edges with a common end whose other ends are neighbours. Directions
    do not count: a pair of neighbours counts once, even if edges lead in both directions.

    Costs as `TriangleCount`. Gelly's directed and undirected variants are the same.
    """

    sums = ("triplets", "triangles")

    def program(self) -> SuperstepProgram:
        return _GlobalProgram()

    def result_of(self, numbers: dict[str, int]) -> GlobalClusteringCoefficientResult:
        return GlobalClusteringCoefficientResult(numbers["triplets"], 3 * numbers["triangles"])


class _LocalProgram(SuperstepProgram):
    def __init__(self, directed: bool, has_all: bool) -> None:
        self._directed = directed
        self._has_all = has_all

    def superstep(self, number: int) -> bool:
        view = distinct_neighbours(self.partition, self.exchange)
        self._buffered: list[tuple[Array, ...]] = []
        self._waiting = 0
        self._counts = np.zeros(view.partition.slot_count, dtype=np.int64)
        find_triangles(view, self._add)
        self._count()
        self.degrees = view.partition.out_degrees
        self.triangles = view.exchange.push(self._counts, "sum")
        pairs = self.degrees * (self.degrees - 1)
        edges = self.triangles if self._directed else 2 * self.triangles
        self.scores = np.divide(edges, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
        return False

    def result(self) -> Mapping[str, Any]:
        import pyarrow as pa

        shown = self.degrees >= (0 if self._has_all else 1)
        return {
            "id": self.partition.ids.filter(pa.array(shown)),
            "degree": self.degrees[shown],
            "triangle_count": self.triangles[shown],
            "score": self.scores[shown],
        }

    def _add(self, first: Array, second: Array, third: Array, bits: Array) -> None:
        self._buffered.append((first, second, third, bits))
        self._waiting += len(first)
        if self._waiting >= _BUFFERED:
            self._count()

    def _count(self) -> None:
        """Count buffered triangles at their vertices."""
        if not self._buffered:
            return
        columns = [np.concatenate(column) for column in zip(*self._buffered, strict=True)]
        self._buffered.clear()
        self._waiting = 0
        slots = len(self._counts)
        for vertices, shift in zip(columns[:3], (0, 2, 4), strict=True):
            self._counts += np.bincount(vertices, minlength=slots)
            if self._directed:
                is_mutual = columns[3] >> shift & 3 == 3
                self._counts += np.bincount(vertices[is_mutual], minlength=slots)


class _AverageProgram(_LocalProgram):
    def result(self) -> Mapping[str, Any]:
        total = float(np.nansum(self.scores))
        return {"vertices": np.array([len(self.scores)]), "scores": np.array([total])}


class _GlobalProgram(SuperstepProgram):
    def superstep(self, number: int) -> bool:
        self._triangles = 0
        view = distinct_neighbours(self.partition, self.exchange)
        degrees = view.partition.out_degrees
        self._triplets = int((degrees * (degrees - 1) // 2).sum())
        find_triangles(view, self._add)
        return False

    def result(self) -> Mapping[str, Any]:
        return one_row({"triplets": self._triplets, "triangles": self._triangles})

    def _add(self, first: Array, second: Array, third: Array, bits: Array) -> None:
        self._triangles += len(first)
