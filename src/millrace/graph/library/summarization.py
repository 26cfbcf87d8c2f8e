"""`Summarization`: a graph of the groups of vertices with equal values."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.graph.data_set import DataSet
from millrace.graph.elements import Edge, Vertex
from millrace.graph.graph import Graph

__all__ = ["Summarization"]


class Summarization:
    """A smaller graph: each vertex stands for all vertices with the same value, and each edge for
    all edges with the same value between the same two groups.

    The values of vertices and edges are rows of the common ``value`` and of ``count``, the number
    of vertices or edges that the row stands for. The id of a group is the least of its vertices'
    ids (Gelly: any of them).

    Spark computes it by two joins and two groupings when it is asked for.

    Example::

        >>> groups = graph.run(Summarization()).get_vertices()  # doctest: +SKIP
    """

    def run(self, graph: Graph[Any, Any, Any]) -> Graph[Any, Any, Any]:
        """The graph that summarizes another graph.

        Args:
            graph: the graph.

        Raises:
            JobDefinitionError: values have no type, so that equal ones cannot be found.
        """
        from millrace.spark.graphs.summaries import summarized

        for kind, what, method in (
            (graph.vertex_type, "vertices", "map_vertices"),
            (graph.edge_type, "edges", "map_edges"),
        ):
            if kind.is_pickled:
                raise JobDefinitionError(
                    f"Summarization groups {what} by their values, but these have no type: "
                    f"give {method} a value_type, or annotate its function"
                )
        vertices, edges = summarized(graph.vertices, graph.edges)
        return Graph(DataSet(vertices, Vertex), DataSet(edges, Edge))
