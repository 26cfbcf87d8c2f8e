"""Algorithms of the library on Spark: types of rows, results that are no rows, and what is refused
before Spark runs."""

from __future__ import annotations

import random
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.graph import Graph, Vertex
from millrace.graph.library import (
    CommunityDetection,
    ConnectedComponents,
    MaximumDegree,
    PageRank,
    SingleSourceShortestPaths,
    Summarization,
    TriangleListing,
    VertexMetrics,
)
from millrace.runtime.supersteps.local_run import run_local

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def graph(spark: Any) -> Graph[Any, Any, Any]:
    edges = [("a", "b", 1.0), ("b", "c", 2.0), ("c", "a", 1.0), ("x", "y", 5.0)]
    return Graph.from_edges(edges).persist()


@pytest.mark.turns(7)
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


@pytest.mark.turns(7)
def test_checkpoints_of_an_algorithm(graph: Graph[Any, Any, Any], tmp_path: Path) -> None:
    algorithm = ConnectedComponents(50).enable_checkpoints(str(tmp_path / "there"), 1)
    components = graph.run(algorithm.set_restarts(3))
    assert {row.value for row in components.collect()} == {"a", "x"}
    assert not list((tmp_path / "there").iterdir())
    with pytest.raises(JobDefinitionError, match="number of supersteps or of seconds"):
        algorithm.enable_checkpoints("there", None, None)


@pytest.mark.turns(7)
def test_a_graph_of_dataframes_without_values(spark: Any) -> None:
    vertices = spark.createDataFrame([(1,), (2,), (3,)], "id long")
    edges = spark.createDataFrame([(1, 2)], "source long, target long")
    components = Graph.from_vertices_and_edges(vertices, edges).run(ConnectedComponents(5))
    assert sorted(components.collect()) == [(1, 1), (2, 1), (3, 3)]


@pytest.mark.turns(7)
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


@pytest.mark.turns(7)
def test_results_that_are_no_rows(graph: Graph[Any, Any, Any]) -> None:
    metrics = graph.run(VertexMetrics(directed=True))
    assert (metrics.number_of_vertices, metrics.number_of_edges) == (5, 4)
    communities = graph.run(CommunityDetection(5))
    assert communities.number_of_edges() == 4
    tables = graph.get_vertex_ids().to_arrow(), graph.get_edges().to_arrow()
    local = run_local(CommunityDetection(5).program, *tables)
    assert sorted(communities.get_vertices().collect()) == [
        tuple(row.values()) for row in local.sort_by("id").to_pylist()
    ]


@pytest.mark.turns(7)
@pytest.mark.parametrize("seed", [2, 9])
def test_summaries_equal_groups_in_python(spark: Any, seed: int) -> None:
    rng = random.Random(seed)
    values: list[Any] = ["red", "blue", None] if seed == 2 else [1, 2, 3]
    vertices = [(number, rng.choice(values)) for number in range(12)]
    edges = [(rng.randrange(12), rng.randrange(12), rng.choice("xy")) for _ in range(40)]
    summary = graph_of(vertices, edges).run(Summarization())
    value_of = dict(vertices)
    group = {
        value: min(v for v, other in vertices if other == value) for value in value_of.values()
    }
    assert {v: tuple(value) for v, value in summary.get_vertices().collect()} == {
        group[value]: (value, count) for value, count in Counter(value_of.values()).items()
    }
    counts = Counter((group[value_of[a]], group[value_of[b]], kind) for a, b, kind in edges)
    assert sorted((edge.source, edge.target, *edge.value) for edge in summary.get_edges()) == [
        (*ends, count) for ends, count in sorted(counts.items())
    ]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.turns(7)
def test_values_and_ids_of_the_same_arrow_type(spark: Any) -> None:
    vertices = [("a", Colour.RED), ("b", Colour.BLUE)]
    components = graph_of(vertices, [("a", "b", None)]).run(ConnectedComponents(5))
    assert sorted(components.collect()) == [("a", Colour.BLUE), ("b", Colour.BLUE)]


@pytest.mark.turns(7)
def test_ids_that_are_members_of_an_enum(spark: Any) -> None:
    graph = Graph.from_edges([(Colour.RED, Colour.BLUE, 2.0)])
    paths = graph.run(SingleSourceShortestPaths(Colour.RED, 3))
    assert sorted(paths.collect(), key=str) == [(Colour.BLUE, 2.0), (Colour.RED, 0.0)]


@pytest.mark.turns(7)
def test_a_graph_without_hubs(spark: Any, graph: Graph[Any, Any, Any]) -> None:
    kept = spark.sparkContext._jsc.getPersistentRDDs
    assert (graph.number_of_edges(), graph.number_of_vertices()) == (4, 5)
    before = set(kept().keySet())
    star = graph.union(Graph.from_edges([("x", "a", 1.0), ("x", "b", 1.0), ("x", "x", 1.0)]))
    small = star.run(MaximumDegree(3))
    assert sorted(small.get_vertex_ids().collect()) == ["a", "b", "c", "x", "y"]
    smaller = star.run(MaximumDegree(2))
    assert sorted(smaller.get_vertex_ids().collect()) == ["c", "y"]
    assert smaller.number_of_edges() == 0
    small.unpersist()
    smaller.unpersist()
    assert set(kept().keySet()) == before


@pytest.mark.turns(7)
def test_a_result_is_freed_by_its_dataframe(spark: Any, graph: Graph[Any, Any, Any]) -> None:
    kept = spark.sparkContext._jsc.getPersistentRDDs
    assert (graph.number_of_edges(), graph.number_of_vertices()) == (4, 5)
    before = set(kept().keySet())
    frame = graph.run(ConnectedComponents(5)).to_dataframe()
    assert set(kept().keySet()) > before
    assert frame.unpersist() is frame
    assert set(kept().keySet()) == before


def graph_of(vertices: Any, edges: Any) -> Graph[Any, Any, Any]:
    return Graph.from_vertices_and_edges(vertices, edges)


@pytest.mark.turns(7)
def test_untyped_values_are_refused(graph: Graph[Any, Any, Any]) -> None:
    untyped = graph.map_vertices(lambda vertex: {vertex.id})
    with pytest.raises(JobDefinitionError, match="give map_vertices a value_type"):
        untyped.run(ConnectedComponents(5))
    with pytest.raises(JobDefinitionError, match="Summarization groups vertices by their values"):
        untyped.run(Summarization())


@pytest.mark.turns(7)
def test_parameters_are_checked() -> None:
    for wrong, reason in (
        (lambda: PageRank(0.85), "set max_iterations, convergence_threshold, or both"),
        (lambda: PageRank(1.5, 10), "damping_factor is 1.5: it must be greater than 0 and less"),
        (lambda: ConnectedComponents(0), "max_iterations is 0: it must be at least 1"),
        (lambda: ConnectedComponents(5).set_parallelism(0), "parallelism is 0"),
        (lambda: SingleSourceShortestPaths(None, 5), "give the id of a vertex"),
    ):
        with pytest.raises(JobDefinitionError, match=reason):
            wrong()
