"""`GraphSetOperations`: unions, differences and intersections of graphs, and single changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.graph.column_type import NULL, ColumnType
from millrace.graph.data_set import DataSet
from millrace.graph.elements import Edge, Vertex
from millrace.graph.graph_base import EDGE_COLUMNS, VERTEX_COLUMNS, GraphBase
from millrace.graph.inputs import rows_of

__all__ = ["GraphSetOperations"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")


class GraphSetOperations(GraphBase[K, VV, EV], Generic[K, VV, EV]):
    """Methods that combine a graph with another one, or with some vertices or edges."""

    def union(self, graph: GraphBase[K, VV, EV]) -> Self:
        """The vertices and edges of both graphs. Equal vertices occur once. All edges are kept,
        even equal ones. If only one graph has vertex values, a vertex of both graphs has the value
        of that graph.

        Raises:
            JobDefinitionError: ids or values of the graphs have different types.
        """
        from millrace.spark.graphs.relations import without_vertices

        _require_equal("union", self, graph)
        one, other = self.get_vertices(), graph.get_vertices()
        if one.types[1].is_null:
            one, other = other, one
        if other.types[1].is_null and not one.types[1].is_null:
            rest = without_vertices(other.to_dataframe(), one.to_dataframe())
            other = DataSet(rest, Vertex, other.types)
        both = _union(one, other)
        vertices = DataSet(both.to_dataframe().distinct(), Vertex, both.types)
        return type(self)(vertices, _union(self.get_edges(), graph.get_edges()))

    def difference(self, graph: GraphBase[K, Any, Any]) -> Self:
        """The vertices whose ids the other graph does not have, and the edges between them."""
        return self.remove_vertices(graph.get_vertices())

    def intersect(self, graph: GraphBase[K, Any, EV], distinct: bool = True) -> Any:
        """The edges that both graphs have, with the same source, target and value; their ends are
        the vertices, without values.

        Args:
            distinct: whether an edge occurs once. If not, both edges of each pair of equal edges
                occur, and an edge belongs to one pair.

        Raises:
            JobDefinitionError: ids or values of edges of the graphs have different types.
        """
        from millrace.spark.graphs.relations import common_edges, ids_of_edges, with_nulls

        _require_equal("intersect", self, graph, values_of_vertices=False)
        edges = common_edges(self.edges, graph.edges, distinct)
        id_type, _, value_type = _common_types(self.get_edges(), graph.get_edges())
        return self._with(
            with_nulls(ids_of_edges(edges)),
            edges,
            vertex_type=NULL,
            edge_type=value_type,
            id_type=id_type,
        )

    def add_vertex(self, vertex: Vertex[K, VV] | tuple[K, VV]) -> Self:
        """The graph with a vertex; it is unchanged if it has a vertex with this id."""
        return self.add_vertices([vertex])

    def add_vertices(self, vertices: Any) -> Self:
        """The graph with further vertices. A vertex with an id that the graph has already is left
        out.

        Args:
            vertices: rows of id and value; see `Graph.from_edges` for what they may be.
        """
        from millrace.spark.graphs.relations import first_of_each, without_vertices

        rows = self._new_vertices(vertices)
        frame = first_of_each(rows.to_dataframe(), ["id"])
        added = DataSet(without_vertices(frame, self.vertices), Vertex, rows.types)
        return type(self)(_union(self.get_vertices(), added), self.get_edges())

    def add_edge(self, source: Any, target: Any, edge_value: EV | None = None) -> Self:
        """The graph with an edge, and with the ends of the edge if they are no vertices yet.

        Args:
            source: the `Vertex`, a pair of id and value, at which the edge begins.
            target: the vertex at which the edge ends.
        """
        first, second = Vertex(*source), Vertex(*target)
        graph = self.add_vertices([first, second])
        edges = graph._new_edges([(first.id, second.id, edge_value)])
        return type(self)(graph.get_vertices(), _union(graph.get_edges(), edges))

    def add_edges(self, edges: Any) -> Self:
        """The graph with further edges; those with an end that is no vertex are left out.

        Args:
            edges: rows of source, target and value.
        """
        from millrace.spark.graphs.relations import edges_within

        rows = self._new_edges(edges)
        added = DataSet(edges_within(rows.to_dataframe(), self.vertices), Edge, rows.types)
        return type(self)(self.get_vertices(), _union(self.get_edges(), added))

    def remove_vertex(self, vertex: Vertex[K, Any] | tuple[K, Any] | K) -> Self:
        """The graph without a vertex and its edges. Only the vertex's id counts."""
        return self.remove_vertices([vertex])

    def remove_vertices(self, vertices: Any) -> Self:
        """The graph without some vertices and their edges. Only their ids count.

        Args:
            vertices: rows of id and, without meaning, value.
        """
        from millrace.spark.graphs.relations import edges_within, without_vertices

        removed = rows_of(
            vertices, VERTEX_COLUMNS, Vertex, "vertices", (self._given_id(vertices), None)
        )
        kept = without_vertices(self.vertices, removed.to_dataframe())
        graph: Self = self._with(kept, edges_within(self.edges, kept))
        return graph

    def remove_edge(self, edge: Edge[K, Any] | Sequence[Any]) -> Self:
        """The graph without all edges that have the source and target of the given edge."""
        return self.remove_edges([edge])

    def remove_edges(self, edges: Any) -> Self:
        """The graph without all edges whose source and target are those of one of the given edges.
        The vertices stay.

        Args:
            edges: rows of source, target and, without meaning, value.
        """
        from millrace.spark.graphs.relations import without_edges

        ids = self._given_id(edges)
        removed = rows_of(edges, EDGE_COLUMNS, Edge, "edges", (ids, ids, None))
        graph: Self = self._with(edges=without_edges(self.edges, removed.to_dataframe()))
        return graph

    def _given_id(self, rows: Any) -> ColumnType | None:
        """Type of the ids of a collection; None if it follows from the collection."""
        return _declared(self.id_type) if isinstance(rows, list | tuple | set) else None

    def _new_vertices(self, vertices: Any) -> DataSet[Vertex[K, VV]]:
        """Further vertices, of the types of the present ones."""
        present = self.get_vertices().types
        rows = rows_of(vertices, VERTEX_COLUMNS, Vertex, "vertices", list(map(_declared, present)))
        return _of_types("add_vertices", rows, present)

    def _new_edges(self, edges: Any) -> DataSet[Edge[K, EV]]:
        present = self.get_edges().types
        rows = rows_of(edges, EDGE_COLUMNS, Edge, "edges", list(map(_declared, present)))
        return _of_types("add_edges", rows, present)


