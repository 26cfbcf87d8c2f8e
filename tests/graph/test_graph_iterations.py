"""Iterations of graphs on Spark."""

from __future__ import annotations

import math
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError, UserFunctionError
from millrace.graph import EdgeDirection, Graph
from millrace.graph.gsa import BatchApplyFunction, BatchGatherFunction
from millrace.graph.pregel import (
    BatchComputeFunction,
    ComputeFunction,
    MessageCombiner,
    VertexCentricConfiguration,
)
from millrace.graph.spargel import GatherFunction, ScatterFunction, ScatterGatherConfiguration

pytestmark = pytest.mark.spark

EDGES = [("a", "b", 1.0), ("b", "c", 2.0), ("a", "c", 9.0), ("c", "d", 1.0), ("e", "a", 1.0)]
DISTANCES = {"a": 0.0, "b": 1.0, "c": 3.0, "d": 4.0, "e": math.inf}


def paths_graph(source: float = math.inf) -> Graph[str, float, float]:
    vertices = [(name, source if name == "a" else math.inf) for name in "abcde"]
    return Graph.from_vertices_and_edges(vertices, EDGES)


@pytest.mark.turns(5)
def test_a_vertex_centric_iteration_survives_the_loss_of_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = tmp_path / "killed"

    # classes of a test's module cannot be imported by workers, so they are inside
    class ShortestPaths(ComputeFunction[str, float, float, float]):
        def compute(self, vertex: Any, messages: Any) -> None:
            distance = min(messages, default=math.inf)
            if self.get_superstep_number() == 1 and vertex.id == self.get_broadcast_set("from")[0]:
                distance = 0.0
            if self.get_superstep_number() == 3 and vertex.id == "c" and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if distance < vertex.value:
                self.set_new_vertex_value(distance)
                for edge in self.get_edges():
                    self.send_message_to(edge.target, distance + edge.value)

    class Smallest(MessageCombiner[float]):
        def combine_messages(self, messages: Any) -> None:
            self.send_combined_message(min(messages))

    settings = VertexCentricConfiguration()
    settings.add_broadcast_set("from", Graph.from_edges([("a", "a")]).get_vertex_ids())
    monkeypatch.chdir(tmp_path)  # workers that run already stay where they are
    settings.enable_checkpoints("checkpoints", 1)
    result = paths_graph().run_vertex_centric_iteration(ShortestPaths(), Smallest(), 10, settings)
    assert killed.exists()
    assert not list((tmp_path / "checkpoints").iterdir())
    assert dict(result.get_vertices().collect()) == DISTANCES
    assert result.number_of_edges() == 5


@pytest.mark.turns(5)
def test_messages_of_a_class_of_the_users_script(spark: Any) -> None:
    """Another process's message is of the class that the function knows."""

    @dataclass(frozen=True)
    class Offer:
        distance: float

    class ShortestPaths(ComputeFunction[str, float, float, Offer]):
        def compute(self, vertex: Any, messages: Any) -> None:
            offers = list(messages)
            assert all(isinstance(offer, Offer) for offer in offers)
            best = min([offer.distance for offer in offers], default=math.inf)
            if self.get_superstep_number() == 1 and vertex.id == "a":
                best = 0.0
            if best < vertex.value:
                self.set_new_vertex_value(best)
                for edge in self.get_edges():
                    self.send_message_to(edge.target, Offer(best + edge.value))

    kept = spark.sparkContext._jsc.getPersistentRDDs
    before = set(kept().keySet())
    result = paths_graph().run_vertex_centric_iteration(ShortestPaths(), None, 10)
    assert dict(result.get_vertices().collect()) == DISTANCES
    result.unpersist()
    assert set(kept().keySet()) == before


@pytest.mark.turns(5)
def test_a_scatter_gather_iteration_in_both_directions() -> None:
    class Names(ScatterFunction[str, Any, str, Any]):
        def send_messages(self, vertex: Any) -> None:
            self.send_message_to_all_neighbors(vertex.value or vertex.id)

    class First(GatherFunction[str, Any, str]):
        def update_vertex(self, vertex: Any, in_messages: Any) -> None:
            if (name := min(in_messages)) < (vertex.value or vertex.id):
                self.set_new_vertex_value(name)

    settings = ScatterGatherConfiguration()
    settings.set_direction(EdgeDirection.ALL)
    graph = Graph.from_edges([("c", "b"), ("b", "a"), ("e", "d")])
    result = graph.run_scatter_gather_iteration(Names(), First(), 20, settings, vertex_type=str)
    assert str(result.vertex_type) == "STRING"
    expected = {"a": None, "b": "a", "c": "a", "d": None, "e": "d"}
    assert dict(result.get_vertices().collect()) == expected


@pytest.mark.turns(5)
def test_a_gather_sum_apply_iteration_on_batches() -> None:
    class Length(BatchGatherFunction):
        def gather(self, neighbor_values: Any, edge_values: Any) -> Any:
            return neighbor_values + edge_values

    class Nearest(BatchApplyFunction):
        def apply(self, vertices: Any, sums: Any) -> None:
            nearer = sums.received & (sums.values < vertices.values)
            vertices.set_new_values(sums.values, nearer)

    result = paths_graph(0.0).run_gather_sum_apply_iteration(Length(), "min", Nearest(), 10)
    assert dict(result.get_vertices().collect()) == DISTANCES


@pytest.mark.turns(5)
def test_an_error_of_a_function_names_the_vertex() -> None:
    class Wrong(ComputeFunction[str, float, float, float]):
        def compute(self, vertex: Any, messages: Any) -> None:
            assert vertex.id != "d", "of the program"

    with pytest.raises(
        UserFunctionError, match=r"(?s)Wrong.compute.*Vertex\(id='d', value=inf\) in superstep 1\n"
    ):
        paths_graph().run_vertex_centric_iteration(Wrong(), None, 3)


@pytest.mark.turns(5)
def test_functions_of_other_models_are_refused() -> None:
    class Names(ScatterFunction[str, Any, str, Any]):
        def send_messages(self, vertex: Any) -> None: ...

    class Batch(BatchComputeFunction):
        def compute(self, vertices: Any, messages: Any) -> None: ...

    class Kept(MessageCombiner[Any]):
        def combine_messages(self, messages: Any) -> None: ...

    graph: Any = paths_graph()
    with pytest.raises(JobDefinitionError, match="needs a ComputeFunction or BatchComputeFunction"):
        graph.run_vertex_centric_iteration(Names(), None, 3)
    with pytest.raises(JobDefinitionError, match="at least one, not 0"):
        graph.run_vertex_centric_iteration(Batch(), None, 0)
    with pytest.raises(JobDefinitionError, match="pass no combiner"):
        graph.run_vertex_centric_iteration(Batch(), Kept(), 1)
    with pytest.raises(JobDefinitionError, match="needs a GatherFunction as gather_function"):
        graph.run_scatter_gather_iteration(Names(), Batch(), 3)


@pytest.mark.turns(5)
def test_values_of_a_dataframe_without_values_get_any_type(spark: Any) -> None:
    class Lengths(ComputeFunction[str, Any, Any, Any]):
        def compute(self, vertex: Any, messages: Any) -> None:
            self.set_new_vertex_value(("named", vertex.id))

    vertices = spark.sql("select 'a' as id, null as value")
    edges = spark.sql("select 'a' as source, 'a' as target, null as value")
    graph = Graph.from_vertices_and_edges(vertices, edges)
    result = graph.run_vertex_centric_iteration(Lengths(), None, 2)
    assert result.get_vertices().collect() == [("a", ("named", "a"))]
