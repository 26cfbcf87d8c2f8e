"""The scatter-gather iteration as a superstep program."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace.graph.elements import EdgeDirection, Vertex
from millrace.graph.iterations.iteration_contexts import IterationDescription, user_failure
from millrace.graph.iterations.message_iterator import MessageIterator
from millrace.graph.iterations.object_messages import Inbox
from millrace.graph.iterations.vertex_program import VertexProgram
from millrace.graph.pregel.compute_function import EdgeUse
from millrace.graph.spargel.gather_function import GatherFunction
from millrace.graph.spargel.scatter_function import ScatterFunction
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition

__all__ = ["ScatterGatherProgram"]

_SCATTER, _GATHER = "scatter", "gather"


class ScatterGatherProgram(VertexProgram):
    """Calls a scatter function for changed vertices and a gather function for those with messages,
    both in one superstep."""

    state = (*VertexProgram.state, "changed")

    def __init__(
        self,
        description: IterationDescription,
        scatter: ScatterFunction[Any, Any, Any, Any],
        gather: GatherFunction[Any, Any, Any],
    ) -> None:
        super().__init__(description, {_SCATTER: scatter, _GATHER: gather})
        self.changed: list[int] = []

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self.changed = list(range(partition.vertex_count))
        self._degrees = self._counted_degrees() if self.description.degrees else None
        scatter: Any = self.functions[_SCATTER]
        scatter._direction = self.description.direction

    def superstep(self, number: int) -> bool:
        with self.contexts.superstep_of(number, _SCATTER):
            self._scatter(number)
        inbox = self.outbox.deliver()
        with self.contexts.superstep_of(number, _GATHER):
            self.changed = [] if inbox is None else self._gather(number, inbox)
        self.contexts.aggregate(self.exchange)
        return bool(self.changed) and number < self.description.max_iterations

    def _scatter(self, number: int) -> None:
        function: Any = self.functions[_SCATTER]
        use = function._use = EdgeUse(self)
        ids, values, send_messages = self.ids, self.values, function.send_messages
        vertex: Vertex[Any, Any] | None = None
        try:
            for own in self.changed:
                use.vertex, use.used = own, False
                self._tell_degrees(function, own)
                vertex = Vertex(ids[own], values[own])
                send_messages(vertex)
        except Exception as error:
            place = f"{vertex!r} in superstep {number}"
            raise user_failure(error, function, "send_messages", place) from error

    def _gather(self, number: int, inbox: Inbox) -> list[int]:
        """Vertices whose value was set."""
        function: Any = self.functions[_GATHER]
        ids, values, update_vertex = self.ids, self.values, function.update_vertex
        bounds, messages = inbox.bounds, inbox.messages
        vertex: Vertex[Any, Any] | None = None
        set_vertices = []
        try:
            for position, own in enumerate(inbox.vertices):
                new_value: list[Any] = []
                function._new_value = new_value
                self._tell_degrees(function, own)
                vertex = Vertex(ids[own], values[own])
                received = MessageIterator(messages[bounds[position] : bounds[position + 1]])
                update_vertex(vertex, received)
                if new_value:
                    values[own] = new_value[0]
                    set_vertices.append(own)
        except Exception as error:
            place = f"{vertex!r} in superstep {number}"
            raise user_failure(error, function, "update_vertex", place) from error
        return set_vertices

    def _tell_degrees(self, function: Any, own: int) -> None:
        if self._degrees is not None:
            function._in_degree, function._out_degree = self._degrees[0][own], self._degrees[1][own]

    def _counted_degrees(self) -> tuple[list[int], list[int]]:
        """In-degrees and out-degrees of the own vertices in the graph."""
        graph = self.partition
        if self.description.direction == EdgeDirection.ALL:
            backwards = graph.edge_values.field("backwards").to_numpy(zero_copy_only=False)
            inwards = graph.combine_at_sources(backwards.astype(np.int64), "sum", 0)
            return inwards.tolist(), (graph.out_degrees - inwards).tolist()
        counts = np.bincount(graph.targets, minlength=graph.slot_count)
        arriving, leaving = self.exchange.push(counts, "sum").tolist(), graph.out_degrees.tolist()
        if self.description.direction == EdgeDirection.IN:
            return leaving, arriving
        return arriving, leaving
