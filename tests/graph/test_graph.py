"""Creation of graphs and their properties."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millrace.common import WatermarkStrategy
from millrace.common.errors import JobDefinitionError
from millrace.connectors.data_generator import DataGeneratorSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.graph import Edge, Graph, Vertex
from millrace.table import StreamTableEnvironment

pytestmark = pytest.mark.spark


@pytest.mark.turns(5)
def test_a_graph_of_edges_has_their_ends_as_vertices(spark: Any) -> None:
    graph = Graph.from_edges([(1, 2), (2, 3), (2, 2)])
    assert sorted(graph.get_vertices().collect()) == [(1, None), (2, None), (3, None)]
    assert sorted(graph.get_edges().collect()) == [(1, 2, None), (2, 2, None), (2, 3, None)]
    assert sorted(graph.get_degrees().collect()) == [(1, 1), (2, 4), (3, 1)]
    assert sorted(graph.in_degrees().collect()) == [(1, 0), (2, 2), (3, 1)]
    assert (graph.number_of_vertices(), graph.number_of_edges()) == (3, 3)


@pytest.mark.turns(5)
def test_vertices_and_edges_with_values(spark: Any) -> None:
    graph = Graph.from_vertices_and_edges(
        [("a", (1, "x")), ("b", (2, "y"))], [("a", "b", 0.5), ("b", "a", 2)]
    )
    assert str(graph) == "Graph(id: STRING, vertex: TUPLE(LONG, STRING), edge: DOUBLE)"
    assert sorted(graph.get_vertices()) == [Vertex("a", (1, "x")), Vertex("b", (2, "y"))]
    assert sorted(graph.get_edges()) == [Edge("a", "b", 0.5), Edge("b", "a", 2.0)]
    triplet = min(graph.get_triplets().collect())
    assert triplet == ("a", "b", (1, "x"), (2, "y"), 0.5)
    assert triplet.target_vertex() == Vertex("b", (2, "y"))


@pytest.mark.turns(5)
def test_an_algorithm_gets_the_graph(spark: Any) -> None:
    class Sources:
        def run(self, graph: Graph[int, Any, Any]) -> list[int]:
            return [edge.source for edge in graph.get_edges()]

    assert Graph.from_edges([(1, 2)]).run(Sources()) == [1]


@pytest.mark.turns(5)
def test_dataframes_are_taken_by_name_or_position(spark: Any) -> None:
    frame = spark.createDataFrame([(2.5, 1, 7)], "weight double, src int, dst int")
    edges = frame.withColumnRenamed("weight", "value")
    vertices = spark.createDataFrame([(1,), (7,), (8,)], "v bigint")
    graph = Graph.from_vertices_and_edges(vertices, edges)
    assert graph.get_edges().collect() == [(1, 7, 2.5)]
    assert sorted(graph.get_vertex_ids()) == [1, 7, 8]
    assert str(graph.id_type) == "LONG"


@pytest.mark.turns(5)
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0)])
def test_known_names_count_wherever_the_columns_stand(spark: Any, order: tuple[int, ...]) -> None:
    columns = [("src", 1), ("dst", 7), ("weight", 2.5)]
    table = pa.table({columns[place][0]: [columns[place][1]] for place in order})
    assert Graph.from_edges(table).get_edges().collect() == [(1, 7, 2.5)]
    people = pa.table({"name": ["Ada", "Bob"], "id": [1, 7]})
    graph = Graph.from_vertices_and_edges(people, table)
    assert sorted(graph.get_vertices()) == [(1, "Ada"), (7, "Bob")]


@pytest.mark.turns(5)
def test_positions_count_if_no_name_is_known(spark: Any) -> None:
    for names in (["a", "b", "c"], ["a", "b", "value"], ["src", "b", "c"], ["a", "dst", "value"]):
        table = pa.table([[1], [7], [2.5]], names)
        assert Graph.from_edges(table).get_edges().collect() == [(1, 7, 2.5)]
    for names in (["value", "a", "b"], ["a", "src", "c"]):
        with pytest.raises(JobDefinitionError, match=f"got the columns {', '.join(names)}: sel"):
            Graph.from_edges(pa.table([[2.5], [1], [7]], names))


@pytest.mark.turns(5)
def test_a_stream_without_an_end_is_refused(spark: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    endless = DataGeneratorSource(lambda index: (index, index + 1), None)
    numbers = env.from_source(endless, WatermarkStrategy.no_watermarks(), "numbers")
    with pytest.raises(JobDefinitionError, match="the source 'numbers' of this one never ends"):
        Graph.from_edges(numbers.filter(bool))


@pytest.mark.turns(5)
def test_a_table_without_an_end_is_refused(spark: Any) -> None:
    t_env = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    columns = "(a BIGINT, b BIGINT) WITH ('connector' = 'datagen'"
    t_env.execute_sql(f"CREATE TEMPORARY TABLE calls {columns})")
    with pytest.raises(JobDefinitionError, match=r"the source '.*calls.*' of this one never ends"):
        Graph.from_edges(t_env.sql_query("SELECT a, b FROM calls WHERE a < b"))
    t_env.execute_sql(f"CREATE TEMPORARY TABLE few {columns}, 'number-of-rows' = '5')")
    assert Graph.from_edges(t_env.sql_query("SELECT a, b FROM few")).number_of_edges() == 5
