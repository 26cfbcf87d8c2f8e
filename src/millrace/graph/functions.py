"""Functions of neighbourhood methods, joins and algorithms, as classes.

Each method also takes a plain function. A class shows which form is meant, and may have fields.
Flink docs: Gelly, "Neighborhood Methods".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from millrace.graph.elements import Edge, Vertex

__all__ = [
    "EdgeJoinFunction",
    "EdgesFunction",
    "EdgesFunctionWithVertexValue",
    "GraphAlgorithm",
    "NeighborsFunction",
    "NeighborsFunctionWithVertexValue",
    "ReduceEdgesFunction",
    "ReduceNeighborsFunction",
    "VertexJoinFunction",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class GraphAlgorithm(ABC, Generic[T_co]):
    """Algorithm that `Graph.run` runs."""

    @abstractmethod
    def run(self, graph: Any) -> T_co:
        """Result of the algorithm for a `Graph`."""


class ReduceEdgesFunction(ABC, Generic[T]):
    """Associative and commutative function of the values of two edges."""

    @abstractmethod
    def reduce_edges(self, first_edge_value: T, second_edge_value: T) -> T:
        """One value in place of the values of two edges."""


class ReduceNeighborsFunction(ABC, Generic[T]):
    """Associative and commutative function of the values of two neighbours."""

    @abstractmethod
    def reduce_neighbors(self, first_neighbor_value: T, second_neighbor_value: T) -> T:
        """One value in place of the values of two neighbours."""


class EdgesFunction(ABC):
    """Function of the id of a vertex and its edges; vertices without edges are left out."""

    @abstractmethod
    def iterate_edges(self, vertex_id: Any, edges: list[Edge[Any, Any]]) -> Iterable[Any] | None:
        """The results for one vertex, from its id and its edges."""


class EdgesFunctionWithVertexValue(ABC):
    """Function of a vertex and its edges; vertices without edges are included."""

    @abstractmethod
    def iterate_edges(
        self, vertex: Vertex[Any, Any], edges: list[Edge[Any, Any]]
    ) -> Iterable[Any] | None:
        """The results for one vertex, from the vertex and its edges."""


class NeighborsFunction(ABC):
    """Function of the id of a vertex and its edges with the vertices at their other ends; vertices
    without edges are left out."""

    @abstractmethod
    def iterate_neighbors(
        self, vertex_id: Any, neighbors: list[tuple[Edge[Any, Any], Vertex[Any, Any]]]
    ) -> Iterable[Any] | None:
        """The results for one vertex, from its id, its edges and its neighbours."""


class NeighborsFunctionWithVertexValue(ABC):
    """Function of a vertex and its edges with the vertices at their other ends; vertices without
    edges are included.
    """

    @abstractmethod
    def iterate_neighbors(
        self, vertex: Vertex[Any, Any], neighbors: list[tuple[Edge[Any, Any], Vertex[Any, Any]]]
    ) -> Iterable[Any] | None:
        """The results for one vertex, from the vertex, its edges and its neighbours."""


class VertexJoinFunction(ABC):
    """Function of a vertex's value and the value of a joined row."""

    @abstractmethod
    def vertex_join(self, vertex_value: Any, input_value: Any) -> Any:
        """New value of the vertex."""


class EdgeJoinFunction(ABC):
    """Function of an edge's value and the value of a joined row."""

    @abstractmethod
    def edge_join(self, edge_value: Any, input_value: Any) -> Any:
        """New value of the edge."""
