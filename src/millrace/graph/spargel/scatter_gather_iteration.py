"""The run of a scatter-gather iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace.graph.elements import EdgeDirection, Vertex
from millrace.graph.graph_base import GraphBase
from millrace.graph.iterations.iteration_contexts import IterationDescription, user_failure
from millrace.graph.iterations.iteration_run import IterationRun, require_kind
from millrace.graph.iterations.message_iterator import MessageIterator
from millrace.graph.iterations.object_messages import Inbox
from millrace.graph.iterations.vertex_program import VertexProgram
from millrace.graph.pregel.compute_function import EdgeUse
from millrace.graph.spargel.batch_functions import BatchGatherFunction, BatchScatterFunction
from millrace.graph.spargel.gather_function import GatherFunction
from millrace.graph.spargel.scatter_function import ScatterFunction
from millrace.graph.spargel.scatter_gather_configuration import ScatterGatherConfiguration
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition

__all__ = ["ScatterGatherProgram", "run_scatter_gather"]

_METHOD = "run_scatter_gather_iteration"


def run_scatter_gather(
    graph: GraphBase[Any, Any, Any],
    scatter: ScatterFunction[Any, Any, Any, Any] | BatchScatterFunction,
    gather: GatherFunction[Any, Any, Any] | BatchGatherFunction,
    max_iterations: int,
    configuration: ScatterGatherConfiguration | None,
    vertex_type: Any,
) -> Any:
    """The graph after the iteration. See `Graph.run_scatter_gather_iteration`."""
    require_kind(_METHOD, scatter_function=(scatter, (ScatterFunction, BatchScatterFunction)))
    in_batches = isinstance(scatter, BatchScatterFunction)
    kind: type = BatchGatherFunction if in_batches else GatherFunction
    require_kind(_METHOD, gather_function=(gather, (kind,)))
    settings = configuration or ScatterGatherConfiguration()
    names = f"{type(scatter).__name__} | {type(gather).__name__}"
    name = f"Scatter-gather iteration ({names})"
    run = IterationRun(graph, settings, max_iterations, vertex_type, name)
    broadcasts = {
        "scatter": settings.get_scatter_bcast_vars(),
        "gather": settings.get_gather_bcast_vars(),
    }

    def program(description: Any) -> Any:
        if in_batches:
            from millrace.graph.iterations.batch_programs import BatchScatterGatherProgram

            return BatchScatterGatherProgram(description, scatter, gather)

        return ScatterGatherProgram(description, scatter, gather)  # type: ignore[arg-type]

    return run.result(program, broadcasts, settings.get_direction(), settings.is_opt_degrees())


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
