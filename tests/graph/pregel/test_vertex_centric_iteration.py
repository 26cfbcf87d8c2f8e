"""Vertex-centric iterations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.graph.iterations.local_iteration import (
    DOUBLE,
    LONG,
    distances,
    iterate,
    weighted_graph,
)

from millrace.common.errors import JobDefinitionError, JobExecutionError, UserFunctionError
from millrace.common.types.type_information import BasicTypeInfo
from millrace.graph.column_type import PICKLED, ColumnType
from millrace.graph.elements import Vertex
from millrace.graph.iterations.aggregators import LongSumAggregator
from millrace.graph.iterations.batch_programs import BatchVertexCentricProgram
from millrace.graph.pregel import (
    BatchComputeFunction,
    ComputeFunction,
    MessageCombiner,
    MessageIterator,
)
from millrace.graph.pregel.vertex_centric_iteration import VertexCentricProgram


class ShortestPaths(ComputeFunction[int, float, float, float]):
    def compute(self, vertex: Vertex[int, float], messages: MessageIterator[float]) -> None:
        distance = min(messages, default=math.inf)
        if self.get_superstep_number() == 1 and vertex.id == 0:
            distance = 0.0
        if distance < vertex.value:
            self.set_new_vertex_value(distance)
            for edge in self.get_edges():
                self.send_message_to(edge.target, distance + edge.value)


class Smallest(MessageCombiner[float]):
    def combine_messages(self, messages: MessageIterator[float]) -> None:
        self.send_combined_message(min(messages))


class BatchShortestPaths(BatchComputeFunction):
    combine = "min"

    def compute(self, vertices: Any, messages: Any) -> None:
        found = np.where(messages.received, messages.values, np.inf)
        if self.get_superstep_number() == 1:
            found = np.where(np.asarray(vertices.ids) == 0, 0.0, np.inf)
        shorter = found < vertices.values
        vertices.set_new_values(found, shorter)
        lengths = vertices.values[self.edges.sources] + self.edges.values
        self.send_along_edges(lengths, shorter[self.edges.sources])


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("combiner", [None, Smallest()])
def test_shortest_paths_of_random_graphs(
    parallelism: int, combiner: MessageCombiner[float] | None
) -> None:
    for seed in range(25):
        vertices, edges = weighted_graph(seed)
        edges = edges or [(0, 0, 1.0)]

        def program(description: Any) -> VertexCentricProgram:
            return VertexCentricProgram(description, ShortestPaths(), combiner)

        expected = distances(vertices, edges, 0)
        assert iterate(program, vertices, edges, parallelism) == expected, seed
        batch = iterate(
            lambda description: BatchVertexCentricProgram(description, BatchShortestPaths()),
            vertices,
            edges,
            parallelism,
        )
        assert batch == expected, seed


CHAIN = [(number, number + 1, 1.0) for number in range(9)]
FAR = dict.fromkeys(range(10), math.inf)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_the_maximum_of_supersteps(parallelism: int) -> None:
    def program(description: Any) -> VertexCentricProgram:
        return VertexCentricProgram(description, ShortestPaths(), None)

    result = iterate(program, FAR, CHAIN, parallelism, max_iterations=4)
    assert [result[n] for n in range(5)] == [0.0, 1.0, 2.0, 3.0, math.inf]
    batch = iterate(
        lambda description: BatchVertexCentricProgram(description, BatchShortestPaths()),
        FAR,
        CHAIN,
        parallelism,
        4,
    )
    assert batch == result


class Letters(ComputeFunction[str, Any, Any, Any]):
    """Messages and values that are any Python values, to all neighbours and to others."""

    def compute(self, vertex: Vertex[str, Any], messages: MessageIterator[Any]) -> None:
        if self.get_superstep_number() == 1:
            self.send_message_to_all_neighbors([vertex.id, ("to", "neighbors")])
            if vertex.id == "a":
                self.send_message_to("far", {"from": "a"})
        else:
            self.set_new_vertex_value(sorted(map(str, messages)))


@pytest.mark.parametrize("parallelism", [1, 2, 3, 4])
def test_messages_are_any_values_and_go_to_any_vertex(parallelism: int) -> None:
    result = iterate(
        lambda description: VertexCentricProgram(description, Letters(), None),
        {"a": None, "b": None, "c": None, "far": None, "alone": None},
        [("a", "b"), ("b", "b"), ("c", "b"), ("b", "c")],
        parallelism,
        values=PICKLED,
    )
    neighbors = {name: f"['{name}', ('to', 'neighbors')]" for name in "abc"}
    assert result == {
        "a": None,
        "b": [neighbors["a"], neighbors["b"], neighbors["c"]],
        "c": [neighbors["b"]],
        "far": ["{'from': 'a'}"],
        "alone": None,
    }


class Lost(ComputeFunction[int, float, float, int]):
    def compute(self, vertex: Vertex[int, float], messages: MessageIterator[int]) -> None:
        if vertex.id == 3:
            self.send_message_to(77, 1)


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_message_to_a_vertex_that_does_not_exist(parallelism: int) -> None:
    with pytest.raises(JobExecutionError, match="vertex 77, which does not exist"):
        iterate(
            lambda description: VertexCentricProgram(description, Lost(), None),
            FAR,
            CHAIN,
            parallelism,
        )


class Counting(ComputeFunction[int, int, Any, int]):
    """Each vertex notes the number of vertices that were active in the superstep before."""

    def compute(self, vertex: Vertex[int, int], messages: MessageIterator[int]) -> None:
        self.get_iteration_aggregator("active").aggregate(1)
        before = self.get_previous_iteration_aggregate("active")
        wanted = (None, 10, 3)[self.get_superstep_number() - 1]
        assert before == wanted, (before, wanted)
        self.set_new_vertex_value(
            100 * (before or 0) + self.get_number_of_vertices() + self.get_broadcast_set("more")[0]
        )
        if self.get_superstep_number() < 3 and vertex.id < 3:
            self.send_message_to(vertex.id, 1)


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_aggregators_broadcast_sets_and_the_number_of_vertices(parallelism: int) -> None:
    result = iterate(
        lambda description: VertexCentricProgram(description, Counting(), None),
        dict.fromkeys(range(10), 0),
        [(0, 1)],
        parallelism,
        aggregators={"active": LongSumAggregator()},
        broadcasts={"compute": {"more": [5]}},
        number_of_vertices=True,
    )
    assert [result[n] for n in (0, 2, 3)] == [315, 315, 15]


class Wrong(ComputeFunction[int, float, float, float]):
    def compute(self, vertex: Vertex[int, float], messages: MessageIterator[float]) -> None:
        self.send_message_to_all_neighbors(1.0)
        if self.get_superstep_number() == 2 and vertex.id == 4:
            raise ZeroDivisionError("of the program")


class Twice(ComputeFunction[int, float, float, float]):
    def compute(self, vertex: Vertex[int, float], messages: MessageIterator[float]) -> None:
        self.set_new_vertex_value(1.0)
        self.set_new_vertex_value(2.0)


class EdgesTwice(ComputeFunction[int, float, float, float]):
    def compute(self, vertex: Vertex[int, float], messages: MessageIterator[float]) -> None:
        self.get_edges()
        self.send_message_to_all_neighbors(1.0)


class BeforeIt(ComputeFunction[int, float, float, float]):
    def pre_superstep(self) -> None:
        self.get_broadcast_set("none")

    def compute(self, vertex: Vertex[int, float], messages: MessageIterator[float]) -> None:
        pass


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            Wrong(),
            r"(?s)Wrong.compute.* Vertex\(id=4, value=inf\) in superstep 2\n.*of the program",
        ),
        (Twice(), "set_new_vertex_value may be called once"),
        (EdgesTwice(), "exclude each other"),
        (BeforeIt(), "(?s)BeforeIt.pre_superstep.* superstep 1\n.*no broadcast set 'none'"),
    ],
)
def test_errors_of_functions(function: Any, message: str) -> None:
    with pytest.raises(UserFunctionError, match=message):
        iterate(
            lambda description: VertexCentricProgram(description, function, None), FAR, CHAIN, 2
        )


class Silent(MessageCombiner[float]):
    def combine_messages(self, messages: MessageIterator[float]) -> None:
        pass


def test_a_combiner_that_sends_nothing() -> None:
    with pytest.raises(UserFunctionError, match="did not call send_combined_message"):
        iterate(
            lambda description: VertexCentricProgram(description, ShortestPaths(), Silent()),
            FAR,
            [(0, 1, 1.0), (0, 1, 2.0)],
        )


class Texts(ComputeFunction[int, Any, float, float]):
    def compute(self, vertex: Vertex[int, Any], messages: MessageIterator[float]) -> None:
        if vertex.id == 6:
            self.set_new_vertex_value("six")


def test_a_value_of_another_type_names_its_vertex() -> None:
    with pytest.raises(JobExecutionError, match=r"Vertex\(id=6, value='six'\) has a value that"):
        iterate(lambda description: VertexCentricProgram(description, Texts(), None), FAR, CHAIN, 2)


class TooFew(BatchComputeFunction):
    def compute(self, vertices: Any, messages: Any) -> None:
        self.send_to_all_neighbors(vertices.values[1:])


def test_errors_of_functions_on_batches() -> None:
    def program(description: Any) -> BatchVertexCentricProgram:
        return BatchVertexCentricProgram(description, TooFew())

    with pytest.raises(UserFunctionError, match=r"shape \(9,\) for 10 vertices"):
        iterate(program, FAR, CHAIN)
    with pytest.raises(JobExecutionError, match="values are type string"):
        iterate(program, {1: "text"}, [(1, 1, 1.0)])


class Halves(BatchComputeFunction):
    def compute(self, vertices: Any, messages: Any) -> None:
        vertices.set_new_values(vertices.values / 2, np.asarray(vertices.ids) > 1)


def halves(description: Any) -> BatchVertexCentricProgram:
    return BatchVertexCentricProgram(description, Halves())


def test_values_on_batches_get_the_type_that_is_named() -> None:
    assert iterate(halves, {1: 1, 2: 3}, [(1, 2)], values=DOUBLE) == {1: 1.0, 2: 1.5}


def test_values_on_batches_that_do_not_fit_the_type_are_refused() -> None:
    with pytest.raises(UserFunctionError, match=r"value 1.5 \(float64\) of the vertex 2 does not"):
        iterate(halves, {1: 1, 2: 3}, [(1, 2)])
    with pytest.raises(JobExecutionError, match="name another in the parameter vertex_type"):
        iterate(halves, {1: 0.5}, [(1, 1)], values=LONG)
    with pytest.raises(
        JobDefinitionError, match="set the parameter vertex_type to a type of numbers"
    ):
        iterate(halves, {1: None, 2: None}, [(1, 2)], values=PICKLED)


class Wide(BatchComputeFunction):
    def compute(self, vertices: Any, messages: Any) -> None:
        vertices.set_new_values(vertices.values.astype(np.int64) + 2**40)


def test_a_number_that_is_too_great_for_its_type_is_refused() -> None:
    with pytest.raises(UserFunctionError, match="1099511627777 .* does not fit .* vertices .int32"):
        iterate(
            lambda description: BatchVertexCentricProgram(description, Wide()),
            {1: 1},
            [(1, 1)],
            values=ColumnType(BasicTypeInfo("INT")),
        )


class Sending(BatchComputeFunction):
    """Sends several columns in the first superstep, and keeps the messages combined."""

    def __init__(self, combine: Any, columns: list[Any]) -> None:
        self.combine = combine
        self.columns = columns

    def compute(self, vertices: Any, messages: Any) -> None:
        if self.get_superstep_number() > 1:
            vertices.set_new_values(messages.values, messages.received)
            return
        for column in self.columns:
            senders = [vertex != 9 for vertex in vertices.ids.to_pylist()]
            self.send_to_all_neighbors(np.full(len(vertices), column), senders)


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize(
    ("combine", "columns", "expected"),
    [
        ("sum", [1, 0.5], 3.0),
        ("sum", [True], 2.0),
        ("sum", [np.int8(100)], 200.0),
        ("min", [5, 1e300], 5.0),
        ("max", [np.int8(-7), -1e300], -7.0),
    ],
)
def test_messages_of_several_types_on_batches(
    parallelism: int, combine: Any, columns: list[Any], expected: float
) -> None:
    result = iterate(
        lambda description: BatchVertexCentricProgram(description, Sending(combine, columns)),
        {1: 0.0, 2: 0.0, 3: 0.0, 9: 0.0},
        [(1, 2), (3, 2), (9, 2)],
        parallelism,
    )
    assert result == {1: 0.0, 2: expected, 3: 0.0, 9: 0.0}
