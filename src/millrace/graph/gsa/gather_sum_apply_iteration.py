"""The run of a gather-sum-apply iteration."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.graph.graph_base import GraphBase
from millrace.graph.gsa.apply_function import ApplyFunction
from millrace.graph.gsa.batch_functions import BatchApplyFunction, BatchGatherFunction
from millrace.graph.gsa.gather_function import GatherFunction
from millrace.graph.gsa.gsa_configuration import GSAConfiguration
from millrace.graph.gsa.sum_function import SumFunction
from millrace.graph.iterations.batch_iteration_function import Combination
from millrace.graph.iterations.iteration_run import IterationRun, require_kind

__all__ = ["run_gather_sum_apply"]

_METHOD = "run_gather_sum_apply_iteration"


def run_gather_sum_apply(
    graph: GraphBase[Any, Any, Any],
    gather: GatherFunction[Any, Any, Any] | BatchGatherFunction,
    sum_function: SumFunction[Any, Any, Any] | Combination,
    apply: ApplyFunction[Any, Any, Any] | BatchApplyFunction,
    max_iterations: int,
    configuration: GSAConfiguration | None,
    vertex_type: Any,
) -> Any:
    """The graph after the iteration. See `Graph.run_gather_sum_apply_iteration`."""
    require_kind(_METHOD, gather_function=(gather, (GatherFunction, BatchGatherFunction)))
    in_batches = isinstance(gather, BatchGatherFunction)
    kind: type = BatchApplyFunction if in_batches else ApplyFunction
    require_kind(_METHOD, apply_function=(apply, (kind,)))
    if not in_batches:
        require_kind(_METHOD, sum_function=(sum_function, (SumFunction,)))
    elif sum_function not in ("sum", "min", "max"):
        raise JobDefinitionError(
            f"the sum of a BatchGatherFunction is 'sum', 'min' or 'max', not {sum_function!r}"
        )
    settings = configuration or GSAConfiguration()
    names = f"{type(gather).__name__} | {type(apply).__name__}"
    name = f"Gather-sum-apply iteration ({names})"
    run = IterationRun(graph, settings, max_iterations, vertex_type, name)
    broadcasts = {
        "gather": settings.get_gather_bcast_vars(),
        "sum": settings.get_sum_bcast_vars(),
        "apply": settings.get_apply_bcast_vars(),
    }

    def program(description: Any) -> Any:
        if in_batches:
            from millrace.graph.iterations.batch_programs import BatchGatherSumApplyProgram

            return BatchGatherSumApplyProgram(description, gather, sum_function, apply)  # type: ignore[arg-type]
        from millrace.graph.gsa.gather_sum_apply_program import GatherSumApplyProgram

        return GatherSumApplyProgram(description, gather, sum_function, apply)  # type: ignore[arg-type]

    return run.result(program, broadcasts, settings.get_direction())
