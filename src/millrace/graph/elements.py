"""Vertices, edges and triplets of a graph, as rows of Python values.

Flink docs: Gelly, "Graph Representation". Each is a tuple, so that it unpacks and compares as one.
"""

from __future__ import annotations

from enum import Enum
from typing import Generic, NamedTuple, TypeVar

__all__ = ["Edge", "EdgeDirection", "Triplet", "Vertex"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")


class Vertex(NamedTuple, Generic[K, VV]):
    """A vertex: its id and its value. The value is None in a graph without vertex values.

    Example:
        >>> Vertex(1, "Alice")
        Vertex(id=1, value='Alice')
    """

    id: K
    value: VV


class Edge(NamedTuple, Generic[K, EV]):
    """A directed edge: ids of its source and target, and its value. The value is None in a graph
    without edge values.

    Example:
        >>> Edge(1, 2, 0.5).reverse()
        Edge(source=2, target=1, value=0.5)
    """

    source: K
    target: K
    value: EV

    def reverse(self) -> Edge[K, EV]:
        """The edge from the target to the source, with the same value."""
        return Edge(self.target, self.source, self.value)


class Triplet(NamedTuple, Generic[K, VV, EV]):
    """An edge together with the values of both its vertices."""

    source: K
    target: K
    source_value: VV
    target_value: VV
    value: EV

    def source_vertex(self) -> Vertex[K, VV]:
        """The vertex at which the edge begins."""
        return Vertex(self.source, self.source_value)

    def target_vertex(self) -> Vertex[K, VV]:
        """The vertex at which the edge ends."""
        return Vertex(self.target, self.target_value)

    def edge(self) -> Edge[K, EV]:
        """The edge without the values of its vertices."""
        return Edge(self.source, self.target, self.value)


class EdgeDirection(Enum):
    """The edges of a vertex that a neighbourhood method reads."""

    IN = "IN"
    """Edges that end at the vertex."""
    OUT = "OUT"
    """Edges that begin at the vertex."""
    ALL = "ALL"
    """Edges in both directions. A self-loop counts twice, once in each direction."""
