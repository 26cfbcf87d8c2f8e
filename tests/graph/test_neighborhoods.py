"""Neighbourhood methods, against loops of Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError, JobExecutionError, UserFunctionError
from millrace.graph import (
    Edge,
    EdgeDirection,
    EdgesFunction,
    Graph,
    NeighborsFunction,
    ReduceEdgesFunction,
    Vertex,
)

pytestmark = pytest.mark.spark

VERTICES = [(1, 10), (2, 20), (3, 30), (4, 40)]
EDGES = [(1, 2, 0.5), (1, 3, 1.5), (2, 3, 2.5), (3, 3, 3.5), (1, 2, 4.5)]
IN, OUT, ALL = EdgeDirection.IN, EdgeDirection.OUT, EdgeDirection.ALL


@pytest.fixture(scope="module")
def graph(spark: Any) -> Graph[int, int, float]:
    return Graph.from_vertices_and_edges(VERTICES, EDGES)


def neighborhood(direction: EdgeDirection) -> dict[int, list[tuple[int, Edge[int, float]]]]:
    """Neighbour and edge of each vertex."""
    found: dict[int, list[tuple[int, Edge[int, float]]]] = {number: [] for number, _ in VERTICES}
    for source, target, value in EDGES:
        edge = Edge(source, target, value)
        if direction in (OUT, ALL):
            found[source].append((target, edge))
        if direction in (IN, ALL):
            found[target].append((source, edge))
    return found


@pytest.mark.turns(7)
@pytest.mark.parametrize("direction", EdgeDirection)
def test_reductions(graph: Graph[int, int, float], direction: EdgeDirection) -> None:
    of_edges = {
        number: min(edge.value for _, edge in rows)
        for number, rows in neighborhood(direction).items()
        if rows
    }
    assert dict(graph.reduce_on_edges(min, direction).collect()) == of_edges
    assert dict(graph.reduce_on_edges("min", direction).collect()) == of_edges
    sums = {
        number: sum(10 * other for other, _ in rows)
        for number, rows in neighborhood(direction).items()
        if rows
    }
    assert dict(graph.reduce_on_neighbors(lambda a, b: a + b, direction).collect()) == sums
    assert dict(graph.reduce_on_neighbors("sum", direction).collect()) == sums


@pytest.mark.turns(7)
@pytest.mark.parametrize("direction", EdgeDirection)
def test_groups(graph: Graph[int, int, float], direction: EdgeDirection) -> None:
    def all_edges(vertex: Vertex[int, int], edges: list[Edge[int, float]]) -> Iterator[Any]:
        yield vertex.id, vertex.value, sorted(edges)

    expected = sorted(
        (number, number * 10, sorted(edge for _, edge in rows))
        for number, rows in neighborhood(direction).items()
    )
    assert sorted(graph.group_reduce_on_edges(all_edges, direction)) == expected

    def all_neighbors(
        vertex: Vertex[int, int], neighbors: list[tuple[Edge[int, float], Vertex[int, int]]]
    ) -> Iterator[tuple[int, int, int]]:
        for edge, neighbor in neighbors:
            if edge.value > 1:
                yield vertex.id, neighbor.id, neighbor.value

    pairs = sorted(
        (number, other, other * 10)
        for number, rows in neighborhood(direction).items()
        for other, edge in rows
        if edge.value > 1
    )
    typed = graph.group_reduce_on_neighbors(all_neighbors, direction, tuple[int, int, int])
    assert str(typed.types[0]) == "TUPLE(LONG, LONG, LONG)"
    assert sorted(typed) == pairs


@pytest.mark.turns(7)
def test_functions_of_the_id_leave_out_lonely_vertices(graph: Graph[int, int, float]) -> None:
    class Counts(EdgesFunction):
        def iterate_edges(self, vertex_id: int, edges: list[Edge[int, float]]) -> list[Any]:
            return [(vertex_id, len(edges))]

    class Neighbors(NeighborsFunction):
        def iterate_neighbors(self, vertex_id: int, neighbors: list[Any]) -> list[Any]:
            return [(vertex_id, sum(vertex.value for _, vertex in neighbors))]

    assert sorted(graph.group_reduce_on_edges(Counts(), OUT)) == [(1, 3), (2, 1), (3, 1)]
    assert sorted(graph.group_reduce_on_neighbors(Neighbors(), OUT)) == [(1, 70), (2, 30), (3, 30)]


@pytest.mark.turns(7)
def test_failures(graph: Graph[int, int, float]) -> None:
    class Breaks(ReduceEdgesFunction[float]):
        def reduce_edges(self, first_edge_value: float, second_edge_value: float) -> float:
            raise ValueError(f"no {first_edge_value}")

    with pytest.raises(UserFunctionError, match="ValueError: no ") as failed:
        graph.reduce_on_edges(Breaks(), OUT).collect()
    assert failed.value.operator == "reduce_on_edges"
    with pytest.raises(JobDefinitionError, match="one of 'sum', 'min', 'max', got 'avg'"):
        graph.reduce_on_edges("avg", OUT)
    stray = Graph.from_vertices_and_edges([1], [(1, 2)])
    with pytest.raises(JobExecutionError, match="an edge has the vertex 2"):
        stray.group_reduce_on_edges(lambda vertex, edges: [vertex.id], IN).collect()
