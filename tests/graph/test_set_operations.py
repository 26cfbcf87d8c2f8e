"""Unions, differences, intersections and single changes, against sets of Python."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.graph import Graph, InvalidVertexIdsValidator, Vertex

pytestmark = pytest.mark.spark


def drawn(seed: int) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """Vertices and edges, with self-loops and parallel edges."""
    draw = random.Random(seed)
    ids = draw.sample(range(8), 6)
    edges = [(draw.choice(ids), draw.choice(ids), draw.randrange(2)) for _ in range(12)]
    return [(number, number * 10) for number in ids], edges


def content(graph: Graph[Any, Any, Any]) -> tuple[list[Any], list[Any]]:
    return (
        sorted(map(tuple, graph.get_vertices().collect())),
        sorted(map(tuple, graph.get_edges().collect())),
    )


@pytest.mark.turns(7)
@pytest.mark.parametrize("seed", range(3))
def test_against_sets(spark: Any, seed: int) -> None:
    vertices, edges = drawn(seed)
    others, other_edges = drawn(seed + 100)
    one = Graph.from_vertices_and_edges(vertices, edges)
    two = Graph.from_vertices_and_edges(others, other_edges)
    assert content(one.union(two)) == (
        sorted(set(vertices) | set(others)),
        sorted(edges + other_edges),
    )
    kept = [vertex for vertex in vertices if vertex not in others]
    ids = {number for number, _ in kept}
    between = [edge for edge in edges if edge[0] in ids and edge[1] in ids]
    assert content(one.difference(two)) == (sorted(kept), sorted(between))
    common = Counter(edges) & Counter(other_edges)
    ends = sorted({(end, None) for edge in common for end in edge[:2]})
    assert content(one.intersect(two)) == (ends, sorted(common))
    pairs = sorted(edge for edge in common.elements() for _ in range(2))
    assert content(one.intersect(two, distinct=False)) == (ends, pairs)


@pytest.mark.turns(7)
def test_the_example_of_gellys_page(spark: Any) -> None:
    one = Graph.from_edges([(1, 3, 12), (1, 3, 13), (1, 3, 13)])
    two = Graph.from_edges([(1, 3, 13)])
    assert content(one.intersect(two, True))[1] == [(1, 3, 13)]
    assert content(one.intersect(two, False))[1] == [(1, 3, 13), (1, 3, 13)]


@pytest.mark.turns(7)
def test_changes(spark: Any) -> None:
    graph = Graph.from_vertices_and_edges([(1, "a"), (2, "b")], [(1, 2, 0.5), (1, 2, 0.7)])
    more = graph.add_vertices([(2, "other"), (3, "c")]).add_vertex(Vertex(4, "d"))
    assert content(more)[0] == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert content(more.add_edges([(3, 4, 1.0), (3, 9, 1.0)]))[1][-1] == (3, 4, 1.0)
    added = graph.add_edge((2, "other"), (5, "e"), 2.0)
    assert content(added) == (
        [(1, "a"), (2, "b"), (5, "e")],
        [(1, 2, 0.5), (1, 2, 0.7), (2, 5, 2.0)],
    )
    assert content(added.remove_vertex(5)) == content(graph)
    assert content(added.remove_vertices([(5, "whatever")])) == content(graph)
    assert content(added.remove_edge((1, 2)))[1] == [(2, 5, 2.0)]
    assert content(added.remove_edges([(1, 2, 99.0), (7, 8, 0.0)]))[1] == [(2, 5, 2.0)]


@pytest.mark.turns(7)
def test_edges_of_unknown_vertices_are_told(spark: Any) -> None:
    graph = Graph.from_vertices_and_edges([1, 2], [(1, 2), (2, 7)])
    assert not graph.validate(InvalidVertexIdsValidator())
    assert graph.filter_on_edges("target <> 7").validate(InvalidVertexIdsValidator())
    with pytest.raises(
        Exception, match="an edge has the vertex 7, which is not among the vertices"
    ):
        graph.get_degrees().collect()


@pytest.mark.turns(7)
def test_other_types_are_refused(spark: Any) -> None:
    numbers, texts = Graph.from_edges([(1, 2)]), Graph.from_edges([("a", "b")])
    with pytest.raises(JobDefinitionError, match="union.*ids of the graph are of type LONG"):
        numbers.union(texts)
    with pytest.raises(JobDefinitionError, match="column id is of type LONG"):
        numbers.add_vertices(texts.get_vertices())


NULLS = "a collection", "a DataFrame"
"""Where the values of a graph without values come from; their types differ."""


def without_values(spark: Any, source: str) -> Graph[Any, Any, Any]:
    if source == "a collection":
        return Graph.from_edges([(1, 2)])
    vertices = spark.sql("select explode(array(1L, 2L)) as id, null as value")
    edges = spark.sql("select 1L as source, 2L as target, null as value")
    return Graph.from_vertices_and_edges(vertices, edges)


@pytest.mark.turns(7)
@pytest.mark.parametrize("source", NULLS)
def test_the_type_of_values_is_that_of_the_graph_that_has_some(spark: Any, source: str) -> None:
    bare = without_values(spark, source)
    named = Graph.from_vertices_and_edges([(1, "a"), (3, "c")], [(1, 3, 0.5)])
    for both in (bare.union(named), named.union(bare)):
        assert str(both) == "Graph(id: LONG, vertex: STRING, edge: DOUBLE)"
        assert sorted(both.get_vertices()) == [(1, "a"), (2, None), (3, "c")]
        assert Counter(both.get_edges()) == {(1, 3, 0.5): 1, (1, 2, None): 1}
    assert str(bare.intersect(named).edge_type) == "DOUBLE"
    more = bare.add_vertices([(2, "b"), (3, "c")]).add_edges([(2, 3, 0.5), (3, 9, 1.0)])
    assert sorted(more.get_vertices()) == [(1, None), (2, None), (3, "c")]
    assert Counter(more.get_edges()) == {(1, 2, None): 1, (2, 3, 0.5): 1}
    assert content(more.remove_vertices([3]))[0] == [(1, None), (2, None)]


@pytest.mark.turns(7)
def test_an_empty_graph_takes_the_ids_of_what_is_added(spark: Any) -> None:
    empty = Graph.from_edges([])
    grown = empty.add_edge(("a", 1), ("b", 2), 0.5)
    assert content(grown) == ([("a", 1), ("b", 2)], [("a", "b", 0.5)])
    assert content(empty.union(grown)) == content(grown)
    assert content(empty.remove_vertices([1]).remove_edges([(1, 2)])) == ([], [])


@pytest.mark.turns(7)
def test_pickled_values_are_no_bytes(spark: Any) -> None:
    pickled = Graph.from_vertices_and_edges([(1, 1), (2, "x")], [(1, 2)])
    of_bytes = Graph.from_vertices_and_edges([(1, b"1"), (2, b"2")], [(1, 2)])
    with pytest.raises(JobDefinitionError, match="values of vertices of the graph are of type PI"):
        pickled.union(of_bytes)
