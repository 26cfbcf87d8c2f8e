"""Graphs of other libraries and back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import igraph
import networkx as nx
import pytest

from millrace.common.errors import JobDefinitionError
from millrace.graph import Graph
from millrace.table import EnvironmentSettings, TableEnvironment

VERTICES = [("a", 1), ("b", 2), ("c", 3)]
EDGES = [("a", "b", 0.5), ("a", "b", 1.5), ("c", "c", 2.5)]


@pytest.fixture(scope="module")
def graph(spark: Any) -> Graph[str, int, float]:
    return Graph.from_vertices_and_edges(VERTICES, EDGES)


pytestmark = pytest.mark.spark


def content(graph: Graph[Any, Any, Any]) -> tuple[list[Any], list[Any]]:
    return sorted(graph.get_vertices()), sorted(graph.get_edges())


@pytest.mark.turns(5)
def test_networkx(graph: Graph[str, int, float]) -> None:
    theirs = graph.to_networkx()
    assert sorted(theirs.nodes(data="value")) == VERTICES
    assert sorted(theirs.edges(data="value")) == EDGES
    assert content(Graph.from_networkx(theirs)) == (VERTICES, EDGES)
    undirected = nx.Graph()
    undirected.add_edge(1, 2, weight=3.0)
    undirected.add_edge(1, 1, weight=4.0)
    back = Graph.from_networkx(undirected, edge_attribute="weight")
    assert content(back)[1] == [(1, 1, 4.0), (1, 2, 3.0), (2, 1, 3.0)]


@pytest.mark.turns(5)
def test_igraph(graph: Graph[str, int, float]) -> None:
    theirs = graph.to_igraph()
    assert (theirs.vcount(), theirs.ecount(), theirs.is_directed()) == (3, 3, True)
    assert content(Graph.from_igraph(theirs)) == (VERTICES, EDGES)
    ring = Graph.from_igraph(igraph.Graph.Ring(3))
    assert sorted(ring.get_edge_ids()) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]


@pytest.mark.turns(5)
def test_graphframes(graph: Graph[str, int, float], spark: Any) -> None:
    """A GraphFrame is read by the DataFrames that it has."""
    frames = SimpleNamespace(
        vertices=spark.createDataFrame([("a", 1, "x")], "id string, n int, t string"),
        edges=spark.createDataFrame([("friend", "a", "a")], "kind string, src string, dst string"),
    )
    read = Graph.from_graphframe(frames)
    assert read.get_edges().collect() == [("a", "a", "friend")]
    assert [tuple(vertex.value) for vertex in read.get_vertices()] == [(1, "x")]


@pytest.mark.turns(5)
def test_a_missing_library_is_named(
    graph: Graph[str, int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "graphframes", None)
    with pytest.raises(JobDefinitionError, match="needs graphframes: pip install graphframes-py"):
        graph.to_graphframe()


@pytest.mark.turns(5)
def test_pandas(graph: Graph[str, int, float]) -> None:
    vertices, edges = graph.to_pandas()
    assert list(edges.columns) == ["source", "target", "value"]
    assert content(Graph.from_vertices_and_edges(vertices, edges)) == (VERTICES, EDGES)
    tuples = graph.map_vertices(lambda vertex: (vertex.value, "x"), tuple[int, str])
    assert sorted(tuples.get_vertices().to_pandas()["value"]) == [(1, "x"), (2, "x"), (3, "x")]


@pytest.mark.turns(5)
def test_tables(graph: Graph[str, int, float]) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    vertices, edges = graph.to_tables(t_env)
    t_env.create_temporary_view("edges", edges)
    heavy = t_env.sql_query(
        "SELECT source, target, `value` * 2 AS `value` FROM edges WHERE `value` > 1"
    )
    read = Graph.from_vertices_and_edges(vertices, heavy)
    assert content(read) == (VERTICES, [("a", "b", 3.0), ("c", "c", 5.0)])


@pytest.mark.turns(5)
def test_pictures(graph: Graph[str, int, float]) -> None:
    dot = graph.to_dot()
    assert '"a" [label="a: 1"];' in dot
    assert '"c" -> "c" [label="2.5"];' in dot
    assert graph.to_svg().count("<circle") == 3
    assert graph._repr_html_().startswith("<svg")
    large = Graph.from_edges([(number, number + 1) for number in range(70)])
    assert large._repr_html_().startswith("<code>Graph(id: LONG, vertex: NONE, edge: NONE)</code>")


@pytest.mark.turns(5)
def test_a_bounded_stream_becomes_a_graph(spark: Any) -> None:
    from millrace.datastream import StreamExecutionEnvironment

    env = StreamExecutionEnvironment.get_execution_environment()
    edges = env.from_collection([(1, 2), (2, 3)])
    assert sorted(Graph.from_edges(edges).get_vertex_ids()) == [1, 2, 3]
