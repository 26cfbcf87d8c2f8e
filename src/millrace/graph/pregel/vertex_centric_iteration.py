"""The run of a vertex-centric iteration."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.graph.graph_base import GraphBase
from millrace.graph.iterations.iteration_run import IterationRun, require_kind
from millrace.graph.pregel.batch_compute_function import BatchComputeFunction
from millrace.graph.pregel.compute_function import ComputeFunction
from millrace.graph.pregel.message_combiner import MessageCombiner
from millrace.graph.pregel.vertex_centric_configuration import VertexCentricConfiguration

__all__ = ["run_vertex_centric"]

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
        from millrace.graph.pregel.vertex_centric_program import VertexCentricProgram

        return VertexCentricProgram(description, function, combiner)

    return run.result(program, broadcasts)
