"""`GraphStream`: a graph whose edges come and go in a stream, and results that are kept up to
date."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import ArrayType, RawType
from millrace.common.types.record_fields import positions
from millrace.common.types.typeinfo import TypeInformation, Types
from millrace.common.window import WindowAssigner
from millrace.datastream.iterative_stream import IterativeStream
from millrace.datastream.stream import DataStream
from millrace.graph.elements import EdgeDirection
from millrace.graph.streams.components_operator import (
    BIPARTITE,
    COMPONENT,
    SIDE_OF,
    ComponentsOperator,
    EmittedComponents,
)
from millrace.graph.streams.distances_operator import DISTANCE, DistancesOperator
from millrace.graph.streams.edge_columns import (
    CHANGE,
    HIGH,
    LOW,
    SOURCE,
    EdgeColumnsOperator,
    EdgeFormat,
    PairsOperator,
    edge_fields,
)
from millrace.graph.streams.edge_functions import (
    EdgeFilterOperator,
    EdgeMapOperator,
    LengthsOperator,
    ReverseOperator,
    VertexFilterOperator,
)
from millrace.graph.streams.edge_table import (
    IN_VERTEX,
    OUT,
    VERTEX,
    DistinctOperator,
    EdgesOperator,
)
from millrace.graph.streams.edge_windows import EdgeWindows, NeighboursOperator
from millrace.graph.streams.forest_operator import ForestOperator
from millrace.graph.streams.lockstep_operator import BUNDLES, target_of
from millrace.graph.streams.ranks_operator import RANK, RanksOperator
from millrace.graph.streams.solver_operator import SolverOperator
from millrace.graph.streams.triangles_operator import (
    CELL,
    COLOURS,
    MOST_COLOURS,
    CellsOperator,
    TrianglesOperator,
)
from millrace.graph.streams.vertex_sums import SumSpec, VertexSumsOperator, WholeSumOperator
from millrace.runtime.operator import Operator

if TYPE_CHECKING:
    from millrace.table.stream_table_environment import StreamTableEnvironment
    from millrace.table.table import Table

__all__ = ["GraphStream"]

_DEGREE, _COUNT, _TRIANGLES = "degree", "count", "triangles"


class GraphStream:
    """A graph whose edges come and go in a stream.

    A record is an edge: a tuple ``(source, target)`` or ``(source, target, value)``, a row, or a
    dict. Fields called source and target count by their names, and beside them the field called
    value, or else the first other one; fields with other names count in their order. Rows of the
    kinds DELETE and UPDATE_BEFORE remove an edge (`removed`), all other records add one (`added`).
    An edge that is added twice is there twice, and has to be removed twice. A removal of an edge
    that is not there has no effect. A vertex is in the graph as long as it has an edge.

    Results are streams of rows with their kinds, which ``from_changelog_stream()`` makes a table.

    Args:
        edges: the stream.
        vertex_type: type of the ids, ``Types.LONG()`` or ``Types.STRING()``. If None, it is the
            type that the stream declares, else LONG.
        value_type: type of the edges' values: of numbers, texts, truth values, bytes, points in
            time, or of lists of these. If None, it is the type that the stream declares, else edges
            have no values.

    Example:
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> graph = GraphStream(env.from_collection([(1, 2), (2, 3)]))
        >>> graph.components().get_name()
        'Components'
    """

    def __init__(
        self,
        edges: DataStream[Any],
        vertex_type: TypeInformation[Any] | None = None,
        value_type: TypeInformation[Any] | None = None,
    ) -> None:
        if not isinstance(edges, DataStream):
            raise JobDefinitionError(f"GraphStream takes a DataStream of edges, got {edges!r}")
        vertex, value = _declared(edges, vertex_type, value_type)
        self._begin(edges, vertex, value, by_position=False)

    def _begin(
        self,
        edges: DataStream[Any],
        vertex: TypeInformation[Any],
        value: TypeInformation[Any] | None,
        by_position: bool,
    ) -> None:
        self._vertex_info, self._value_info = vertex, value
        kind = None if value is None else _value_kind(value)
        self._format = EdgeFormat(arrow_type(vertex.logical_type), kind)
        columns = partial(EdgeColumnsOperator, self._format, by_position)
        self._changes = _beside(edges, "Edges", columns)

    @staticmethod
    def from_table(t_env: StreamTableEnvironment, table: Table) -> GraphStream:
        """The graph of a query's rows, whose first columns are source and target; a third one is
        the value. Names of columns do not count.

        Example:
            >>> from millrace.table import StreamTableEnvironment
            >>> from millrace.datastream import StreamExecutionEnvironment
            >>> env = StreamExecutionEnvironment.get_execution_environment()
            >>> t_env = StreamTableEnvironment.create(env)
            >>> edges = t_env.from_elements([(1, 2), (2, 3)], ["payer", "payee"])
            >>> GraphStream.from_table(t_env, edges).edge_count().get_name()
            'Edge Count'
        """
        from millrace.table.data_stream_tables import known_columns

        rows = t_env.to_changelog_stream(table)
        kinds = [kind for _, kind in known_columns(rows)]
        if len(kinds) < 2:
            raise JobDefinitionError("a graph needs a table with columns of sources and targets")
        vertex, *others = (_info_of(arrow_type(kind)) for kind in [kinds[0], *kinds[2:3]])
        made = object.__new__(GraphStream)
        made._begin(rows, vertex, others[0] if others else None, by_position=True)
        return made

    # -- edges -------------------------------------------------------------------------

    def filter_edges(self, func: Callable[[Any, Any, Any], bool]) -> GraphStream:
        """The graph of the edges for which ``func(source, target, value)`` is true. The result must
        not depend on anything else, since the removal of an edge is filtered like its addition."""
        return self._with("Filter Edges", partial(EdgeFilterOperator, func), func)

    def filter_vertices(self, func: Callable[[Any], bool]) -> GraphStream:
        """The graph of the edges for which ``func(vertex)`` is true at both ends."""
        return self._with("Filter Vertices", partial(VertexFilterOperator, func), func)

    def map_edges(
        self,
        func: Callable[[Any, Any, Any], Any],
        value_type: TypeInformation[Any] | None = None,
    ) -> GraphStream:
        """The same graph with the values ``func(source, target, value)``.

        Args:
            value_type: type of the values; that of the former values if None.
        """
        value = value_type or self._value_info or Types.DOUBLE()
        kind = _value_kind(value)
        made = self._with("Map Edges", partial(EdgeMapOperator, func, kind), func)
        made._value_info, made._format = value, EdgeFormat(self._format.vertex, kind)
        return made

    def reverse(self) -> GraphStream:
        """The graph with all edges in the other direction."""
        return self._with("Reverse", partial(ReverseOperator, False))

    def undirected(self) -> GraphStream:
        """The graph with each edge in both directions."""
        return self._with("Undirected", partial(ReverseOperator, True))

    def distinct(self) -> GraphStream:
        """The graph with each edge once. Values do not tell edges apart, and are left out."""
        pairs = self._pairs(PairsOperator)
        made = self._copy(
            _then(pairs, "Distinct Edges", partial(DistinctOperator, self._format.vertex))
        )
        made._value_info, made._format = None, EdgeFormat(self._format.vertex)
        return made

    def union(self, *others: GraphStream) -> GraphStream:
        """The graph of the edges of several graphs.

        Raises:
            JobDefinitionError: they have other types of vertices or values.
        """
        for other in others:
            if other._format != self._format:
                raise JobDefinitionError(
                    "the graphs of a union must have the same types of vertices and of values"
                )
        return self._copy(self._changes.union(*(other._changes for other in others)))

    # -- sums --------------------------------------------------------------------------

    def degrees(self) -> DataStream[Any]:
        """Rows (vertex, degree): the number of edges that begin or end at a vertex. An edge from a
        vertex to itself counts twice."""
        return self._sums("Degrees", (0, 1))

    def in_degrees(self) -> DataStream[Any]:
        """Rows (vertex, degree): the number of edges that end at a vertex."""
        return self._sums("In-Degrees", (1,))

    def out_degrees(self) -> DataStream[Any]:
        """Rows (vertex, degree): the number of edges that begin at a vertex."""
        return self._sums("Out-Degrees", (0,))

    def edge_count(self) -> DataStream[Any]:
        """A row with the number of edges."""
        edges = partial(EdgesOperator, self._format.vertex)
        counting = _then(self._pairs(PairsOperator), "Counted Edges", edges)
        return self._whole(counting, "Edge Count")

    def vertex_count(self) -> DataStream[Any]:
        """A row with the number of vertices."""
        return self._whole(self._sums("Vertices", None), "Vertex Count")

    # -- windows -----------------------------------------------------------------------

    def slice(
        self,
        window_assigner: WindowAssigner[Any, Any],
        direction: EdgeDirection = EdgeDirection.OUT,
    ) -> EdgeWindows:
        """The edges that are added in each window, by vertex.

        Args:
            window_assigner: windows, such as ``TumblingEventTimeWindows.of(60_000)``.
            direction: edges that belong to a vertex.
        """
        near = partial(NeighboursOperator, direction)
        return EdgeWindows(
            _beside(self._changes, "Neighbours", near).key_by(0).window(window_assigner)
        )

    # -- triangles ---------------------------------------------------------------------

    def triangle_count(self, colours: int = COLOURS) -> DataStream[Any]:
        """A row with the number of triangles. Directions and copies of edges do not count.

        Args:
            colours: number of colours, as in `triangles`.
        """
        return self._whole(self._triangles(False, colours), "Triangle Count")

    def triangles(self, colours: int = COLOURS) -> DataStream[Any]:
        """Rows (vertex, triangles) of the vertices that are in a triangle. Directions and copies of
        edges do not count.

        Args:
            colours: number of colours of vertices, from 1 to 16. With *c* colours, *c(c+1)(c+2)/6*
                subtasks share the work, and each edge is in *c* of them. A savepoint starts a job
                with the same number of colours.

        Raises:
            JobDefinitionError: the number is out of range.
        """
        spec = SumSpec((CHANGE,), (0,), _TRIANGLES)
        by_vertex = self._triangles(True, colours).key_by(VERTEX)
        sums = partial(VertexSumsOperator, self._format.vertex, spec)
        types = [self._vertex_info, Types.LONG()]
        return _typed(_then(by_vertex, "Triangles", sums), [VERTEX, _TRIANGLES], types)

    def _triangles(self, by_vertex: bool, colours: int) -> DataStream[Any]:
        if not isinstance(colours, int) or not 1 <= colours <= MOST_COLOURS:
            raise JobDefinitionError(
                f"vertices have from 1 to {MOST_COLOURS} colours, got {colours!r}"
            )
        # cells of other colours are other state, so their operator has another name, and uid
        name = "Triangles of Cells"
        name += f" of {colours} Colours" if colours != COLOURS else ""
        pairs = _beside(self._changes, "Pairs", PairsOperator)
        cells = _beside(pairs, "Cells", partial(CellsOperator, colours))
        counting = partial(TrianglesOperator, self._format.vertex, by_vertex, colours)
        return _then(cells.key_by(CELL), name, counting)

    # -- components --------------------------------------------------------------------

    def components(self) -> DataStream[Any]:
        """Rows (vertex, component): the smallest vertex of each vertex's connected component.
        Directions of edges do not count."""
        types = [self._vertex_info, self._vertex_info]
        return self._components(
            "Components", EmittedComponents.COMPONENTS, [VERTEX, COMPONENT], types
        )

    def bipartite_sides(self) -> DataStream[Any]:
        """Rows (vertex, component, side): the side of each vertex in its bipartite component, which
        is false for the component's smallest vertex. Null if the component is not bipartite."""
        types = [self._vertex_info, self._vertex_info, Types.BOOLEAN()]
        names = [VERTEX, COMPONENT, SIDE_OF]
        return self._components("Bipartite Sides", EmittedComponents.SIDES, names, types)

    def is_bipartite(self) -> DataStream[Any]:
        """A row that tells whether the graph is bipartite; none while it has no vertices."""
        return self._components(
            "Bipartite", EmittedComponents.BIPARTITE, [BIPARTITE], [Types.BOOLEAN()]
        )

    def _components(
        self,
        name: str,
        shown: EmittedComponents,
        names: list[str],
        types: list[TypeInformation[Any]],
    ) -> DataStream[Any]:
        vertex = self._format.vertex
        forests = _then(
            self._pairs(PairsOperator),
            "Spanning Forests",
            partial(ForestOperator, vertex, shown.needs_cover),
        )
        merged = _then(forests.global_(), name, partial(ComponentsOperator, vertex, shown))
        return _in_order(_typed(_single(merged), names, types))

    # -- distances and ranks -------------------------------------------------------------

    def shortest_paths(self, source: Any) -> DataStream[Any]:
        """Rows (vertex, distance) of the vertices that can be reached from a vertex: the sums of
        the edges' values along shortest paths. Edges without values have the length 1.

        Each subtask has the edges that begin at its vertices. Subtasks compute paths together
        (`millrace.graph.streams.lockstep_operator`).

        Args:
            source: id of the vertex at which paths begin.

        Raises:
            JobDefinitionError: values are no numbers, or ``source`` is not of the type of the ids.
        """
        start = self._vertex(source)
        return self._solved("Distances", DISTANCE, DistancesOperator, start)

    def page_rank(self, damping: float = 0.85, tolerance: float = 1e-4) -> DataStream[Any]:
        """Rows (vertex, rank): PageRank, computed again around each change. If every vertex has
        out-edges, the ranks have the mean 1; divide them by their sum to get probabilities.

        Each subtask has the edges that begin at its vertices, as for `shortest_paths`.

        Args:
            damping: probability of following an edge.
            tolerance: how much a rank may differ before it is given anew.

        Raises:
            JobDefinitionError: an argument is out of range.
        """
        if not 0 < damping < 1 or not tolerance > 0:
            raise JobDefinitionError(
                f"damping is between 0 and 1, and tolerance positive, got {damping}, {tolerance}"
            )
        plain = self._copy(self._changes)
        plain._value_info = None  # values do not count
        return plain._solved("Ranks", RANK, RanksOperator, damping, tolerance)

    def _solved(
        self, name: str, result: str, operator: Callable[..., SolverOperator], *arguments: Any
    ) -> DataStream[Any]:
        weighted = self._value_info is not None
        kind = self._format.value
        if weighted and not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            raise JobDefinitionError(
                "lengths of edges must be numbers, but this graph has values of the type "
                f"{self._value_info}: convert them with map_edges()"
            )
        edges = _beside(self._changes, "Lengths", partial(LengthsOperator, weighted))
        factory = partial(operator, self._format.vertex, *arguments)
        solved = IterativeStream(edges.key_by(SOURCE), name, factory)
        solved.close_with(solved.get_side_output(BUNDLES).partition_custom(target_of, 0))
        return _in_order(_typed(solved, [VERTEX, result], [self._vertex_info, Types.DOUBLE()]))

    # -- building ----------------------------------------------------------------------

    def _vertex(self, given: Any) -> Any:
        """The id of a vertex that an argument gives, as it is in results."""
        try:
            vertex = pa.scalar(given, self._format.vertex).as_py()
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            vertex = None
        if vertex is None or vertex != given:
            raise JobDefinitionError(
                f"vertices of this graph have the type {self._vertex_info}, but {given!r} "
                "does not; give the id of a vertex, or pass the right vertex_type to "
                "GraphStream"
            )
        return vertex

    def _copy(self, changes: DataStream[Any]) -> GraphStream:
        made = object.__new__(GraphStream)
        made.__dict__.update(self.__dict__)
        made._changes = changes
        return made

    def _with(
        self, name: str, factory: Callable[[], Operator], function: Any = None
    ) -> GraphStream:
        return self._copy(_beside(self._changes, name, factory, function))

    def _pairs(self, operator: Callable[..., Operator], *arguments: Any) -> DataStream[Any]:
        """Changes of edges, distributed by both ends."""
        pairs = _beside(self._changes, "Pairs", partial(operator, *arguments))
        return pairs.key_by([LOW, HIGH])

    def _sums(self, name: str, shown: tuple[int, ...] | None) -> DataStream[Any]:
        vertex = self._format.vertex
        ends = _then(
            self._pairs(PairsOperator), "Ends", partial(EdgesOperator, vertex, None, True)
        ).key_by(VERTEX)
        spec = SumSpec((OUT, IN_VERTEX), shown, _DEGREE)
        sums = _then(ends, name, partial(VertexSumsOperator, vertex, spec))
        if shown is None:
            return sums
        return _typed(sums, [VERTEX, _DEGREE], [self._vertex_info, Types.LONG()])

    @staticmethod
    def _whole(changes: DataStream[Any], name: str) -> DataStream[Any]:
        """The sum of changes, in one row."""
        whole = _then(changes.global_(), name, partial(WholeSumOperator, CHANGE, _COUNT))
        return _in_order(_typed(_single(whole), [_COUNT], [Types.LONG()]))


