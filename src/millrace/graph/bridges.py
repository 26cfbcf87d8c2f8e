"""`GraphBridges`: graphs as tables, pandas frames, and graphs of other libraries."""

from __future__ import annotations

import importlib
from typing import Any, Generic, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.graph.graph_base import GraphBase

__all__ = ["GraphBridges", "edges_of_igraph", "edges_of_networkx", "vertices_of_frame"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")

_MOST_DRAWN = 60
"""Vertices of a graph that is drawn in a notebook."""


class GraphBridges(GraphBase[K, VV, EV], Generic[K, VV, EV]):
    """Methods that hand a graph to other libraries."""

    def to_tables(self, t_env: Any) -> tuple[Any, Any]:
        """The vertices and the edges as tables of a `TableEnvironment`. Rows stay in Spark's
        workers."""
        return self._vertices.to_table(t_env), self._edges.to_table(t_env)

    def to_pandas(self) -> tuple[Any, Any]:
        """The vertices and the edges as pandas DataFrames."""
        return self._vertices.to_pandas(), self._edges.to_pandas()

    def to_networkx(self) -> Any:
        """The graph as a `networkx.MultiDiGraph`. The attribute ``value`` of a node or an edge has
        its value; a graph without values has no such attribute.

        Raises:
            JobDefinitionError: NetworkX is not installed.
        """
        made = _library("networkx", "to_networkx").MultiDiGraph()
        for number, value in self._vertices.collect():
            made.add_node(number, **_attribute(value))
        for source, target, value in self._edges.collect():
            made.add_edge(source, target, **_attribute(value))
        return made

    def to_igraph(self) -> Any:
        """The graph as a directed `igraph.Graph`. The attribute ``name`` of a vertex has its id,
        the attribute ``value`` of a vertex or an edge its value.

        Raises:
            JobDefinitionError: igraph is not installed.
        """
        igraph = _library("igraph", "to_igraph")
        vertices, edges = self._vertices.collect(), self._edges.collect()
        numbers = {vertex.id: number for number, vertex in enumerate(vertices)}
        made = igraph.Graph(
            n=len(vertices),
            edges=[(numbers[edge.source], numbers[edge.target]) for edge in edges],
            directed=True,
        )
        made.vs["name"] = [vertex.id for vertex in vertices]
        made.vs["value"] = [vertex.value for vertex in vertices]
        made.es["value"] = [edge.value for edge in edges]
        return made

    def to_graphframe(self) -> Any:
        """The graph as a `graphframes.GraphFrame`, with the columns ``id``, ``value`` of vertices
        and ``src``, ``dst``, ``value`` of edges.

        Raises:
            JobDefinitionError: the package graphframes is not installed, or its jar is not among
                those of the Spark application.
        """
        library = _library("graphframes", "to_graphframe", "graphframes-py")
        edges = self.edges.withColumnsRenamed({"source": "src", "target": "dst"})
        try:
            return library.GraphFrame(self.vertices, edges)
        except TypeError as error:  # py4j has no class of a jar that is missing
            raise JobDefinitionError(
                "to_graphframe() needs the jar of GraphFrames in the Spark application: set "
                f"spark.jars.packages before it starts ({error})"
            ) from error

    def to_dot(self, name: str = "graph") -> str:
        """The graph in Graphviz's language, with the ids of vertices and the values of vertices and
        edges as labels.

        Example::

            pathlib.Path("graph.dot").write_text(graph.to_dot())   # dot -Tsvg graph.dot
        """
        from millrace.graph.picture import dot_of

        return dot_of(name, sorted_rows(self._vertices), sorted_rows(self._edges))

    def to_svg(self, width: int = 480, height: int = 360) -> str:
        """A picture of a small graph.

        Args:
            width: width of the picture in pixels.
            height: height of the picture in pixels.
        """
        from millrace.graph.picture import svg_of

        return svg_of(sorted_rows(self._vertices), sorted_rows(self._edges), width, height)

    def _repr_html_(self) -> str:
        """Picture in a notebook; the types of a graph that is too large for one."""
        from html import escape

        few = self._vertices.first(_MOST_DRAWN + 1).collect()
        edges = self._edges.first(10 * _MOST_DRAWN + 1).collect()
        if len(few) > _MOST_DRAWN or len(edges) > 10 * _MOST_DRAWN:
            return (
                f"<code>{escape(repr(self))}</code><br>More than {_MOST_DRAWN} vertices or "
                f"{10 * _MOST_DRAWN} edges: <code>filter_on_vertices()</code> chooses a part to "
                "draw."
            )
        from millrace.graph.picture import svg_of

        return svg_of(sorted(few, key=repr), sorted(edges, key=repr), 480, 360)


def sorted_rows(rows: Any) -> list[Any]:
    """The rows in an order that does not depend on Spark."""
    return sorted(rows.collect(), key=repr)


def edges_of_networkx(
    graph: Any, vertex_attribute: str, edge_attribute: str
) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any, Any]]]:
    """Vertices and edges of a graph of NetworkX; each undirected edge in both directions."""
    vertices = [(node, data.get(vertex_attribute)) for node, data in graph.nodes(data=True)]
    edges = [
        (source, target, data.get(edge_attribute))
        for source, target, data in graph.edges(data=True)
    ]
    if not graph.is_directed():
        edges += [(target, source, value) for source, target, value in edges if source != target]
    return vertices, edges


def edges_of_igraph(
    graph: Any, vertex_attribute: str, edge_attribute: str
) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any, Any]]]:
    """Vertices and edges of a graph of igraph; each undirected edge in both directions. The ids are
    the names of vertices, if they have names, else their numbers."""
    count = graph.vcount()
    ids = graph.vs["name"] if "name" in graph.vs.attributes() else list(range(count))
    has_values = vertex_attribute in graph.vs.attributes()
    values = graph.vs[vertex_attribute] if has_values else [None] * count
    weighted = edge_attribute in graph.es.attributes()
    weights = graph.es[edge_attribute] if weighted else [None] * graph.ecount()
    edges = [
        (ids[source], ids[target], weight)
        for (source, target), weight in zip(graph.get_edgelist(), weights, strict=True)
    ]
    if not graph.is_directed():
        edges += [(target, source, value) for source, target, value in edges if source != target]
    return list(zip(ids, values, strict=True)), edges


def vertices_of_frame(frame: Any, keys: tuple[str, ...], names: tuple[str, ...]) -> Any:
    """Vertices or edges of a GraphFrame, with the columns that this package uses. The columns
    ``keys`` get the names ``names``. The others become ``value``: one column unchanged, several
    columns as a struct."""
    from millrace.spark.graphs.relations import as_one_value

    return as_one_value(frame, keys, names)


def _attribute(value: Any) -> dict[str, Any]:
    return {} if value is None else {"value": value}


def _library(name: str, method: str, package: str | None = None) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise JobDefinitionError(
            f"{method}() needs {name}: pip install {package or name} ({error})"
        ) from error
