"""Values, ids and rows of graphs that are mapped, filtered and joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.common.errors import JobDefinitionError, UserFunctionError
from millrace.graph import Edge, EdgeJoinFunction, Graph, Vertex, VertexJoinFunction

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def graph(spark: Any) -> Graph[int, int, float]:
    edges = [(1, 2, 0.5), (2, 3, 1.5), (3, 1, 2.5), (3, 3, 3.5)]
    return Graph.from_vertices_and_edges([(1, 10), (2, 20), (3, 30), (4, 40)], edges)


def vertices(graph: Graph[Any, Any, Any]) -> dict[Any, Any]:
    return dict(graph.get_vertices().collect())


def edges(graph: Graph[Any, Any, Any]) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, graph.get_edges().collect()))


@pytest.mark.turns(7)
def test_functions_of_rows_batches_and_expressions_give_the_same(
    graph: Graph[int, int, float],
) -> None:
    def doubled(vertex: Vertex[int, int]) -> int:
        return vertex.value * 2

    def in_batches(batch: pa.RecordBatch) -> Any:
        return batch.column("value").to_numpy() * 2

    expected = {1: 20, 2: 40, 3: 60, 4: 80}
    assert vertices(graph.map_vertices(doubled)) == expected
    assert vertices(graph.map_vertices(in_batches, vectorized=True)) == expected
    assert vertices(graph.map_vertices("value * 2")) == expected
    assert vertices(graph.translate_vertex_values(lambda value: value * 2, "BIGINT")) == expected


@pytest.mark.turns(7)
def test_values_of_edges(graph: Graph[int, int, float]) -> None:
    mapped = graph.map_edges(lambda edge: (edge.source, str(edge.value)), tuple[int, str])
    assert str(mapped.edge_type) == "TUPLE(LONG, STRING)"
    assert edges(mapped)[0] == (1, 2, (1, "0.5"))
    whole = graph.translate_edge_values(int, int)
    assert edges(whole) == [(1, 2, 0), (2, 3, 1), (3, 1, 2), (3, 3, 3)]


@pytest.mark.turns(7)
def test_values_without_a_type_are_pickled(graph: Graph[int, int, float]) -> None:
    mapped = graph.map_vertices(lambda vertex: {vertex.id, "x"})
    assert mapped.vertex_type.is_pickled
    assert vertices(mapped)[4] == {4, "x"}
    assert vertices(mapped.map_vertices(lambda vertex: len(vertex.value), int))[1] == 2


@pytest.mark.turns(7)
def test_ids_are_translated_in_vertices_and_edges(graph: Graph[int, int, float]) -> None:
    named = graph.translate_graph_ids(lambda number: f"v{number}", str)
    assert vertices(named) == {"v1": 10, "v2": 20, "v3": 30, "v4": 40}
    assert edges(named)[-1] == ("v3", "v3", 3.5)
    shifted = graph.translate_graph_ids("id + 100")
    assert (sorted(vertices(shifted)), edges(shifted)[0]) == ([101, 102, 103, 104], (101, 102, 0.5))
    with pytest.raises(JobDefinitionError, match="needs the type of the new ids"):
        graph.translate_graph_ids(lambda number: number)


@pytest.mark.turns(7)
def test_filters_leave_edges_between_kept_vertices(graph: Graph[int, int, float]) -> None:
    kept = graph.filter_on_vertices(lambda vertex: vertex.value >= 20)
    assert (sorted(vertices(kept)), edges(kept)) == ([2, 3, 4], [(2, 3, 1.5), (3, 3, 3.5)])
    assert edges(graph.filter_on_vertices("value >= 20")) == edges(kept)
    heavy = graph.filter_on_edges(
        lambda batch: pa.array(np.asarray(batch["value"]) > 2), vectorized=True
    )
    assert (sorted(vertices(heavy)), edges(heavy)) == ([1, 2, 3, 4], [(3, 1, 2.5), (3, 3, 3.5)])
    both = graph.subgraph(lambda vertex: vertex.id != 1, "value > 2")
    assert (sorted(vertices(both)), edges(both)) == ([2, 3, 4], [(3, 3, 3.5)])


@pytest.mark.turns(7)
def test_directions(graph: Graph[int, int, float]) -> None:
    turned = [(1, 3, 2.5), (2, 1, 0.5), (3, 2, 1.5), (3, 3, 3.5)]
    assert edges(graph.reverse()) == turned
    assert edges(graph.get_undirected()) == sorted(edges(graph) + turned)


@pytest.mark.turns(7)
def test_joins_change_values_that_have_an_input(graph: Graph[int, int, float]) -> None:
    class Plus(VertexJoinFunction, EdgeJoinFunction):
        def vertex_join(self, vertex_value: int, input_value: int) -> int:
            return vertex_value + input_value

        def edge_join(self, edge_value: float, input_value: int) -> float:
            return edge_value + input_value

    joined = graph.join_with_vertices([(1, 5), (9, 5)], Plus())
    assert vertices(joined) == {1: 15, 2: 20, 3: 30, 4: 40}
    assert edges(graph.join_with_edges([(3, 1, 100)], Plus()))[2] == (3, 1, 102.5)
    by_degree = graph.join_with_edges_on_source(graph.out_degrees(), lambda value, n: value / n)
    assert edges(by_degree) == [(1, 2, 0.5), (2, 3, 1.5), (3, 1, 1.25), (3, 3, 1.75)]
    on_target = graph.join_with_edges_on_target(
        [(3, "x")], lambda value, text: f"{value}{text}", str
    )
    assert str(on_target.edge_type) == "STRING"


@pytest.mark.turns(7)
def test_a_failing_function_is_named_with_its_row_and_line(graph: Graph[int, int, float]) -> None:
    def broken(vertex: Vertex[int, int]) -> int:
        return vertex.value // (vertex.id - 3)

    with pytest.raises(UserFunctionError) as failed:
        graph.map_vertices(broken).get_vertices().collect()
    assert failed.value.operator == "map_vertices"
    assert failed.value.record == "Vertex(id=3, value=30)"
    assert "test_transformations.py" in failed.value.user_traceback
    assert "ZeroDivisionError" in failed.value.user_traceback


@pytest.mark.turns(7)
def test_a_result_of_another_type_is_named(graph: Graph[int, int, float]) -> None:
    first = graph.filter_on_edges("source = 1")
    with pytest.raises(UserFunctionError, match="'2' .*does not fit a column of LONG") as failed:
        first.map_edges(lambda edge: str(edge.target), int).get_edges().collect()
    assert failed.value.record == "Edge(source=1, target=2, value=0.5)"


@pytest.mark.turns(7)
def test_ids_of_different_types_are_refused(spark: Any) -> None:
    with pytest.raises(JobDefinitionError, match="ids of the vertices are of type STRING"):
        Graph.from_vertices_and_edges(["a"], [(1, 2)])
    with pytest.raises(JobDefinitionError, match="got 1 and 'a'"):
        Graph.from_edges([(1, 2), ("a", 2)])
    with pytest.raises(JobDefinitionError, match="row 1 of the edges has to be a tuple of 2 or 3"):
        Graph.from_edges([(1, 2), (1,)])
    with pytest.raises(JobDefinitionError, match="row 0 of the edges has no id"):
        Graph.from_edges([(None, 2)])


@pytest.mark.turns(7)
def test_vertices_are_initialized_from_their_ids(spark: Any) -> None:
    graph = Graph.from_edges([(1, 2)], float, vertex_type=float)
    assert vertices(graph) == {1: 1.0, 2: 2.0}
    empty = Graph.from_vertices_and_edges([], [("a", "b")])
    assert (str(empty.id_type), empty.number_of_vertices()) == ("STRING", 0)
    assert edges(graph.map_edges(lambda edge: Edge(*edge).source, int)) == [(1, 2, 1)]
