"""`GraphTransformations`: graphs with other values, other ids or fewer vertices and edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.graph.column_type import (
    NULL,
    ColumnType,
    column_type_of_arrow,
    declared_column_type,
    result_type,
)
from millrace.graph.elements import Edge, Vertex
from millrace.graph.functions import EdgeJoinFunction, VertexJoinFunction
from millrace.graph.graph_base import GraphBase
from millrace.graph.inputs import rows_of
from millrace.graph.row_functions import FilterRows, MapRows, RowReader

__all__ = ["GraphTransformations"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")


class GraphTransformations(GraphBase[K, VV, EV], Generic[K, VV, EV]):
    """Methods that change values, ids or the direction of edges, or leave rows out.

    A function may be a Python function of one row, a vectorised one of a whole batch, a
    `pyspark.sql.Column`, or an expression of Spark SQL as text, such as ``"value * 2"``. Spark
    itself computes the last two, without Python.
    """

    def map_vertices(
        self, function: Any, value_type: Any = None, *, vectorized: bool = False
    ) -> Any:
        """The graph with other values of its vertices.

        Args:
            function: function of a `Vertex` that returns its new value; or an expression of SQL
                over ``id`` and ``value``, or a `pyspark.sql.Column`.
            value_type: type of the new values, such as ``Types.DOUBLE()``, ``"DOUBLE"`` or
                ``float``. By default the type of the function's annotation; values without either
                are pickled. For a vectorised function by default the type of the present values.
            vectorized: whether the function takes a `pyarrow.RecordBatch` with the columns ``id``
                and ``value``, and returns an array with a value for each of its rows.

        Example::

            graph.map_vertices(lambda vertex: vertex.value + 1, int)
            graph.map_vertices("value + 1")
        """
        frame, kind = self._mapped_values(
            "map_vertices", self.vertices, function, value_type, vectorized, self._vertex_reader()
        )
        return self._with(vertices=frame, vertex_type=kind)

    def map_edges(self, function: Any, value_type: Any = None, *, vectorized: bool = False) -> Any:
        """The graph with other values of its edges; see `map_vertices`. The function takes an
        `Edge`, or the columns ``source``, ``target`` and ``value``.
        """
        frame, kind = self._mapped_values(
            "map_edges", self.edges, function, value_type, vectorized, self._edge_reader()
        )
        return self._with(edges=frame, edge_type=kind)

    def translate_vertex_values(self, function: Any, value_type: Any = None) -> Any:
        """The graph with each vertex's value replaced by a function of the value."""
        reader = RowReader((1,), (self.vertex_type,), None)
        frame, kind = self._mapped_values(
            "translate_vertex_values", self.vertices, function, value_type, False, reader
        )
        return self._with(vertices=frame, vertex_type=kind)

    def translate_edge_values(self, function: Any, value_type: Any = None) -> Any:
        """The graph with each edge's value replaced by a function of the value."""
        reader = RowReader((2,), (self.edge_type,), None)
        frame, kind = self._mapped_values(
            "translate_edge_values", self.edges, function, value_type, False, reader
        )
        return self._with(edges=frame, edge_type=kind)

    def translate_graph_ids(self, function: Any, id_type: Any = None) -> Any:
        """The graph with each id replaced by a function of the id, in vertices and edges.

        Args:
            function: function of an id; or an expression of SQL over ``id``. It must give different
                ids for different ids, and the same one whenever it is called with an id.
            id_type: type of the new ids. By default the type of the function's annotation.

        Raises:
            JobDefinitionError: the new ids have no type, because the function has no annotation.
        """
        from millrace.spark.graphs.relations import selected

        if not callable(function):
            vertices = selected(self.vertices, {"id": function, "value": "value"})
            edges = self.edges.withColumnRenamed("source", "id")
            edges = selected(edges, {"source": function, "id": "target", "value": "value"})
            edges = selected(edges, {"source": "source", "target": function, "value": "value"})
            return self._with(vertices, edges, id_type=_type_of_column(vertices, "id"))
        kind = result_type(function, id_type)
        if kind.is_pickled:
            raise JobDefinitionError(
                "translate_graph_ids() needs the type of the new ids: annotate the function's "
                "result, or give id_type, for example Types.STRING()"
            )
        vertices = self._with_result(self.vertices, function, "id", kind)
        edges = self._with_result(self.edges, function, "source", kind)
        edges = self._with_result(edges, function, "target", kind)
        return self._with(vertices, edges, id_type=kind)

    def _with_result(self, frame: Any, function: Any, name: str, kind: ColumnType) -> Any:
        """The DataFrame with a column of ids replaced by a function of them."""
        position = frame.columns.index(name)
        kept = tuple(index for index in range(len(frame.columns)) if index != position)
        reader = RowReader((position,), (self.id_type,), None)
        run = MapRows("translate_graph_ids", function, reader, kept, kind, False, name)
        return _mapped(frame, run, kept, kind, name).select(*frame.columns)

    def _mapped_values(
        self,
        method: str,
        frame: Any,
        function: Any,
        value_type: Any,
        vectorized: bool,
        reader: RowReader,
    ) -> tuple[Any, ColumnType]:
        """The DataFrame with new values, and their type."""
        from millrace.spark.graphs.relations import selected

        ids = frame.columns[:-1]
        if not callable(function):
            made = selected(frame, {**{name: name for name in ids}, "value": function})
            return made, _type_of_column(made, "value")
        present = reader.types[-1]
        if vectorized:
            kind = present if value_type is None else declared_column_type(value_type)
        else:
            kind = result_type(function, value_type)
        kept = tuple(range(len(ids)))
        run = MapRows(method, function, reader, kept, kind, vectorized)
        return _mapped(frame, run, kept, kind), kind

    def _vertex_reader(self) -> RowReader:
        return RowReader((0, 1), (self.id_type, self.vertex_type), Vertex)

    def _edge_reader(self) -> RowReader:
        return RowReader((0, 1, 2), (self.id_type, self.id_type, self.edge_type), Edge)

    def filter_on_vertices(self, vertex_filter: Any, *, vectorized: bool = False) -> Self:
        """The vertices for which a function returns true, and the edges between them.

        Args:
            vertex_filter: function of a `Vertex`; or a condition of SQL over ``id`` and ``value``,
                or a `pyspark.sql.Column`.
            vectorized: whether the function takes a `pyarrow.RecordBatch` and returns a mask.
        """
        from millrace.spark.graphs.relations import edges_within

        kept = _filtered(
            "filter_on_vertices", self.vertices, vertex_filter, vectorized, self._vertex_reader()
        )
        graph: Self = self._with(kept, edges_within(self.edges, kept))
        return graph

    def filter_on_edges(self, edge_filter: Any, *, vectorized: bool = False) -> Self:
        """All vertices, and the edges for which a function returns true; see
        `filter_on_vertices`."""
        kept = _filtered(
            "filter_on_edges", self.edges, edge_filter, vectorized, self._edge_reader()
        )
        graph: Self = self._with(edges=kept)
        return graph

    def subgraph(self, vertex_filter: Any, edge_filter: Any) -> Self:
        """The vertices for which the first function returns true, and the edges between them for
        which the second function returns true; see `filter_on_vertices`.
        """
        return self.filter_on_edges(edge_filter).filter_on_vertices(vertex_filter)

    def reverse(self) -> Self:
        """The graph with the direction of each edge reversed."""
        from millrace.spark.graphs.relations import reversed_edges

        graph: Self = self._with(edges=reversed_edges(self.edges))
        return graph

    def get_undirected(self) -> Self:
        """The graph with a reversed edge added for each edge."""
        from millrace.spark.graphs.relations import with_reversed

        graph: Self = self._with(edges=with_reversed(self.edges))
        return graph

    def join_with_vertices(
        self,
        inputs: Any,
        function: Callable[[Any, Any], Any] | VertexJoinFunction,
        value_type: Any = None,
    ) -> Any:
        """The graph with new vertex values: a function of the vertex's value and the value of the
        input row with its id.

        Vertices without an input keep their values. Of several inputs with one id an arbitrary one
        counts.

        Args:
            inputs: rows of id and value; see `Graph.from_edges` for what they may be.
            function: function of the vertex's value and the input's.
            value_type: type of the new values. By default that of the present ones.
        """
        if isinstance(function, VertexJoinFunction):
            function = function.vertex_join
        kind = self.vertex_type if value_type is None else declared_column_type(value_type)
        frame = self._joined(
            "join_with_vertices", self.vertices, ("id",), inputs, function,
            (self.vertex_type, kind),
        )  # fmt: skip
        return self._with(vertices=frame, vertex_type=kind)

    def join_with_edges(
        self,
        inputs: Any,
        function: Callable[[Any, Any], Any] | EdgeJoinFunction,
        value_type: Any = None,
    ) -> Any:
        """The graph with new edge values: a function of the edge's value and the value of the input
        row with the same source and target; see `join_with_vertices`. Inputs are rows of source,
        target and value.
        """
        return self._joined_edges(
            "join_with_edges", ("source", "target"), inputs, function, value_type
        )

    def join_with_edges_on_source(
        self,
        inputs: Any,
        function: Callable[[Any, Any], Any] | EdgeJoinFunction,
        value_type: Any = None,
    ) -> Any:
        """The graph with new edge values: a function of the edge's value and the value of the input
        row whose id is the edge's source; see `join_with_vertices`. Inputs are rows of id and
        value.
        """
        return self._joined_edges(
            "join_with_edges_on_source", ("source",), inputs, function, value_type
        )

    def join_with_edges_on_target(
        self,
        inputs: Any,
        function: Callable[[Any, Any], Any] | EdgeJoinFunction,
        value_type: Any = None,
    ) -> Any:
        """The graph with new edge values: a function of the edge's value and the value of the input
        row whose id is the edge's target; see `join_with_vertices`. Inputs are rows of id and
        value.
        """
        return self._joined_edges(
            "join_with_edges_on_target", ("target",), inputs, function, value_type
        )

    def _joined_edges(
        self, method: str, keys: tuple[str, ...], inputs: Any, function: Any, value_type: Any
    ) -> Any:
        if isinstance(function, EdgeJoinFunction):
            function = function.edge_join
        kind = self.edge_type if value_type is None else declared_column_type(value_type)
        frame = self._joined(method, self.edges, keys, inputs, function, (self.edge_type, kind))
        return self._with(edges=frame, edge_type=kind)

    def _joined(
        self,
        method: str,
        frame: Any,
        keys: tuple[str, ...],
        inputs: Any,
        function: Callable[[Any, Any], Any],
        types: tuple[ColumnType, ColumnType],
    ) -> Any:
        """The DataFrame with values that the function makes; ``types`` are the present type of the
        values and the new one."""
        from millrace.spark.graphs.relations import joined

        rows = rows_of(inputs, (*keys, "input"), tuple, f"inputs of {method}()")
        width = len(frame.columns)
        both = joined(frame, keys, rows.to_dataframe())
        reader = RowReader(
            (width - 1, width, width + 1),
            (types[0], rows.types[-1], declared_column_type(bool)),
            _JoinedRow,
        )
        kept = tuple(range(width - 1))
        run = MapRows(method, _Join(function), reader, kept, types[1])
        return _mapped(both, run, kept, types[1])


