"""Scatter-gather iterations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.graph.iterations.local_iteration import assert_shortest_paths, iterate

from millrace.common.errors import UserFunctionError
from millrace.graph.elements import EdgeDirection, Vertex
from millrace.graph.iterations.aggregators import LongSumAggregator
from millrace.graph.iterations.batch_programs import BatchScatterGatherProgram
from millrace.graph.spargel import (
    BatchGatherFunction,
    BatchScatterFunction,
    GatherFunction,
    MessageIterator,
    ScatterFunction,
)
from millrace.graph.spargel.scatter_gather_iteration import ScatterGatherProgram


class Lengths(ScatterFunction[int, float, float, float]):
    def send_messages(self, vertex: Vertex[int, float]) -> None:
        if vertex.value < math.inf:
            for edge in self.get_edges():
                other = edge.target if edge.source == vertex.id else edge.source
                self.send_message_to(other, vertex.value + edge.value)


class Nearest(GatherFunction[int, float, float]):
    def update_vertex(
        self, vertex: Vertex[int, float], in_messages: MessageIterator[float]
    ) -> None:
        if (distance := min(in_messages)) < vertex.value:
            self.set_new_vertex_value(distance)


class BatchLengths(BatchScatterFunction):
    combine = "min"

    def send_messages(self, vertices: Any, changed: Any) -> None:
        senders = changed & (vertices.values < np.inf)
        lengths = vertices.values[self.edges.sources] + self.edges.values
        self.send_along_edges(lengths, senders[self.edges.sources])


class BatchNearest(BatchGatherFunction):
    def update_vertices(self, vertices: Any, messages: Any) -> None:
        nearer = messages.received & (messages.values < vertices.values)
        vertices.set_new_values(messages.values, nearer)


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("direction", list(EdgeDirection))
def test_shortest_paths_in_each_direction(parallelism: int, direction: EdgeDirection) -> None:
    assert_shortest_paths(
        parallelism,
        direction,
        lambda description: ScatterGatherProgram(description, Lengths(), Nearest()),
        lambda description: BatchScatterGatherProgram(description, BatchLengths(), BatchNearest()),
    )


class Degrees(ScatterFunction[int, int, int, float]):
    def send_messages(self, vertex: Vertex[int, int]) -> None:
        self.get_iteration_aggregator("senders").aggregate(1)
        self.send_message_to(vertex.id, 100 * self.get_in_degree() + self.get_out_degree())


class Kept(GatherFunction[int, int, int]):
    def update_vertex(self, vertex: Vertex[int, int], in_messages: MessageIterator[int]) -> None:
        assert in_messages.has_next()
        message = in_messages.next()
        assert message == 100 * self.get_in_degree() + self.get_out_degree()
        if self.get_superstep_number() == 2:
            message += 1000 * self.get_previous_iteration_aggregate("senders")
        self.set_new_vertex_value(message)


@pytest.mark.parametrize("direction", list(EdgeDirection))
@pytest.mark.parametrize("parallelism", [1, 3])
def test_degrees_are_those_of_the_graph(parallelism: int, direction: EdgeDirection) -> None:
    result = iterate(
        lambda description: ScatterGatherProgram(description, Degrees(), Kept()),
        dict.fromkeys(range(4), 0),
        [(0, 1, 1.0), (0, 2, 1.0), (2, 2, 1.0), (1, 2, 1.0)],
        parallelism,
        2,
        direction,
        degrees=True,
        aggregators={"senders": LongSumAggregator()},
    )
    assert result == {0: 4002, 1: 4101, 2: 4301, 3: 4000}


class Failing(GatherFunction[int, float, float]):
    def update_vertex(
        self, vertex: Vertex[int, float], in_messages: MessageIterator[float]
    ) -> None:
        if vertex.id == 2:
            raise ValueError("of the program")
        self.set_new_vertex_value(min(in_messages))


def test_errors_name_the_vertex_and_the_superstep() -> None:
    vertices = {0: 0.0, 1: math.inf, 2: math.inf}
    edges = [(0, 1, 1.0), (1, 2, 1.0)]
    with pytest.raises(
        UserFunctionError,
        match=r"(?s)Failing.update_vertex.*Vertex\(id=2, value=inf\) in superstep 2\n.*of the prog",
    ):
        iterate(
            lambda description: ScatterGatherProgram(description, Lengths(), Failing()),
            vertices,
            edges,
            2,
        )
