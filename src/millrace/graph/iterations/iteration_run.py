"""`IterationRun`: an iteration on a graph, common to vertex-centric, scatter-gather and
gather-sum-apply iterations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.graph.column_type import PICKLED, declared_column_type
from millrace.graph.elements import EdgeDirection
from millrace.graph.graph_base import GraphBase
from millrace.graph.iterations.iteration_configuration import (
    IterationConfiguration,
    broadcast_rows,
)
from millrace.graph.iterations.iteration_contexts import IterationDescription

__all__ = ["IterationRun", "require_kind"]


class IterationRun:
    """An iteration on a graph.

    Args:
        graph: the graph.
        configuration: settings; None for the defaults.
        max_iterations: number of supersteps after which the iteration ends.
        vertex_type: type of the vertices' values after the iteration; None for the graph's.
        default_name: name of the iteration if the configuration gives none.

    Raises:
        JobDefinitionError: the maximum is not positive.
    """

    def __init__(
        self,
        graph: GraphBase[Any, Any, Any],
        configuration: IterationConfiguration | None,
        max_iterations: int,
        vertex_type: Any,
        default_name: str,
    ) -> None:
        if max_iterations < 1:
            raise JobDefinitionError(
                f"the maximum number of iterations must be at least one, not {max_iterations}"
            )
        self._graph = graph
        self._settings = configuration or IterationConfiguration()
        self._max_iterations = max_iterations
        self._name = self._settings.get_name(default_name)
        if vertex_type is not None:
            self._type = declared_column_type(vertex_type)
        else:
            # vertices without values may get any
            self._type = PICKLED if graph.vertex_type.is_null else graph.vertex_type

    def result(
        self,
        program: Callable[[IterationDescription], Any],
        broadcasts: Mapping[str, Mapping[str, Any]],
        direction: EdgeDirection = EdgeDirection.OUT,
        degrees: bool = False,
    ) -> Any:
        """The graph with the vertices' new values. Spark computes them now.

        Args:
            program: makes the superstep program of a task.
            broadcasts: broadcast sets of each function.
        """
        import pyarrow as pa

        from millrace.runtime.supersteps.superstep_checkpoints import CheckpointPolicy
        from millrace.spark.graphs.frames import arrow_schema_of
        from millrace.spark.graphs.superstep_job import (
            SuperstepSettings,
            edges_in_direction,
            run_supersteps_on_spark,
        )

        graph, settings = self._graph, self._settings
        description = IterationDescription(
            graph.id_type,
            graph.vertex_type,
            self._type,
            graph.edge_type,
            self._max_iterations,
            direction,
            settings.get_aggregators(),
            {
                function: {name: broadcast_rows(data) for name, data in sets.items()}
                for function, sets in broadcasts.items()
            },
            settings.is_opt_num_vertices(),
            degrees,
        )
        checkpoints = settings.get_checkpoints()
        parallelism = settings.get_parallelism()
        frame = run_supersteps_on_spark(
            graph.vertices,
            edges_in_direction(graph.edges, direction.value),
            lambda: program(description),
            pa.schema(
                [arrow_schema_of(graph.vertices).field("id"), pa.field("value", self._type.arrow)]
            ),
            SuperstepSettings(
                self._name,
                parallelism if parallelism > 0 else None,
                None if checkpoints is None else CheckpointPolicy(*checkpoints),
                settings.get_restarts(),
            ),
        )
        return graph._with(vertices=frame, vertex_type=self._type)


def require_kind(method: str, **functions: tuple[object, tuple[type, ...]]) -> None:
    """Check that each function has one of the classes allowed for it.

    Raises:
        JobDefinitionError: one is not; the message names the classes.
    """
    for name, (function, kinds) in functions.items():
        if not isinstance(function, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise JobDefinitionError(
                f"{method} needs a {names} as {name}, not {type(function).__qualname__}"
            )
