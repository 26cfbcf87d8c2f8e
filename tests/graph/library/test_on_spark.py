"""Algorithms of the library on Spark: types of rows, results that are no rows, and what is refused
before Spark runs."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.graph import Graph, Vertex
from millrace.graph.library import (
    CommunityDetection,
    ConnectedComponents,
    PageRank,
    SingleSourceShortestPaths,
    TriangleListing,
    VertexMetrics,
)

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def graph(spark: Any) -> Graph[Any, Any, Any]:
    edges = [("a", "b", 1.0), ("b", "c", 2.0), ("c", "a", 1.0), ("x", "y", 5.0)]
    return Graph.from_edges(edges).persist()


def test_rows_have_the_types_of_ids_and_values(graph: Graph[Any, Any, Any]) -> None:
    components = graph.run(ConnectedComponents(max_iterations=50))
    assert sorted(components.collect()) == [
        Vertex("a", "a"),
        Vertex("b", "a"),
        Vertex("c", "a"),
        Vertex("x", "x"),
        Vertex("y", "x"),
    ]
    colours = {"a": "red", "b": "blue", "c": "red", "x": "red", "y": "blue"}

    def colour(vertex: Vertex[str, None]) -> str:
        return colours[vertex.id]

    coloured = graph.map_vertices(colour).run(ConnectedComponents(max_iterations=50))
    assert {row.value for row in coloured.collect()} == {"blue"}
    listed = graph.run(TriangleListing(directed=True, sort_triangle_vertices=True)).collect()
    assert [tuple(row) for row in listed] == [("a", "b", "c", 0b011001)]
    assert listed[0].bitmask == 0b011001


def test_edge_values_are_lengths(graph: Graph[Any, Any, Any]) -> None:
    paths = SingleSourceShortestPaths("a", max_iterations=9).set_parallelism(1)
    assert dict(graph.run(paths).collect()) == {
        "a": 0.0,
        "b": 1.0,
        "c": 3.0,
        "x": float("inf"),
        "y": float("inf"),
    }
    missing = SingleSourceShortestPaths("z", max_iterations=9)
    with pytest.raises(JobExecutionError, match="no vertex has the id 'z'"):
        graph.run(missing)


def test_results_that_are_no_rows(graph: Graph[Any, Any, Any]) -> None:
    metrics = graph.run(VertexMetrics(directed=True))
    assert (metrics.number_of_vertices, metrics.number_of_edges) == (5, 4)
    communities = graph.run(CommunityDetection(5))
    assert communities.number_of_edges() == 4
    assert len({row.value for row in communities.get_vertices().collect() if row.id in "abc"}) == 1


def test_untyped_values_are_refused(graph: Graph[Any, Any, Any]) -> None:
    untyped = graph.map_vertices(lambda vertex: {vertex.id})
    with pytest.raises(JobDefinitionError, match="give map_vertices a value_type"):
        untyped.run(ConnectedComponents(5))


def test_parameters_are_checked() -> None:
    for wrong, reason in (
        (lambda: PageRank(0.85), "give max_iterations, convergence_threshold, or both"),
        (lambda: PageRank(1.5, 10), "damping_factor is 1.5: it must be greater than 0 and less"),
        (lambda: ConnectedComponents(0), "max_iterations is 0: it must be at least 1"),
        (lambda: ConnectedComponents(5).set_parallelism(0), "parallelism is 0"),
        (lambda: SingleSourceShortestPaths(None, 5), "give a vertex's id"),
    ):
        with pytest.raises(JobDefinitionError, match=reason):
            wrong()