def _then(
    stream: DataStream[Any], name: str, factory: Callable[[], Operator], function: Any = None
) -> DataStream[Any]:
    return stream._then(name, factory, function)


def _beside(
    stream: DataStream[Any], name: str, factory: Callable[[], Operator], function: Any = None
) -> DataStream[Any]:
    """An operator with as many subtasks as the stream has, so that changes of an edge keep their
    order on the way to where they are distributed by edge."""
    widest = max((i.transformation for i in stream._inputs), key=lambda t: t.parallelism)
    made = _then(stream, name, factory, function)
    if all(i.partitioning is None for i in stream._inputs):
        operator = made._transformation
        operator.parallelism = widest.parallelism
        operator.fixed_parallelism = widest.fixed_parallelism
    return made


def _single(stream: DataStream[Any]) -> DataStream[Any]:
    stream.set_parallelism(1)
    return stream


def _in_order(stream: DataStream[Any]) -> DataStream[Any]:
    """Results of one subtask, which are handed on so that the changes of a row keep their order."""
    names = stream._transformation.output_type.field_names  # type: ignore[union-attr]
    ordered = stream.key_by(VERTEX) if VERTEX in names else stream.global_()
    return DataStream(stream.get_execution_environment(), ordered._inputs)


def _typed(
    stream: DataStream[Any], names: list[str], types: list[TypeInformation[Any]]
) -> DataStream[Any]:
    """The stream with the type of its rows, which its operator gives as they are."""
    stream._transformation.output_type = Types.ROW_NAMED(names, types)
    return stream


