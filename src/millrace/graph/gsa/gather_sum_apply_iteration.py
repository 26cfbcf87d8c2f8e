"""The run of a gather-sum-apply iteration."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from millrace.common.errors import JobDefinitionError
from millrace.graph.elements import Vertex
from millrace.graph.graph_base import GraphBase
from millrace.graph.gsa.apply_function import ApplyFunction
from millrace.graph.gsa.batch_functions import BatchApplyFunction, BatchGatherFunction
from millrace.graph.gsa.gather_function import GatherFunction, Neighbor
from millrace.graph.gsa.gsa_configuration import GSAConfiguration
from millrace.graph.gsa.sum_function import SumFunction
from millrace.graph.iterations.batch_iteration_function import Combination
from millrace.graph.iterations.iteration_contexts import IterationDescription, user_failure
from millrace.graph.iterations.iteration_run import IterationRun, require_kind
from millrace.graph.iterations.object_messages import Inbox
from millrace.graph.iterations.vertex_program import VertexProgram
from millrace.graph.kernels.segments import entries
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition

__all__ = ["GatherSumApplyProgram", "run_gather_sum_apply"]

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

        return GatherSumApplyProgram(description, gather, sum_function, apply)  # type: ignore[arg-type]

    return run.result(program, broadcasts, settings.get_direction())


_GATHER, _SUM, _APPLY = "gather", "sum", "apply"


class GatherSumApplyProgram(VertexProgram):
    """Gathers values at the neighbours, sums them there and at the vertex, and applies the sum
    at the vertex."""

    state = (*VertexProgram.state, "changed")

    def __init__(
        self,
        description: IterationDescription,
        gather: GatherFunction[Any, Any, Any],
        sum_function: SumFunction[Any, Any, Any],
        apply: ApplyFunction[Any, Any, Any],
    ) -> None:
        super().__init__(description, {_GATHER: gather, _SUM: sum_function, _APPLY: apply})
        self.changed: list[int] = []

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        self.changed = list(range(partition.vertex_count))

    def superstep(self, number: int) -> bool:
        with self.contexts.superstep_of(number, _GATHER):
            self._gather(number)
        with self.contexts.superstep_of(number, _SUM):
            inbox = self.outbox.deliver(self._sum)
        with self.contexts.superstep_of(number, _APPLY):
            self.changed = [] if inbox is None else self._apply(number, inbox)
        self.contexts.aggregate(self.exchange)
        return bool(self.changed) and number < self.description.max_iterations

    def _gather(self, number: int) -> None:
        function: Any = self.functions[_GATHER]
        gather, values = function.gather, self.values
        edges, counts = entries(self.partition.offsets, np.array(self.changed, np.int64))
        sources = [own for own, n in zip(self.changed, counts.tolist(), strict=True) if n]
        edge_values = self.edge_values()
        neighbor: Neighbor[Any, Any] | None = None
        gathered = []
        try:
            position = iter(edges.tolist())
            for own, count in zip(sources, counts[counts > 0].tolist(), strict=True):
                value = values[own]
                for _ in range(count):
                    neighbor = Neighbor(value, edge_values[next(position)])
                    gathered.append(gather(neighbor))
        except Exception as error:
            place = f"{neighbor!r} in superstep {number}"
            raise user_failure(error, function, "gather", place) from error
        self.outbox.to_slots = (self.partition.targets[edges], gathered)

    def _sum(self, gathered: list[Any]) -> Any:
        function: Any = self.functions[_SUM]
        try:
            return reduce(function.sum, gathered)
        except Exception as error:
            place = f"the values {gathered!r:.200} in superstep {function.get_superstep_number()}"
            raise user_failure(error, function, "sum", place) from error

    def _apply(self, number: int, inbox: Inbox) -> list[int]:
        """Vertices whose value was set."""
        function: Any = self.functions[_APPLY]
        values, apply = self.values, function.apply
        set_vertices = []
        own = 0
        try:
            for own, summed in zip(inbox.vertices, inbox.messages, strict=True):
                new_value: list[Any] = []
                function._new_value = new_value
                apply(summed, values[own])
                if new_value:
                    values[own] = new_value[0]
                    set_vertices.append(own)
        except Exception as error:
            place = f"{Vertex(self.ids[own], values[own])!r} in superstep {number}"
            raise user_failure(error, function, "apply", place) from error
        return set_vertices
