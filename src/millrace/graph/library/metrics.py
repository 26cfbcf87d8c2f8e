"""Metrics of a graph: `VertexMetrics`, `EdgeMetrics`, `TriadicCensus`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from millrace.graph.kernels.adjacency import IN, OUT, AdjacencyView, distinct_neighbours
from millrace.graph.kernels.labels import OrderedLabels
from millrace.graph.kernels.segments import Array
from millrace.graph.kernels.triangles import find_triangles
from millrace.graph.library.superstep_analytic import SuperstepAnalytic, one_row
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = [
    "EdgeMetrics",
    "EdgeMetricsResult",
    "TriadicCensus",
    "VertexMetrics",
    "VertexMetricsResult",
]


@dataclass(frozen=True)
class VertexMetricsResult:
    """Result of `VertexMetrics`.

    Attributes:
        directed: whether the edges count by direction.
        number_of_vertices: vertices that count.
        number_of_unidirectional_edges: pairs of vertices with an edge in one direction.
        number_of_bidirectional_edges: pairs of vertices with edges in both.
        number_of_triplets: pairs of neighbours, summed over all vertices.
        maximum_degree: greatest number of neighbours of a vertex.
        maximum_out_degree: greatest number of targets of a vertex.
        maximum_in_degree: greatest number of sources of a vertex.
        maximum_triplets: greatest number of pairs of neighbours of a vertex.
    """

    directed: bool
    number_of_vertices: int
    number_of_unidirectional_edges: int
    number_of_bidirectional_edges: int
    number_of_triplets: int
    maximum_degree: int
    maximum_out_degree: int
    maximum_in_degree: int
    maximum_triplets: int

    @property
    def number_of_edges(self) -> int:
        """Number of edges. In an undirected graph, a pair of neighbours counts once."""
        pairs = self.number_of_unidirectional_edges + self.number_of_bidirectional_edges
        return pairs + self.number_of_bidirectional_edges if self.directed else pairs

    @property
    def average_degree(self) -> float:
        """Number of edges per vertex; in an undirected graph, an edge counts for both its ends.
        NaN if there are no vertices."""
        if not self.number_of_vertices:
            return nan
        return self.number_of_edges * (1 if self.directed else 2) / self.number_of_vertices

    @property
    def density(self) -> float:
        """Fraction of the possible edges that exist; NaN if there are fewer than two vertices."""
        pairs = self.number_of_vertices * (self.number_of_vertices - 1)
        if not pairs:
            return nan
        return self.number_of_edges * (1 if self.directed else 2) / pairs


class VertexMetrics(SuperstepAnalytic[VertexMetricsResult]):
    """Numbers of vertices, edges and triplets, and the greatest degrees. ``graph.run`` returns a
    `VertexMetricsResult`. Self-loops and parallel edges do not count.
    Gelly: ``library.metric.directed.VertexMetrics`` and ``.undirected``.

    Costs a sort of the edges.

    Args:
        directed: whether edges count by direction.
        include_zero_degree_vertices: whether vertices without neighbours count.

    Example::

        >>> graph.run(VertexMetrics()).maximum_degree  # doctest: +SKIP
    """

    sums = ("vertices", "single", "double", "triplets")
    maxima = ("degree", "out_degree", "in_degree", "most_triplets")

    def __init__(
        self, *, directed: bool = False, include_zero_degree_vertices: bool = False
    ) -> None:
        self.directed = directed
        self.include_zero_degree_vertices = include_zero_degree_vertices

    def program(self) -> SuperstepProgram:
        return _VertexMetricsProgram(self.include_zero_degree_vertices)

    def result_of(self, numbers: dict[str, int]) -> VertexMetricsResult:
        counted = dict(numbers)
        counted["single"] //= 2
        counted["double"] //= 2
        return VertexMetricsResult(
            self.directed, *(counted[name] for name in (*self.sums, *self.maxima))
        )


@dataclass(frozen=True)
class EdgeMetricsResult:
    """Result of `EdgeMetrics`.

    Attributes:
        number_of_triangle_triplets: pairs of edges that `TriangleListing` looks at: those of a
            vertex to neighbours of higher degree.
        number_of_rectangle_triplets: the same, and the pairs of an edge to a neighbour of higher
            degree and one to a neighbour of lower degree.
        maximum_triangle_triplets: greatest number of triangle triplets of a vertex.
        maximum_rectangle_triplets: greatest number of rectangle triplets of a vertex.
    """

    number_of_triangle_triplets: int
    number_of_rectangle_triplets: int
    maximum_triangle_triplets: int
    maximum_rectangle_triplets: int


class EdgeMetrics(SuperstepAnalytic[EdgeMetricsResult]):
    """Pairs of edges that a search for triangles or rectangles compares. ``graph.run`` returns an
    `EdgeMetricsResult`. If two vertices have equal degrees, the vertex with the greater id counts
    as higher. Gelly's variants ``library.metric.directed.EdgeMetrics`` and ``.undirected`` are the
    same here, because directions, self-loops and parallel edges do not count.

    Costs a sort of the edges, and one of the ids.
    """

    sums = ("triangle_triplets", "rectangle_triplets")
    maxima = ("most_triangle_triplets", "most_rectangle_triplets")

    def program(self) -> SuperstepProgram:
        return _EdgeMetricsProgram()

    def result_of(self, numbers: dict[str, int]) -> EdgeMetricsResult:
        return EdgeMetricsResult(*(numbers[name] for name in (*self.sums, *self.maxima)))


TRIADS = (
    "003", "012", "102", "021D", "021U", "021C", "111D", "111U", "030T", "030C", "201", "120D",
    "120U", "120C", "210", "300",
)  # fmt: skip
"""Types of three vertices: pairs with edges in both directions, in one, and in none; then the
directions."""


class TriadicCensus(SuperstepAnalytic[dict[str, int]]):
    """Numbers of triads, which are any three vertices, of each type. ``graph.run`` returns
    the counts by type. Self-loops and parallel edges do not count.
    Gelly: ``library.clustering.directed.TriadicCensus`` and ``.undirected``.

    Directed, the types are the 16 of Holland and Leinhardt, such as ``"003"`` and ``"030T"``.
    Undirected, they are ``"03"``, ``"12"``, ``"21"`` and ``"30"``: pairs with an edge, and pairs
    without.

    Costs as `TriangleCount`.

    Args:
        directed: whether types depend on the edges' directions.
    """

    sums = ("vertices", "single", "double", *TRIADS[3:])

    def __init__(self, *, directed: bool = False) -> None:
        self.directed = directed

    def program(self) -> SuperstepProgram:
        return _CensusProgram()

    def result_of(self, numbers: dict[str, int]) -> dict[str, int]:
        counts = _open_triads(numbers)
        vertices = numbers["vertices"]
        pairs = numbers["single"] // 2, numbers["double"] // 2
        connected = {name: counts[name] for name in TRIADS[3:]}
        # an edge and any third vertex is a triad, less those in which it is one of several edges
        counts["012"] = pairs[0] * (vertices - 2) - sum(
            count * int(name[1]) for name, count in connected.items()
        )
        counts["102"] = pairs[1] * (vertices - 2) - sum(
            count * int(name[0]) for name, count in connected.items()
        )
        all_triads = vertices * (vertices - 1) * (vertices - 2) // 6
        counts["003"] = all_triads - sum(counts.get(name, 0) for name in TRIADS[1:])
        if self.directed:
            return {name: counts[name] for name in TRIADS}
        undirected = dict.fromkeys(("03", "12", "21", "30"), 0)
        for name in TRIADS:
            edges = int(name[0]) + int(name[1])
            undirected[f"{edges}{3 - edges}"] += counts[name]
        return undirected


_TRIPLETS_OF_TRIANGLES = {
    "030T": {"021D": 1, "021U": 1, "021C": 1},
    "030C": {"021C": 3},
    "120D": {"021D": 1, "111D": 2},
    "120U": {"021U": 1, "111U": 2},
    "120C": {"021C": 1, "111D": 1, "111U": 1},
    "210": {"111D": 1, "111U": 1, "201": 1},
    "300": {"201": 3},
}
"""The pairs of edges with a common end in each type of triangle."""


def _open_triads(numbers: dict[str, int]) -> dict[str, int]:
    """Counts of triads in which at least two pairs have edges, without the pairs of edges that
    are parts of triangles."""
    counts = {name: numbers[name] for name in TRIADS[3:]}
    for triangle, triplets in _TRIPLETS_OF_TRIANGLES.items():
        for triplet, times in triplets.items():
            counts[triplet] -= times * numbers[triangle]
    return counts


def _directions(view: AdjacencyView) -> tuple[Array, Array, Array]:
    """For each vertex, the neighbours that are targets, those that are sources, and both."""
    bits = view.edge_values
    partition = view.partition
    is_target = partition.combine_at_sources((bits & OUT > 0).astype(np.int64), "sum", 0)
    is_source = partition.combine_at_sources((bits & IN > 0).astype(np.int64), "sum", 0)
    return is_target, is_source, is_target + is_source - partition.out_degrees


class _VertexMetricsProgram(SuperstepProgram):
    def __init__(self, has_all: bool) -> None:
        self._has_all = has_all

    def superstep(self, number: int) -> bool:
        view = distinct_neighbours(self.partition, self.exchange)
        degrees = view.partition.out_degrees
        targets, sources, both = _directions(view)
        triplets = degrees * (degrees - 1) // 2
        counted = len(degrees) if self._has_all else int((degrees > 0).sum())
        self._numbers = {
            "vertices": counted,
            "single": (degrees - both).sum(),
            "double": both.sum(),
            "triplets": triplets.sum(),
            "degree": degrees.max(initial=0),
            "out_degree": targets.max(initial=0),
            "in_degree": sources.max(initial=0),
            "most_triplets": triplets.max(initial=0),
        }
        return False

    def result(self) -> Mapping[str, Any]:
        return one_row(self._numbers)


class _EdgeMetricsProgram(SuperstepProgram):
    def superstep(self, number: int) -> bool:
        view = distinct_neighbours(self.partition, self.exchange)
        partition = view.partition
        labels = OrderedLabels(self.partition.ids, self.exchange, "ids of vertices")
        ranks = view.exchange.pull(labels.ranks)
        degrees = view.exchange.pull(partition.out_degrees)
        own, others = partition.sources, partition.targets
        is_higher = (degrees[own] < degrees[others]) | (
            (degrees[own] == degrees[others]) & (ranks[own] < ranks[others])
        )
        higher = partition.combine_at_sources(is_higher.astype(np.int64), "sum", 0)
        triangle = higher * (higher - 1) // 2
        rectangle = triangle + higher * (partition.out_degrees - higher)
        self._numbers = {
            "triangle_triplets": triangle.sum(),
            "rectangle_triplets": rectangle.sum(),
            "most_triangle_triplets": triangle.max(initial=0),
            "most_rectangle_triplets": rectangle.max(initial=0),
        }
        return False

    def result(self) -> Mapping[str, Any]:
        return one_row(self._numbers)


class _CensusProgram(SuperstepProgram):
    def superstep(self, number: int) -> bool:
        view = distinct_neighbours(self.partition, self.exchange)
        targets, sources, both = _directions(view)
        only_targets, only_sources = targets - both, sources - both
        self._numbers = {
            "vertices": len(both),
            "single": (only_targets + only_sources).sum(),
            "double": both.sum(),
            "021D": (only_targets * (only_targets - 1) // 2).sum(),
            "021U": (only_sources * (only_sources - 1) // 2).sum(),
            "021C": (only_targets * only_sources).sum(),
            "111D": (only_sources * both).sum(),
            "111U": (only_targets * both).sum(),
            "201": (both * (both - 1) // 2).sum(),
        }
        self._masks = np.zeros(64, dtype=np.int64)
        find_triangles(view, self._add)
        self._numbers |= dict.fromkeys(_TRIPLETS_OF_TRIANGLES, 0)
        for mask in np.flatnonzero(self._masks).tolist():
            self._numbers[_type_of_triangle(mask)] += self._masks[mask]
        return False

    def result(self) -> Mapping[str, Any]:
        return one_row({name: self._numbers[name] for name in TriadicCensus.sums})

    def _add(self, first: Array, second: Array, third: Array, bits: Array) -> None:
        self._masks += np.bincount(bits, minlength=64)


def _type_of_triangle(mask: int) -> str:
    """The type of a triangle by the directions of the pairs (0, 1), (0, 2) and (1, 2)."""
    pairs = (((0, 1), mask >> 4 & 3), ((0, 2), mask >> 2 & 3), ((1, 2), mask & 3))
    both = sum(bits == 3 for _, bits in pairs)
    singles = [pair if bits == OUT else pair[::-1] for pair, bits in pairs if bits != 3]
    sources, targets = {pair[0] for pair in singles}, {pair[1] for pair in singles}
    if both == 3:
        return "300"
    if both == 2:
        return "210"
    if both == 1:
        if len(sources) == 1:
            return "120D"
        return "120U" if len(targets) == 1 else "120C"
    return "030C" if len(sources) == 3 else "030T"
