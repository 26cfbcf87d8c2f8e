"""`GraphNeighborhoods`: aggregates of the edges and neighbours of each vertex."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.graph.column_type import ColumnType, column_type_of_arrow, result_type
from millrace.graph.data_set import DataSet
from millrace.graph.elements import Edge, EdgeDirection, Vertex
from millrace.graph.functions import (
    EdgesFunction,
    EdgesFunctionWithVertexValue,
    NeighborsFunction,
    NeighborsFunctionWithVertexValue,
    ReduceEdgesFunction,
    ReduceNeighborsFunction,
)
from millrace.graph.graph_base import GraphBase, pair_of
from millrace.graph.row_functions import FlatMapGroups, GroupVertex, ReduceValues, RowReader

__all__ = ["GraphNeighborhoods"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")

_AGGREGATES = ("sum", "min", "max")


class GraphNeighborhoods(GraphBase[K, VV, EV], Generic[K, VV, EV]):
    """Neighbourhood methods. Flink docs: Gelly, "Neighborhood Methods"."""

    def reduce_on_edges(
        self,
        function: str | Callable[[EV, EV], EV] | ReduceEdgesFunction[EV],
        direction: EdgeDirection,
    ) -> DataSet[tuple[K, EV]]:
        """Id of each vertex that has edges, and the values of its edges reduced to one.

        Args:
            function: associative and commutative function of two values; or ``"sum"``, ``"min"``
                or ``"max"``, which Spark computes without Python.
            direction: the edges that count.
        """
        from millrace.spark.graphs.relations import adjacent

        if isinstance(function, ReduceEdgesFunction):
            function = function.reduce_edges
        rows = adjacent(self.edges, _direction(direction))
        return self._reduced(
            "reduce_on_edges", rows.select("id", "value"), function, self.edge_type
        )

    def reduce_on_neighbors(
        self,
        function: str | Callable[[VV, VV], VV] | ReduceNeighborsFunction[VV],
        direction: EdgeDirection,
    ) -> DataSet[tuple[K, VV]]:
        """Id of each vertex that has neighbours, and the neighbours' values reduced to one. A
        neighbour counts once for each edge; see `reduce_on_edges`."""
        from millrace.spark.graphs.relations import neighbors, selected

        if isinstance(function, ReduceNeighborsFunction):
            function = function.reduce_neighbors
        rows = neighbors(self.vertices, self.edges, _direction(direction))
        values = selected(rows, {"id": "id", "value": "neighbor_value"})
        return self._reduced("reduce_on_neighbors", values, function, self.vertex_type)

    def _reduced(
        self, method: str, rows: Any, function: Any, kind: ColumnType
    ) -> DataSet[tuple[K, Any]]:
        from millrace.spark.graphs.frames import arrow_schema_of, mapped
        from millrace.spark.graphs.relations import aggregated, repartitioned

        if not callable(function):
            if function not in _AGGREGATES:
                raise JobDefinitionError(
                    f"{method}() takes a function of two values, or one of "
                    f"{', '.join(map(repr, _AGGREGATES))}, got {function!r}"
                )
            frame = aggregated(rows, "value", function)
            of_frame = column_type_of_arrow(arrow_schema_of(frame).field("value").type)
            return DataSet(frame, pair_of, (self.id_type, of_frame))
        schema = arrow_schema_of(rows)
        run = ReduceValues(method, function, self.id_type, kind)
        combined = repartitioned(mapped(rows, run, schema))
        return DataSet(mapped(combined, run, schema), pair_of, (self.id_type, kind))

    def group_reduce_on_edges(
        self,
        function: Callable[[Any, list[Edge[K, EV]]], Iterable[Any] | None]
        | EdgesFunction
        | EdgesFunctionWithVertexValue,
        direction: EdgeDirection,
        output_type: Any = None,
    ) -> DataSet[Any]:
        """Results of a function of each vertex and the list of its edges.

        Args:
            function: function of a `Vertex` and its edges that returns or yields any number of
                results. It is also called for vertices without edges. An `EdgesFunction` gets
                the vertex's id only, which is faster, and no vertices without edges.
            direction: the edges that count.
            output_type: type of the results, such as ``tuple[int, float]``. By default results are
                pickled.
        """
        from millrace.spark.graphs.relations import adjacent, tagged_union

        kinds = (self.id_type, self.id_type, self.edge_type)
        rows = adjacent(self.edges, _direction(direction)).drop("neighbor")
        if isinstance(function, EdgesFunction):
            reader = RowReader((1, 2, 3), kinds, Edge)
            return self._flat_mapped(
                "group_reduce_on_edges", rows, function.iterate_edges, reader, output_type
            )
        if isinstance(function, EdgesFunctionWithVertexValue):
            function = function.iterate_edges
        reader = RowReader((3, 4, 5), kinds, Edge)
        both = tagged_union(self.vertices, rows)
        return self._flat_mapped(
            "group_reduce_on_edges", both, function, reader, output_type, with_vertex=True
        )

    def group_reduce_on_neighbors(
        self,
        function: Callable[[Any, list[tuple[Edge[K, EV], Vertex[K, VV]]]], Iterable[Any] | None]
        | NeighborsFunction
        | NeighborsFunctionWithVertexValue,
        direction: EdgeDirection,
        output_type: Any = None,
    ) -> DataSet[Any]:
        """Results of a function of each vertex and the list of its edges, each with the vertex at
        its other end.

        Args:
            function: function of a `Vertex` and a list of pairs of `Edge` and `Vertex`; see
                `group_reduce_on_edges`. A `NeighborsFunction` gets the vertex's id only.
            direction: the edges that count.
            output_type: type of the results. By default they are pickled.
        """
        from millrace.spark.graphs.relations import neighbors, tagged_union

        kinds = (self.id_type, self.id_type, self.id_type, self.edge_type, self.vertex_type)
        rows = neighbors(self.vertices, self.edges, _direction(direction))
        if isinstance(function, NeighborsFunction):
            reader = RowReader((1, 2, 3, 4, 5), kinds, _edge_and_neighbor)
            return self._flat_mapped(
                "group_reduce_on_neighbors", rows, function.iterate_neighbors, reader, output_type
            )
        if isinstance(function, NeighborsFunctionWithVertexValue):
            function = function.iterate_neighbors
        reader = RowReader((3, 4, 5, 6, 7), kinds, _edge_and_neighbor)
        both = tagged_union(self.vertices, rows)
        return self._flat_mapped(
            "group_reduce_on_neighbors", both, function, reader, output_type, with_vertex=True
        )

    def _flat_mapped(
        self,
        method: str,
        rows: Any,
        function: Any,
        reader: RowReader,
        output_type: Any,
        with_vertex: bool = False,
    ) -> DataSet[Any]:
        """Results for each ``id``. With a vertex, the first columns are id, value and tag."""
        import pyarrow as pa

        from millrace.spark.graphs.frames import mapped
        from millrace.spark.graphs.relations import in_groups

        kind = result_type(None, output_type)
        head = GroupVertex(2, 1, self.vertex_type) if with_vertex else None
        make = Vertex if with_vertex else None
        run = FlatMapGroups(method, function, 0, self.id_type, reader, kind, head, make)
        grouped = in_groups(rows, ["tag"] if with_vertex else [])
        frame = mapped(grouped, run, pa.schema([pa.field("value", kind.arrow)]))
        return DataSet(frame, None, (kind,))


def _direction(direction: Any) -> str:
    if not isinstance(direction, EdgeDirection):
        raise JobDefinitionError(
            f"the direction is EdgeDirection.IN, OUT or ALL, got {direction!r}"
        )
    return direction.value


def _edge_and_neighbor(
    neighbor: Any, source: Any, target: Any, value: Any, neighbor_value: Any
) -> tuple[Edge[Any, Any], Vertex[Any, Any]]:
    return Edge(source, target, value), Vertex(neighbor, neighbor_value)
