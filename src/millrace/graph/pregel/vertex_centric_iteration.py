"""The run of a vertex-centric iteration."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.graph.elements import Vertex
from millrace.graph.graph_base import GraphBase
from millrace.graph.iterations.iteration_contexts import IterationDescription, user_failure
from millrace.graph.iterations.iteration_run import IterationRun, require_kind
from millrace.graph.iterations.message_iterator import MessageIterator
from millrace.graph.iterations.object_messages import Inbox
from millrace.graph.iterations.vertex_program import VertexProgram
from millrace.graph.pregel.batch_compute_function import BatchComputeFunction
from millrace.graph.pregel.compute_function import ComputeFunction, EdgeUse
from millrace.graph.pregel.message_combiner import MessageCombiner
from millrace.graph.pregel.vertex_centric_configuration import VertexCentricConfiguration
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition

__all__ = ["VertexCentricProgram", "run_vertex_centric"]

_METHOD = "run_vertex_centric_iteration"


def run_vertex_centric(
    graph: GraphBase[Any, Any, Any],
    function: ComputeFunction[Any, Any, Any, Any] | BatchComputeFunction,
    combiner: MessageCombiner[Any] | None,
    max_iterations: int,
    configuration: VertexCentricConfiguration | None,
    vertex_type: Any,
) -> Any:
    """The graph after the iteration. See `Graph.run_vertex_centric_iteration`."""
    require_kind(_METHOD, compute_function=(function, (ComputeFunction, BatchComputeFunction)))
    if combiner is not None:
        require_kind(_METHOD, combiner=(combiner, (MessageCombiner,)))
    if isinstance(function, BatchComputeFunction) and combiner is not None:
        raise JobDefinitionError(
            f"{type(function).__qualname__} combines its messages by its attribute `combine`: pass "
            "no combiner"
        )
    name = f"Vertex-centric iteration ({type(function).__name__})"
    run = IterationRun(graph, configuration, max_iterations, vertex_type, name)
    broadcasts = {"compute": configuration.get_bcast_vars() if configuration else {}}

    def program(description: Any) -> Any:
        if isinstance(function, BatchComputeFunction):
            from millrace.graph.iterations.batch_programs import BatchVertexCentricProgram

            return BatchVertexCentricProgram(description, function)

        return VertexCentricProgram(description, function, combiner)

    return run.result(program, broadcasts)


_COMPUTE = "compute"


class VertexCentricProgram(VertexProgram):
    """Calls a compute function for the vertices that have messages.

    Args:
        combiner: combines messages; None for none.
    """

    state = (*VertexProgram.state, "inbox")

    def __init__(
        self,
        description: IterationDescription,
        function: ComputeFunction[Any, Any, Any, Any],
        combiner: MessageCombiner[Any] | None,
    ) -> None:
        super().__init__(description, {_COMPUTE: function})
        self._combiner = combiner
        self.inbox: Inbox | None = None

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        everyone = list(range(partition.vertex_count))
        self.inbox = Inbox(everyone, [0] * (len(everyone) + 1), [])

    def superstep(self, number: int) -> bool:
        assert self.inbox is not None
        with self.contexts.superstep_of(number, _COMPUTE):
            self._compute(number, self.inbox)
        combine = None if self._combiner is None else self._combined
        self.inbox = self.outbox.deliver(combine)
        self.contexts.aggregate(self.exchange)
        return self.inbox is not None and number < self.description.max_iterations

    def _compute(self, number: int, inbox: Inbox) -> None:
        function: Any = self.functions[_COMPUTE]
        use = function._use = EdgeUse(self)
        ids, values, compute = self.ids, self.values, function.compute
        bounds, messages = inbox.bounds, inbox.messages
        vertex: Vertex[Any, Any] | None = None
        try:
            for position, own in enumerate(inbox.vertices):
                use.vertex, use.used = own, False
                changed: list[Any] = []
                function._new_value = changed
                vertex = Vertex(ids[own], values[own])
                compute(vertex, MessageIterator(messages[bounds[position] : bounds[position + 1]]))
                if changed:
                    values[own] = changed[0]
        except Exception as error:
            place = f"{vertex!r} in superstep {number}"
            raise user_failure(error, function, "compute", place) from error

    def _combined(self, messages: list[Any]) -> Any:
        combiner = self._combiner
        assert combiner is not None
        try:
            return combiner._combine(messages)
        except Exception as error:
            place = f"the messages {messages!r:.200}"
            raise user_failure(error, combiner, "combine_messages", place) from error