def _declared(present: ColumnType) -> ColumnType | None:
    """Type of further values; None, so that it follows from them, if there are none so far."""
    return None if present.is_null else present


def _union(one: DataSet[Any], other: DataSet[Any]) -> DataSet[Any]:
    frame = one.to_dataframe().union(other.to_dataframe())
    return DataSet(frame, one.row, _common_types(one, other))


def _common_types(one: DataSet[Any], other: DataSet[Any]) -> tuple[ColumnType, ...]:
    """Types of columns that have the rows of both."""
    return tuple(
        second if first.is_null else first
        for first, second in zip(one.types, other.types, strict=True)
    )


def _of_types(
    method: str, rows: DataSet[Any], wanted_types: tuple[ColumnType, ...]
) -> DataSet[Any]:
    """The rows, if they can be rows of the graph."""
    names = rows.to_dataframe().columns
    for name, given, wanted in zip(names, rows.types, wanted_types, strict=True):
        if not _is_same(given, wanted):
            raise JobDefinitionError(
                f"{method}(): the graph's column {name} is of type {wanted}, and that of the new "
                f"rows of type {given}: convert the values"
            )
    return rows


def _require_equal(method: str, one: Any, other: Any, *, values_of_vertices: bool = True) -> None:
    pairs = [
        ("ids", one.id_type, other.id_type),
        ("values of edges", one.edge_type, other.edge_type),
    ]
    if values_of_vertices:
        pairs.append(("values of vertices", one.vertex_type, other.vertex_type))
    for what, first, second in pairs:
        if not _is_same(first, second):
            raise JobDefinitionError(
                f"{method}(): the {what} of the graph are of type {first}, those of the other one "
                f"of type {second}: convert them, for example with map_vertices() or map_edges()"
            )


def _is_same(one: ColumnType, other: ColumnType) -> bool:
    """Whether columns of both types can be columns of one DataFrame. NULL is of each type."""
    if one.is_null or other.is_null:
        return True
    kinds = {str(kind.logical_type.with_nullable(True)) for kind in (one, other)}
    return len(kinds) == 1 and one.is_pickled == other.is_pickled
