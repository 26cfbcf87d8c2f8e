"""Superstep programs in this process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.runtime.supersteps.component_program import Components, PulledComponents
from tests.runtime.supersteps.random_graph import (
    both_ways,
    components_in,
    components_of,
    random_graph,
    tables_of,
)

from millrace.common.errors import JobExecutionError
from millrace.runtime.supersteps.local_run import graph_tables, run_local
from millrace.runtime.supersteps.superstep_program import SuperstepProgram


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("program", [Components, PulledComponents])
def test_components_of_random_graphs(program: type[Components], parallelism: int) -> None:
    for seed in range(70):
        ids, edges = random_graph(seed)
        table = run_local(program, *tables_of(ids, both_ways(edges)), parallelism)
        assert sorted(table["id"].to_pylist()) == sorted(ids)
        assert components_in(table) == components_of(ids, edges), seed


def test_an_empty_graph() -> None:
    empty = pa.table({"id": pa.array([], pa.int64())})
    edges = pa.table({"source": pa.array([], pa.int64()), "target": pa.array([], pa.int64())})
    assert run_local(Components, empty, edges, 2).num_rows == 0


class Weights(SuperstepProgram):
    """Sums of the values of edges at both ends, and of vertices."""

    def superstep(self, number: int) -> bool:
        graph = self.partition
        weights = graph.edge_values.to_numpy()
        at_targets = graph.combine_at_targets(weights, "sum", 0)
        self.incoming = self.exchange.push(at_targets, "sum")
        self.outgoing = graph.combine_at_sources(weights, "sum", 0)
        self.total = self.exchange.all_reduce(int(weights.sum()))
        return False

    def result(self) -> Any:
        return {
            "id": self.partition.ids,
            "in": self.incoming,
            "out": self.outgoing,
            "total": np.full(self.partition.vertex_count, self.total),
        }


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_values_of_edges_keep_to_their_edges(parallelism: int) -> None:
    vertices, edges = graph_tables([("b", "a", 5), ("a", "b", 1), ("a", "c", 20), ("a", "b", 300)])
    table = run_local(Weights, vertices, edges, parallelism).sort_by("id")
    assert table.to_pydict() == {
        "id": ["a", "b", "c"],
        "in": [5, 301, 20],
        "out": [321, 5, 0],
        "total": [326, 326, 326],
    }


class Letters(SuperstepProgram):
    """Each vertex sends its value to the targets of its edges, which list what has come."""

    def superstep(self, number: int) -> bool:
        graph = self.partition
        letters = graph.vertex_values.take(pa.array(graph.sources))
        weights = graph.edge_values.to_numpy()
        receivers, letters, weights = self.exchange.send(graph.targets, letters, weights)
        self.received: list[list[str]] = [[] for _ in range(graph.vertex_count)]
        for receiver, letter, weight in zip(receivers, letters.to_pylist(), weights, strict=True):
            self.received[receiver].append(f"{letter}{weight}")
        return False

    def result(self) -> Any:
        lists = [sorted(letters) for letters in self.received]
        return {"id": self.partition.ids, "received": pa.array(lists, pa.list_(pa.string()))}


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_messages_arrive_at_their_vertices(parallelism: int) -> None:
    vertices = pa.table({"id": [30, 10, 20], "value": ["z", "x", "y"]})
    _, edges = graph_tables([(10, 20, 1), (30, 20, 2), (20, 20, 3), (20, 10, 4), (10, 20, 5)])
    table = run_local(Letters, vertices, edges, parallelism).sort_by("id")
    assert table.to_pydict() == {
        "id": [10, 20, 30],
        "received": [["y4"], ["x1", "x5", "y3", "z2"], []],
    }


class Routed(SuperstepProgram):
    """Rows sent to tasks, and sparse values for ghosts."""

    def superstep(self, number: int) -> bool:
        graph = self.partition
        tasks = np.arange(graph.vertex_count) % graph.parallelism
        rows = self.exchange.route(tasks, graph.ids, np.full(graph.vertex_count, graph.index))
        assert isinstance(rows[0], pa.Array)
        self.rows = self.exchange.all_gather(list(zip(rows[0].to_pylist(), rows[1], strict=True)))
        slots = np.full(graph.slot_count, 7.0)
        changed = np.zeros(graph.slot_count, bool)
        changed[graph.targets] = True
        self.values, self.have = self.exchange.push_changed(slots, changed, "sum")
        return False

    def result(self) -> Any:
        return {"id": self.partition.ids, "value": np.where(self.have, self.values, -1.0)}


def test_sparse_values_and_rows() -> None:
    vertices, edges = graph_tables([(1, 2), (3, 2), (4, 2), (1, 4)])
    tables = [run_local(Routed, vertices, edges, n).sort_by("id").to_pydict() for n in (1, 3)]
    assert tables[0] == {"id": [1, 2, 3, 4], "value": [-1.0, 7.0, -1.0, 7.0]}
    # with three tasks, 1 and 4 are of task 0, 2 of task 1, 3 of task 2
    assert tables[1] == {"id": [1, 2, 3, 4], "value": [-1.0, 14.0, -1.0, 7.0]}


class Failing(Components):
    def superstep(self, number: int) -> bool:
        if self.partition.index == 1:
            raise ValueError("this one")
        return super().superstep(number)


def test_the_error_of_a_task_ends_all() -> None:
    with pytest.raises(ValueError, match="this one"):
        run_local(Failing, *graph_tables([(1, 2), (2, 1)]), 3)


class Diverging(Components):
    def superstep(self, number: int) -> bool:
        if self.partition.index == 1:
            self.exchange.all_gather(3)
        return super().superstep(number)


def test_calls_that_differ_are_refused() -> None:
    with pytest.raises(
        JobExecutionError, match="must call the methods of `exchange` in the same order, and task"
    ):
        run_local(Diverging, *graph_tables([(1, 2), (2, 1)]), 2)


@pytest.mark.parametrize(
    ("vertices", "edges", "message"),
    [
        ([1, 2, 2], [(1, 2)], "vertex 2 occurs more than once"),
        ([1, None], [(1, 1)], "the id of a vertex is null"),
        ([1, 2], [(1, 2), (1, None)], "the target of an edge is null"),
        ([1, 2], [(1, 3)], "3 is the target of an edge, but no vertex"),
        ([1, 2], [(4, 1)], "4 is the source of an edge, but no vertex"),
    ],
)
@pytest.mark.parametrize("parallelism", [1, 2])
def test_graphs_that_are_none(
    vertices: list[Any], edges: list[tuple[int, int]], message: str, parallelism: int
) -> None:
    _, table = graph_tables(edges)
    with pytest.raises(JobExecutionError, match=message):
        run_local(Components, pa.table({"id": vertices}), table, parallelism)
