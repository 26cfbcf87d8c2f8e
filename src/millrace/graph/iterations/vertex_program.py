"""VertexProgram: base of programs that call a function of the user for each vertex."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from millrace.common.errors import JobExecutionError, SerializationError
from millrace.graph.elements import Edge, EdgeDirection, Vertex
from millrace.graph.iterations.iteration_contexts import IterationDescription
from millrace.graph.iterations.iteration_function import IterationFunction
from millrace.graph.iterations.iteration_program import IterationProgram
from millrace.graph.iterations.object_messages import ObjectMessages
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition

__all__ = ["VertexProgram"]


class VertexProgram(IterationProgram):
    """Values of vertices as Python objects, aggregators and the contexts of functions.

    Args:
        description: the iteration.
        functions: the user's functions by name; each task works with copies.
    """

    state: ClassVar[tuple[str, ...]] = ("values", "previous")

    def __init__(
        self, description: IterationDescription, functions: Mapping[str, IterationFunction]
    ) -> None:
        super().__init__(description, functions)
        self._slot_ids: list[Any] | None = None
        self._edge_values: list[Any] | None = None

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self.ids = self.description.ids.decode(partition.ids)
        if partition.vertex_values is None:
            self.values: list[Any] = [None] * partition.vertex_count
        else:
            self.values = self.description.input_values.decode(partition.vertex_values)
        self.outbox = ObjectMessages(partition, exchange, self.slot_ids)
        self.contexts.start(partition)

    def slot_ids(self) -> list[Any]:
        """Ids of all slots. They are made when a function first needs them."""
        if self._slot_ids is None:
            self._slot_ids = self.description.ids.decode(self.partition.slot_ids)
        return self._slot_ids

    def edges_of(self, vertex: int) -> list[Edge[Any, Any]]:
        """The edges of an own vertex, as the graph has them."""
        ids, graph, edge_values = self.slot_ids(), self.partition, self.edge_values()
        low, high = int(graph.offsets[vertex]), int(graph.offsets[vertex + 1])
        own, others = ids[vertex], [ids[slot] for slot in graph.targets[low:high].tolist()]
        values = edge_values[low:high]
        if self.description.direction == EdgeDirection.OUT:
            return [Edge(own, other, value) for other, value in zip(others, values, strict=True)]
        if self.description.direction == EdgeDirection.IN:
            return [Edge(other, own, value) for other, value in zip(others, values, strict=True)]
        backwards = self._backwards[low:high]
        return [
            Edge(other, own, value) if back else Edge(own, other, value)
            for other, value, back in zip(others, values, backwards, strict=True)
        ]

    def edge_values(self) -> list[Any]:
        """Values of all edges. They are made when a function first needs them."""
        if self._edge_values is None:
            self._edge_values = self._decoded_edges()
        return self._edge_values

    def _decoded_edges(self) -> list[Any]:
        if self.description.direction == EdgeDirection.ALL:
            self._backwards = self.partition.edge_values.field("backwards").to_pylist()
        column = self.edge_value_column()
        if column is None:
            return [None] * self.partition.edge_count
        return self.description.edge_values.decode(column)

    @abstractmethod
    def superstep(self, number: int) -> bool:
        """Compute a superstep."""

    def result(self) -> Any:
        """Ids and values of the own vertices."""
        return {"id": self.partition.ids, "value": self._encoded_values()}

    def _encoded_values(self) -> Any:
        try:
            return self.description.values.encode(self.values)
        except SerializationError as error:
            for vertex in map(Vertex, self.ids, self.values):
                try:
                    self.description.values.encode([vertex.value])
                except SerializationError:
                    raise JobExecutionError(
                        f"{vertex} has a value that is not of the type of the graph's vertices, "
                        f"{self.description.values}: set values of this type, or give the "
                        f"iteration another one by vertex_type ({error})"
                    ) from error
            raise
