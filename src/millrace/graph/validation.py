"""Checks of a graph. Flink docs: Gelly, "Graph Validation"."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from millrace.graph.graph_base import GraphBase

__all__ = ["GraphValidator", "InvalidVertexIdsValidator"]


class GraphValidator(ABC):
    """Check of a graph, which `Graph.validate` runs."""

    @abstractmethod
    def validate(self, graph: GraphBase[Any, Any, Any]) -> bool:
        """Whether the graph is valid."""


class InvalidVertexIdsValidator(GraphValidator):
    """Check that both ends of each edge are vertices of the graph."""

    def validate(self, graph: GraphBase[Any, Any, Any]) -> bool:
        """Whether each end of an edge is a vertex."""
        from millrace.spark.graphs.frames import counted
        from millrace.spark.graphs.relations import missing_ids

        return counted(missing_ids(graph.vertices, graph.edges).limit(1)) == 0