class _JoinedRow(tuple[Any, ...]):
    """A value, the input that is joined with it, and whether there is an input."""

    __slots__ = ()

    def __new__(cls, *values: Any) -> _JoinedRow:
        return super().__new__(cls, values)


class _Join:
    """Calls the program's function for the rows that have an input; other rows keep their value."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def __call__(self, row: _JoinedRow) -> Any:
        value, other, matched = row
        return self._function(value, other) if matched else value


def _mapped(
    frame: Any, run: MapRows, kept: tuple[int, ...], kind: ColumnType, name: str = "value"
) -> Any:
    import pyarrow as pa

    from millrace.spark.graphs.frames import arrow_schema_of, mapped

    schema = arrow_schema_of(frame)
    fields = [schema.field(position) for position in kept]
    return mapped(frame, run, pa.schema([*fields, pa.field(name, kind.arrow)]))


def _filtered(method: str, frame: Any, condition: Any, vectorized: bool, reader: RowReader) -> Any:
    from millrace.spark.graphs.frames import arrow_schema_of, mapped
    from millrace.spark.graphs.relations import filtered

    if not callable(condition):
        return filtered(frame, condition)
    run = FilterRows(method, condition, reader, vectorized)
    return mapped(frame, run, arrow_schema_of(frame))


def _type_of_column(frame: Any, name: str) -> ColumnType:
    from millrace.spark.graphs.frames import arrow_schema_of

    kind = arrow_schema_of(frame).field(name).type
    return NULL if str(kind) == "null" else column_type_of_arrow(kind)
