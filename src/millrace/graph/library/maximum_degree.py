"""`MaximumDegree`: removes the vertices of high degree from a graph."""

from __future__ import annotations

from typing import Any

from millrace.graph.graph import Graph
from millrace.graph.library.degrees import VertexDegrees
from millrace.graph.library.superstep_algorithm import at_least_one

__all__ = ["MaximumDegree"]


class MaximumDegree:
    """The graph without the vertices that have more distinct neighbours than a number, and without
    their edges. Gelly: ``asm.degree.filter.undirected.MaximumDegree``.

    A degree is that of `VertexDegrees`. Degrees are computed when the algorithm runs, and kept
    until ``unpersist()`` of the new graph, which is computed when it is asked for.

    Args:
        maximum_degree: greatest degree of a vertex that stays.

    Example::

        >>> small = graph.run(MaximumDegree(1000))  # doctest: +SKIP
    """

    def __init__(self, maximum_degree: int) -> None:
        self.maximum_degree = at_least_one(maximum_degree, "maximum_degree")

    def run(self, graph: Graph[Any, Any, Any]) -> Graph[Any, Any, Any]:
        """The graph of the other vertices.

        Args:
            graph: the graph.
        """
        from millrace.spark.graphs.frames import free_with

        degrees = graph.run(VertexDegrees()).to_dataframe()
        hubs = degrees.where(degrees["degree"] > self.maximum_degree).select("id")
        small = graph.remove_vertices(hubs)
        free_with(small.vertices, degrees)
        return small
