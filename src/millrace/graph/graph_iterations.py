"""`GraphIterations`: the three models of iteration, as methods of a graph.

Flink docs: Gelly, "Iterative Graph Processing".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from millrace.graph.graph_base import GraphBase

if TYPE_CHECKING:
    from millrace.graph import gsa, pregel, spargel
    from millrace.graph.iterations.batch_iteration_function import Combination

__all__ = ["GraphIterations"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")


class GraphIterations(GraphBase[K, VV, EV]):
    """Iterations, each a Spark job whose tasks hold the graph and exchange messages."""

    def run_vertex_centric_iteration(
        self,
        compute_function: pregel.ComputeFunction[K, Any, EV, Any] | pregel.BatchComputeFunction,
        combiner: pregel.MessageCombiner[Any] | None,
        max_iterations: int,
        parameters: pregel.VertexCentricConfiguration | None = None,
        *,
        vertex_type: Any = None,
    ) -> Any:
        """The graph after a vertex-centric iteration (Pregel). Spark computes it now.

        Args:
            compute_function: called for each vertex that has messages, in the first superstep for
                all; a `BatchComputeFunction` is called for all vertices of a task at once.
            combiner: makes one message of several ones for the same vertex. None for none.
            max_iterations: number of supersteps after which the iteration ends.
            parameters: settings.
            vertex_type: type of the vertices' values after the iteration; None for the present
                type.

        Raises:
            UserFunctionError: a function failed; the message has the vertex and the superstep.
            JobExecutionError: there are too few slots, or processes are lost again and again.
        """
        from millrace.graph.pregel.vertex_centric_iteration import run_vertex_centric

        return run_vertex_centric(
            self, compute_function, combiner, max_iterations, parameters, vertex_type
        )

    def run_scatter_gather_iteration(
        self,
        scatter_function: spargel.ScatterFunction[K, Any, Any, EV] | spargel.BatchScatterFunction,
        gather_function: spargel.GatherFunction[K, Any, Any] | spargel.BatchGatherFunction,
        max_iterations: int,
        parameters: spargel.ScatterGatherConfiguration | None = None,
        *,
        vertex_type: Any = None,
    ) -> Any:
        """The graph after a scatter-gather iteration. Spark computes it now.

        Args:
            scatter_function: sends messages of vertices that have changed.
            gather_function: updates vertices that have messages.
            max_iterations: number of supersteps after which the iteration ends.
            parameters: settings.
            vertex_type: type of the vertices' values after the iteration; None for the present
                type.

        Raises:
            UserFunctionError: a function failed; the message has the vertex and the superstep.
            JobExecutionError: there are too few slots, or processes are lost again and again.
        """
        from millrace.graph.spargel.scatter_gather_iteration import run_scatter_gather

        return run_scatter_gather(
            self, scatter_function, gather_function, max_iterations, parameters, vertex_type
        )

    def run_gather_sum_apply_iteration(
        self,
        gather_function: gsa.GatherFunction[Any, EV, Any] | gsa.BatchGatherFunction,
        sum_function: gsa.SumFunction[Any, EV, Any] | Combination,
        apply_function: gsa.ApplyFunction[K, Any, Any] | gsa.BatchApplyFunction,
        max_iterations: int,
        parameters: gsa.GSAConfiguration | None = None,
        *,
        vertex_type: Any = None,
    ) -> Any:
        """The graph after a gather-sum-apply iteration. Spark computes it now.

        Args:
            gather_function: makes a value of a changed neighbour and the edge to it.
            sum_function: makes one value of two; "sum", "min" or "max" for functions on batches.
            apply_function: updates vertices for which something was gathered.
            max_iterations: number of supersteps after which the iteration ends.
            parameters: settings.
            vertex_type: type of the vertices' values after the iteration; None for the present
                type.

        Raises:
            UserFunctionError: a function failed; the message has the vertex and the superstep.
            JobExecutionError: there are too few slots, or processes are lost again and again.
        """
        from millrace.graph.gsa.gather_sum_apply_iteration import run_gather_sum_apply

        return run_gather_sum_apply(
            self,
            gather_function,
            sum_function,
            apply_function,
            max_iterations,
            parameters,
            vertex_type,
        )
