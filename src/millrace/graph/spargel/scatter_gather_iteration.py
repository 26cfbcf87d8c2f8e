"""The run of a scatter-gather iteration."""

from __future__ import annotations

from typing import Any

from millrace.graph.graph_base import GraphBase
from millrace.graph.iterations.iteration_run import IterationRun, require_kind
from millrace.graph.spargel.batch_functions import BatchGatherFunction, BatchScatterFunction
from millrace.graph.spargel.gather_function import GatherFunction
from millrace.graph.spargel.scatter_function import ScatterFunction
from millrace.graph.spargel.scatter_gather_configuration import ScatterGatherConfiguration

__all__ = ["run_scatter_gather"]

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
        from millrace.graph.spargel.scatter_gather_program import ScatterGatherProgram

        return ScatterGatherProgram(description, scatter, gather)  # type: ignore[arg-type]

    return run.result(program, broadcasts, settings.get_direction(), settings.is_opt_degrees())
