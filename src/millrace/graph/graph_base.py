"""`GraphBase`: the vertices and edges of a graph, and methods that read them."""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.types.type_information import BasicTypeInfo
from millrace.graph.column_type import ColumnType
from millrace.graph.data_set import DataSet
from millrace.graph.elements import Edge, EdgeDirection, Triplet, Vertex

__all__ = ["GraphBase"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")

EDGE_COLUMNS = ("source", "target", "value")
VERTEX_COLUMNS = ("id", "value")


class GraphBase(Generic[K, VV, EV]):
    """Vertices and edges, each a lazy DataFrame.

    Args:
        vertices: rows with the columns ``id`` and ``value``.
        edges: rows with the columns ``source``, ``target`` and ``value``.

    Raises:
        JobDefinitionError: the ids of vertices and edges have different types.
    """

    def __init__(self, vertices: DataSet[Vertex[K, VV]], edges: DataSet[Edge[K, EV]]) -> None:
        self._vertices, self._edges = _with_equal_ids(vertices, edges)

    @property
    def vertices(self) -> Any:
        """The vertices as a Spark DataFrame with the columns ``id`` and ``value``."""
        return self._vertices.to_dataframe()

    @property
    def edges(self) -> Any:
        """The edges as a Spark DataFrame with the columns ``source``, ``target``, ``value``."""
        return self._edges.to_dataframe()

    @property
    def id_type(self) -> ColumnType:
        """Type of the ids of vertices."""
        return self._vertices.types[0]

    @property
    def vertex_type(self) -> ColumnType:
        """Type of the values of vertices."""
        return self._vertices.types[1]

    @property
    def edge_type(self) -> ColumnType:
        """Type of the values of edges."""
        return self._edges.types[2]

    def get_vertices(self) -> DataSet[Vertex[K, VV]]:
        """The vertices."""
        return self._vertices

    def get_edges(self) -> DataSet[Edge[K, EV]]:
        """The edges."""
        return self._edges

    def get_vertex_ids(self) -> DataSet[K]:
        """The ids of the vertices."""
        return DataSet(self.vertices.select("id"), None, (self.id_type,))

    def get_edge_ids(self) -> DataSet[tuple[K, K]]:
        """Source and target of each edge."""
        frame = self.edges.select("source", "target")
        return DataSet(frame, pair_of, (self.id_type, self.id_type))

    def get_triplets(self) -> DataSet[Triplet[K, VV, EV]]:
        """The edges, each with the values of both its vertices."""
        from millrace.spark.graphs.relations import triplets

        types = (self.id_type, self.id_type, self.vertex_type, self.vertex_type, self.edge_type)
        return DataSet(triplets(self.vertices, self.edges), Triplet, types)

    def number_of_vertices(self) -> int:
        """Number of vertices, counted by Spark now."""
        return self._vertices.count()

    def number_of_edges(self) -> int:
        """Number of edges, counted by Spark now."""
        return self._edges.count()

    def in_degrees(self) -> DataSet[tuple[K, int]]:
        """Id of each vertex and the number of edges that end at it."""
        return self._degrees(EdgeDirection.IN)

    def out_degrees(self) -> DataSet[tuple[K, int]]:
        """Id of each vertex and the number of edges that begin at it."""
        return self._degrees(EdgeDirection.OUT)

    def get_degrees(self) -> DataSet[tuple[K, int]]:
        """Id of each vertex and the number of edges that begin or end at it."""
        return self._degrees(EdgeDirection.ALL)

    def _degrees(self, direction: EdgeDirection) -> DataSet[tuple[K, int]]:
        from millrace.spark.graphs.relations import degrees

        counts = degrees(self.vertices, self.edges, direction.value)
        return DataSet(counts, pair_of, (self.id_type, ColumnType(BasicTypeInfo("LONG"))))

    def persist(self) -> Self:
        """Let Spark keep vertices and edges in memory or on disk from their first use on, so that
        they are not computed for each result again. Returns the graph."""
        self.vertices.persist()
        self.edges.persist()
        return self

    def unpersist(self) -> Self:
        """Let Spark forget the kept vertices and edges, and the result of the iteration that has
        computed them. Returns the graph."""
        self._vertices.unpersist()
        self._edges.unpersist()
        return self

    def _with(
        self,
        vertices: Any = None,
        edges: Any = None,
        *,
        vertex_type: ColumnType | None = None,
        edge_type: ColumnType | None = None,
        id_type: ColumnType | None = None,
    ) -> Any:
        """The graph with other DataFrames or types."""
        ids = id_type or self.id_type
        return type(self)(
            DataSet(
                self.vertices if vertices is None else vertices,
                Vertex,
                (ids, vertex_type or self.vertex_type),
            ),
            DataSet(
                self.edges if edges is None else edges,
                Edge,
                (ids, ids, edge_type or self.edge_type),
            ),
        )

    def __repr__(self) -> str:
        return f"Graph(id: {self.id_type}, vertex: {self.vertex_type}, edge: {self.edge_type})"


def pair_of(*values: Any) -> tuple[Any, ...]:
    """A row of two columns as a tuple."""
    return values


def _with_equal_ids(
    vertices: DataSet[Any], edges: DataSet[Any]
) -> tuple[DataSet[Any], DataSet[Any]]:
    """Vertices and edges with ids of one type. Integers of different widths become the wider ones;
    an empty set takes the type of the other one."""
    from millrace.spark.graphs.relations import cast_ids

    of_vertices, source, target = vertices.types[0], *edges.types[:2]
    kinds = (of_vertices.logical_type, source.logical_type, target.logical_type)
    if len({str(kind.with_nullable(True)) for kind in kinds}) == 1:
        return vertices, edges
    if of_vertices.is_null:
        return _cast(vertices, ("id",), source, cast_ids), edges
    if source.is_null and target.is_null:
        return vertices, _cast(edges, ("source", "target"), of_vertices, cast_ids)
    integers = ("TINYINT", "SMALLINT", "INT", "BIGINT")
    if all(str(kind.with_nullable(True)) in integers for kind in kinds):
        wide = ColumnType(BasicTypeInfo("LONG"))
        return (
            _cast(vertices, ("id",), wide, cast_ids),
            _cast(edges, ("source", "target"), wide, cast_ids),
        )
    raise JobDefinitionError(
        f"the ids of the vertices are of type {of_vertices}, those of the edges of types {source} "
        f"(source) and {target} (target): all ids of a graph have one type"
    )


def _cast(rows: DataSet[Any], names: tuple[str, ...], kind: ColumnType, cast: Any) -> DataSet[Any]:
    from millrace.common.types.logical.spark_type import spark_ddl

    frame = cast(rows.to_dataframe(), names, spark_ddl(kind.logical_type))
    types = tuple([kind] * len(names)) + rows.types[len(names) :]
    return DataSet(frame, rows.row, types)
