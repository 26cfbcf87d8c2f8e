"""Projections of bipartite graphs."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.graph.bipartite import BipartiteEdge, BipartiteGraph, Projection

pytestmark = pytest.mark.spark

PAPERS = [(1, "graphs"), (2, "streams")]
AUTHORS = [("ada", 10), ("bob", 20), ("cleo", 30)]
WROTE = [(1, "ada", 0.5), (1, "bob", 1.5), (2, "bob", 2.5), (2, "cleo", 3.5)]


@pytest.fixture(scope="module")
def graph(spark: Any) -> BipartiteGraph[int, str, str, int, float]:
    return BipartiteGraph.from_data_set(PAPERS, AUTHORS, WROTE)


def test_parts(graph: BipartiteGraph[int, str, str, int, float]) -> None:
    assert sorted(graph.get_top_vertices()) == PAPERS
    assert sorted(graph.get_bottom_vertices()) == AUTHORS
    assert sorted(graph.get_edges())[0] == BipartiteEdge(1, "ada", 0.5)


def test_simple_projections(graph: BipartiteGraph[int, str, str, int, float]) -> None:
    bottom = graph.projection_bottom_simple()
    assert sorted(bottom.get_vertices()) == AUTHORS
    expected = [
        (one[1], other[1], (one[2], other[2]))
        for one in WROTE
        for other in WROTE
        if one[0] == other[0] and one[1] != other[1]
    ]
    assert sorted(bottom.get_edges()) == sorted(expected)
    top = graph.projection_top_simple()
    assert sorted(top.get_edges()) == [(1, 2, (1.5, 2.5)), (2, 1, (2.5, 1.5))]


def test_full_projections(graph: BipartiteGraph[int, str, str, int, float]) -> None:
    top = graph.projection_top_full()
    assert min(top.get_edges()) == (
        1,
        2,
        Projection("bob", 20, "graphs", "streams", 1.5, 2.5),
    )
    values = {(s, t): value for s, t, value in graph.projection_bottom_full().get_edges()}
    assert values["cleo", "bob"] == Projection(2, "streams", 30, 20, 3.5, 2.5)
    assert isinstance(values["cleo", "bob"], Projection)
    assert len(values) == 4


def test_projections_of_dataframes(spark: Any) -> None:
    top = spark.createDataFrame([(1,), (2,)], "id int")
    edges = spark.createDataFrame([(1, "x"), (2, "x")], "top int, bottom string")
    projected = BipartiteGraph.from_data_set(top, ["x"], edges).projection_top_simple()
    assert sorted(projected.get_edges()) == [(1, 2, (None, None)), (2, 1, (None, None))]
