"""`BipartiteGraph`: vertices of two kinds, with edges between the kinds only, and its
projections."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from millrace.common.types.class_types import ClassTypeInfo
from millrace.common.types.composite_types import TupleTypeInfo
from millrace.graph.column_type import ColumnType
from millrace.graph.data_set import DataSet
from millrace.graph.elements import Edge, Vertex
from millrace.graph.graph import Graph
from millrace.graph.graph_base import VERTEX_COLUMNS
from millrace.graph.inputs import rows_of

__all__ = ["BipartiteEdge", "BipartiteGraph", "Projection"]

KT = TypeVar("KT")
KB = TypeVar("KB")
VVT = TypeVar("VVT")
VVB = TypeVar("VVB")
EV = TypeVar("EV")

_COLUMNS = ("top_id", "bottom_id", "value")


class BipartiteEdge(NamedTuple, Generic[KT, KB, EV]):
    """An edge: ids of its top and its bottom vertex, which may have different types, and its
    value."""

    top_id: KT
    bottom_id: KB
    value: EV


class Projection(NamedTuple):
    """Value of an edge in a full projection: the vertex through which two vertices are
    connected, the values of these two vertices, and the values of the two edges."""

    connecting_id: Any
    connecting_value: Any
    source_value: Any
    target_value: Any
    source_edge_value: Any
    target_edge_value: Any


class BipartiteGraph(Generic[KT, KB, VVT, VVB, EV]):
    """Top vertices, bottom vertices, and edges between them.

    A top and a bottom vertex with the same id are different vertices. Algorithms run on a
    projection, which is a `Graph`.

    Example::

        papers = [(1, "Graphs"), (2, "Streams")]
        authors = [("ada", None), ("bob", None)]
        wrote = [(1, "ada"), (1, "bob"), (2, "bob")]
        graph = BipartiteGraph.from_data_set(papers, authors, wrote)
        graph.projection_bottom_simple()   # ada and bob wrote a paper together
    """

    def __init__(
        self,
        top_vertices: DataSet[Vertex[KT, VVT]],
        bottom_vertices: DataSet[Vertex[KB, VVB]],
        edges: DataSet[BipartiteEdge[KT, KB, EV]],
    ) -> None:
        self._top = top_vertices
        self._bottom = bottom_vertices
        self._edges = edges

    @staticmethod
    def from_data_set(
        top_vertices: Any, bottom_vertices: Any, edges: Any
    ) -> BipartiteGraph[Any, Any, Any, Any, Any]:
        """A bipartite graph.

        Args:
            top_vertices: rows of id and value; see `Graph.from_edges` for what they may be.
            bottom_vertices: rows of id and value.
            edges: rows of the id of a top vertex, the id of a bottom vertex and, if edges have
                values, a value.

        Raises:
            JobDefinitionError: the rows have other columns, or ids of different types.
        """
        return BipartiteGraph(
            rows_of(top_vertices, VERTEX_COLUMNS, Vertex, "top vertices"),
            rows_of(bottom_vertices, VERTEX_COLUMNS, Vertex, "bottom vertices"),
            rows_of(edges, _COLUMNS, BipartiteEdge, "edges"),
        )

    def get_top_vertices(self) -> DataSet[Vertex[KT, VVT]]:
        """The top vertices."""
        return self._top

    def get_bottom_vertices(self) -> DataSet[Vertex[KB, VVB]]:
        """The bottom vertices."""
        return self._bottom

    def get_edges(self) -> DataSet[BipartiteEdge[KT, KB, EV]]:
        """The edges."""
        return self._edges

    def projection_top_simple(self) -> Graph[KT, VVT, tuple[EV, EV]]:
        """The graph of the top vertices. Two top vertices get an edge for each bottom vertex to
        which both have an edge; its value is the pair of the values of these two edges."""
        return self._simple(self._top, "top_id", "bottom_id")

    def projection_bottom_simple(self) -> Graph[KB, VVB, tuple[EV, EV]]:
        """The bottom vertices, and an edge from one to another for each top vertex that has edges
        to both; see `projection_top_simple`."""
        return self._simple(self._bottom, "bottom_id", "top_id")

    def projection_top_full(self) -> Graph[KT, VVT, Projection]:
        """The top vertices, connected as in `projection_top_simple`. The value of an edge is a
        `Projection`."""
        return self._full(self._top, self._bottom, "top_id", "bottom_id")

    def projection_bottom_full(self) -> Graph[KB, VVB, Projection]:
        """The bottom vertices, connected as in `projection_bottom_simple`. The value of an edge is
        a `Projection`."""
        return self._full(self._bottom, self._top, "bottom_id", "top_id")

    def _simple(self, vertices: DataSet[Any], kept: str, through: str) -> Graph[Any, Any, Any]:
        from millrace.spark.graphs.bipartite import simple_projection

        kind = self._edges.types[2]
        pair = TupleTypeInfo((kind.as_field(), kind.as_field()))
        frame = simple_projection(self._edges.to_dataframe(), kept, through)
        return _projected(vertices, frame, ColumnType(pair))

    def _full(
        self, vertices: DataSet[Any], others: DataSet[Any], kept: str, through: str
    ) -> Graph[Any, Any, Any]:
        from millrace.spark.graphs.bipartite import full_projection

        of_vertices, of_others = vertices.types[1], others.types
        edge = self._edges.types[2]
        kinds = (*of_others, of_vertices, of_vertices, edge, edge)
        projection = ClassTypeInfo(
            Projection, Projection._fields, tuple(kind.as_field() for kind in kinds)
        )
        frame = full_projection(
            vertices.to_dataframe(),
            others.to_dataframe(),
            self._edges.to_dataframe(),
            kept,
            through,
        )
        return _projected(vertices, frame, ColumnType(projection))


def _projected(vertices: DataSet[Any], edges: Any, kind: ColumnType) -> Graph[Any, Any, Any]:
    ids = vertices.types[0]
    return Graph(vertices, DataSet(edges, Edge, (ids, ids, kind)))