def _declared(
    edges: DataStream[Any],
    vertex: TypeInformation[Any] | None,
    value: TypeInformation[Any] | None,
) -> tuple[TypeInformation[Any], TypeInformation[Any] | None]:
    """Types of vertices and values, from the type of the stream where they are not given."""
    declared = edges.declared_type()
    fields = list(getattr(declared, "types", None) or getattr(declared, "field_types", None) or ())
    names = getattr(declared, "field_names", None) or positions(len(fields))
    fields = [fields[position] for position in edge_fields(names)]
    if vertex is None:
        vertex = fields[0] if fields else Types.LONG()
    if value is None and len(fields) > 2:
        value = fields[2]
    kind = vertex.logical_type
    if kind is None or arrow_type(kind) not in (pa.int64(), pa.string()):
        raise JobDefinitionError(
            f"vertices of a graph stream are numbered or named: vertex_type is Types.LONG() or "
            f"Types.STRING(), got {vertex}"
        )
    return vertex, value


def _value_kind(value: TypeInformation[Any]) -> pa.DataType:
    """Arrow type of the values of edges.

    Raises:
        JobDefinitionError: columns do not keep values of this type as they are.
    """
    element = value.logical_type
    while isinstance(element, ArrayType):
        element = element.element_type
    kind = None if isinstance(element, RawType | None) else arrow_type(element)
    if kind is None or pa.types.is_struct(kind) or pa.types.is_map(kind):
        raise JobDefinitionError(
            "edges of a graph stream are kept in columns, whose values are numbers, texts, "
            f"truth values, bytes, points in time, or lists of these, not {value}: convert "
            "or remove such values with map() first"
        )
    return arrow_type(value.logical_type)


_INFOS: dict[pa.DataType, Callable[[], TypeInformation[Any]]] = {
    pa.string(): Types.STRING,
    pa.float64(): Types.DOUBLE,
    pa.float32(): Types.DOUBLE,
}


def _info_of(kind: pa.DataType) -> TypeInformation[Any]:
    if pa.types.is_integer(kind):
        return Types.LONG()
    if pa.types.is_decimal(kind):
        return Types.DOUBLE()
    made = _INFOS.get(kind)
    if made is None:
        raise JobDefinitionError(
            f"a graph's table has vertices that are numbers or texts, and values that are numbers "
            f"or texts, not {kind}: cast the column in the query"
        )
    return made()
