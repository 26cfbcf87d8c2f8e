"""`Graph`: a bounded graph, as two DataFrames that Spark computes when results are asked for.

Flink docs: Gelly, "Graph API".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.graph.bridges import (
    GraphBridges,
    edges_of_igraph,
    edges_of_networkx,
    vertices_of_frame,
)
from millrace.graph.column_type import NULL, result_type
from millrace.graph.csv_input import GraphCsvFormat
from millrace.graph.data_set import DataSet
from millrace.graph.elements import Edge, Vertex
from millrace.graph.graph_base import EDGE_COLUMNS, VERTEX_COLUMNS
from millrace.graph.graph_iterations import GraphIterations
from millrace.graph.inputs import rows_of
from millrace.graph.neighborhoods import GraphNeighborhoods
from millrace.graph.set_operations import GraphSetOperations
from millrace.graph.transformations import GraphTransformations
from millrace.graph.validation import GraphValidator

__all__ = ["Graph"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")
T_co = TypeVar("T_co", covariant=True)


class _Algorithm(Protocol[T_co]):
    def run(self, graph: Graph[Any, Any, Any], /) -> T_co: ...


T = TypeVar("T")


class Graph(
    GraphTransformations[K, VV, EV],
    GraphSetOperations[K, VV, EV],
    GraphNeighborhoods[K, VV, EV],
    GraphBridges[K, VV, EV],
    GraphIterations[K, VV, EV],
):
    """A directed graph: vertices with an id and a value, edges with a source, a target and a value.

    A graph does not change; each method returns another one. Spark computes its parts when a
    result is collected or counted.

    Example::

        graph = Graph.from_edges([(1, 2), (2, 3)])
        graph.out_degrees().collect()   # [(1, 1), (2, 1), (3, 0)]
    """

    @classmethod
    def from_edges(
        cls,
        edges: Any,
        vertex_initializer: Callable[[Any], Any] | None = None,
        *,
        id_type: Any = None,
        vertex_type: Any = None,
        edge_type: Any = None,
    ) -> Graph[Any, Any, Any]:
        """A graph whose vertices are the ends of edges.

        Args:
            edges: rows of source, target and, if edges have values, value: a collection of tuples,
                a Spark DataFrame, a `DataSet`, a `Table`, a bounded `DataStream`, an Arrow table
                or a pandas DataFrame.
            vertex_initializer: function of a vertex's id that returns its value. None if vertices
                have no values.
            id_type: type of the ids of a collection, such as ``Types.LONG()``, ``"BIGINT"`` or
                ``int``. By default it follows from the ids.
            vertex_type: type of the results of ``vertex_initializer``. By default the type of its
                annotation; results without either are pickled.
            edge_type: type of the values of a collection. By default it follows from the values.

        Raises:
            JobDefinitionError: the edges have other columns, or ids of different types.
        """
        from millrace.spark.graphs.relations import ids_of_edges, with_nulls

        rows = _edges(edges, id_type, edge_type)
        ids = with_nulls(ids_of_edges(rows.to_dataframe()))
        vertices: DataSet[Any] = DataSet(ids, Vertex, (rows.types[0], NULL))
        graph: Graph[Any, Any, Any] = cls(vertices, rows)
        if vertex_initializer is None:
            return graph
        kind = result_type(vertex_initializer, vertex_type)
        made: Graph[Any, Any, Any] = graph.map_vertices(_OfId(vertex_initializer), kind)
        return made

    @classmethod
    def from_vertices_and_edges(
        cls,
        vertices: Any,
        edges: Any,
        *,
        id_type: Any = None,
        vertex_type: Any = None,
        edge_type: Any = None,
    ) -> Graph[Any, Any, Any]:
        """A graph of vertices and edges.

        Args:
            vertices: rows of id and, if vertices have values, value; see `from_edges` for what
                they may be. In a collection a bare id is a vertex without a value.
            edges: rows of source, target and, if edges have values, value.

        Raises:
            JobDefinitionError: there are other columns, or ids of different types.
        """
        declared = (id_type, vertex_type)
        rows = rows_of(vertices, VERTEX_COLUMNS, Vertex, "vertices", declared)
        return cls(rows, _edges(edges, id_type, edge_type))

    @classmethod
    def from_csv(
        cls,
        edges_path: str,
        vertices_path: str | None = None,
        *,
        id_type: Any = str,
        vertex_type: Any = None,
        edge_type: Any = None,
        vertex_initializer: Callable[[Any], Any] | None = None,
        edge_format: GraphCsvFormat | None = None,
        vertex_format: GraphCsvFormat | None = None,
    ) -> Graph[Any, Any, Any]:
        """A graph of CSV files, which Spark reads. Gelly: ``fromCsvReader``.

        Args:
            edges_path: file or directory with a line per edge: source, target and, with
                ``edge_type``, value.
            vertices_path: file or directory with a line per vertex: id and, with ``vertex_type``,
                value. By default the vertices are the ends of edges.
            id_type: type of ids, such as ``int`` or ``"BIGINT"``.
            vertex_type: type of the values of vertices. None if they have none.
            edge_type: type of the values of edges. None if they have none.
            vertex_initializer: function of a vertex's id that returns its value, without
                ``vertices_path``.
            edge_format: format of the lines of edges.
            vertex_format: format of the lines of vertices.

        Raises:
            JobDefinitionError: there is no such file, or its first line has too few fields.
        """
        edges = (edge_format or GraphCsvFormat()).edges(edges_path, id_type, edge_type)
        if vertices_path is None:
            return cls.from_edges(edges, vertex_initializer, vertex_type=vertex_type)
        if vertex_initializer is not None:
            raise JobDefinitionError("give either vertices_path or vertex_initializer, not both")
        vertices = (vertex_format or GraphCsvFormat()).vertices(vertices_path, id_type, vertex_type)
        return cls.from_vertices_and_edges(vertices, edges)

    @classmethod
    def from_networkx(
        cls, graph: Any, *, vertex_attribute: str = "value", edge_attribute: str = "value"
    ) -> Graph[Any, Any, Any]:
        """A graph of NetworkX. An undirected edge becomes two edges, one in each direction.

        Args:
            vertex_attribute: attribute of nodes with the value of the vertex.
            edge_attribute: attribute of edges with the value of the edge, such as ``weight``.
        """
        return cls.from_vertices_and_edges(
            *edges_of_networkx(graph, vertex_attribute, edge_attribute)
        )

    @classmethod
    def from_igraph(
        cls, graph: Any, *, vertex_attribute: str = "value", edge_attribute: str = "value"
    ) -> Graph[Any, Any, Any]:
        """A graph of igraph; see `from_networkx`. The ids are the names of the vertices, or their
        numbers if they have no names."""
        return cls.from_vertices_and_edges(
            *edges_of_igraph(graph, vertex_attribute, edge_attribute)
        )

    @classmethod
    def from_graphframe(cls, graph: Any) -> Graph[Any, Any, Any]:
        """A graph of GraphFrames. Further columns of a vertex or an edge become its value: one
        column unchanged, several columns as a row.
        """
        return cls.from_vertices_and_edges(
            vertices_of_frame(graph.vertices, ("id",), VERTEX_COLUMNS[:1]),
            vertices_of_frame(graph.edges, ("src", "dst"), EDGE_COLUMNS[:2]),
        )

    def validate(self, validator: GraphValidator) -> bool:
        """Whether the graph passes a check, such as `InvalidVertexIdsValidator`."""
        return validator.validate(self)

    def run(self, algorithm: _Algorithm[T]) -> T:
        """Result of an algorithm, such as those of `millrace.graph.library`."""
        return algorithm.run(self)


class _OfId:
    """Adapter that calls a function of a vertex's id with the id of a vertex."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __call__(self, vertex: Vertex[Any, Any]) -> Any:
        return self._function(vertex.id)


def _edges(edges: Any, id_type: Any, edge_type: Any) -> DataSet[Edge[Any, Any]]:
    return rows_of(edges, EDGE_COLUMNS, Edge, "edges", (id_type, id_type, edge_type))
