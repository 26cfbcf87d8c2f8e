"""Bases of the library's algorithms that run as superstep programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any, Generic, Self, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.graph.column_type import ColumnType, column_type_of_arrow
from millrace.graph.data_set import DataSet
from millrace.graph.elements import Vertex
from millrace.graph.graph import Graph
from millrace.graph.iterations.iteration_configuration import checked_checkpoints
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["RowsAlgorithm", "SuperstepAlgorithm"]

R = TypeVar("R")
_SETTINGS = ("parallelism", "checkpoints", "restarts")
_PLAIN = (bool, int, float, str)
"""Types whose values have the same text in each process."""

Columns = dict[str, ColumnType | str]
"""Columns of a result by name: a `ColumnType`, or the name of an Arrow type."""


class SuperstepAlgorithm(ABC, Generic[R]):
    """An algorithm for ``graph.run``, which runs in all tasks at the same time."""

    compares_vertex_values = False
    """Whether the program reads the values of vertices, and compares them."""
    reads_edge_values = False
    """Whether the program reads the values of edges."""
    parallelism: int | None = None
    """Number of tasks; None for one per core."""
    checkpoints: tuple[str, int | None, float | None] | None = None
    """Directory, supersteps and seconds of checkpoints; None if there are none."""
    restarts = 10
    """Number of repetitions after the loss of a process."""

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the number of tasks, and return the algorithm. By default there is one task per core;
        each needs a slot of the Spark application."""
        self.parallelism = at_least_one(parallelism, "parallelism")
        return self

    def enable_checkpoints(
        self, directory: str, supersteps: int | None = None, seconds: float | None = 10.0
    ) -> Self:
        """Let the algorithm make checkpoints between supersteps, and return the algorithm. If a
        process is lost, or the program is started again with the same graph and parameters, the
        algorithm goes on from the newest checkpoint.

        Args:
            directory: path or URI that the driver and all workers reach, for this run alone.
            supersteps: number of supersteps between two checkpoints. None for any number.
            seconds: seconds between two checkpoints. None for any time.

        Raises:
            JobDefinitionError: both numbers are None, or one is not positive.
        """
        self.checkpoints = checked_checkpoints(directory, supersteps, seconds)
        return self

    def set_restarts(self, restarts: int) -> Self:
        """Set how often the algorithm is repeated after the loss of a process (10 times by
        default), and return the algorithm."""
        self.restarts = restarts
        return self

    @abstractmethod
    def columns(self, ids: Any, values: Any) -> Columns:
        """Columns of the program's result.

        Args:
            ids: type of ids.
            values: type of vertices' values; None if they have none, or if the program does not
                read them.
        """

    @abstractmethod
    def program(self) -> SuperstepProgram:
        """The program of one task."""

    def program_for(self, graph: Graph[Any, Any, Any]) -> Callable[[], SuperstepProgram]:
        """Function that makes the program of one task for a graph."""
        return self.program

    @abstractmethod
    def finished(self, graph: Graph[Any, Any, Any], rows: DataSet[Any]) -> R:
        """Result of the algorithm, made from the program's result."""

    def prepared_edges(self) -> Callable[[Iterator[Any]], Iterator[Any]] | None:
        """Function that maps the edges of each partition of Spark before they go to their tasks;
        None if the algorithm needs them as they are. It is not called if there are checkpoints,
        whose edges must be the same in each run."""
        return None

    def _parameters(self) -> str:
        """The algorithm's parameters, by which its checkpoints are known again."""
        return ", ".join(
            f"{name.lstrip('_')}={value!r}"
            for name, value in sorted(vars(self).items())
            if name not in _SETTINGS and (value is None or isinstance(value, _PLAIN))
        )

    def run(self, graph: Graph[Any, Any, Any]) -> R:
        """Run the algorithm now. Spark keeps its result, in memory or on disk.

        Args:
            graph: the graph.

        Raises:
            JobDefinitionError: ids or values are of a type with which the algorithm cannot work.
            JobExecutionError: an edge has an end that is no vertex, or there are too few slots.
        """
        import pyarrow as pa

        from millrace.runtime.supersteps.superstep_checkpoints import CheckpointPolicy
        from millrace.spark.graphs.superstep_job import SuperstepSettings, run_supersteps_on_spark

        name = type(self).__name__
        policy = None
        if self.checkpoints is not None:
            policy = CheckpointPolicy(*self.checkpoints, self._parameters())
        has_values = self.compares_vertex_values and not graph.vertex_type.is_null
        if has_values and graph.vertex_type.is_pickled:
            raise JobDefinitionError(
                f"{name} compares the values of vertices, but these have no type: give "
                "map_vertices a value_type, or annotate its function"
            )
        vertices, edges = graph.vertices, graph.edges
        if not has_values:
            vertices = vertices.select("id")
        if not self.reads_edge_values or graph.edge_type.is_null:
            edges = edges.select("source", "target")
        columns = self.columns(graph.id_type, graph.vertex_type if has_values else None)
        types = tuple(map(_column_type, columns.values()))
        frame = run_supersteps_on_spark(
            vertices,
            edges,
            self.program_for(graph),
            pa.schema([(name, kind.arrow) for name, kind in zip(columns, types, strict=True)]),
            SuperstepSettings(name, self.parallelism, policy, self.restarts),
            self.prepared_edges() if policy is None else None,
        )
        return self.finished(graph, DataSet(frame, _row(name, tuple(columns)), types))


class RowsAlgorithm(SuperstepAlgorithm[DataSet[Any]]):
    """An algorithm whose result is rows."""

    def finished(self, graph: Graph[Any, Any, Any], rows: DataSet[Any]) -> DataSet[Any]:
        """The rows of the result."""
        return rows


def _column_type(kind: ColumnType | str) -> ColumnType:
    import pyarrow as pa

    if isinstance(kind, ColumnType):
        return kind
    return column_type_of_arrow(pa.type_for_alias(kind))


def _row(name: str, columns: tuple[str, ...]) -> Callable[..., Any]:
    """Class of a result's rows."""
    return Vertex if columns == Vertex._fields else namedtuple(f"{name}Row", columns)


def at_least_one(number: int | None, name: str) -> int | None:
    """The parameter, after a check that it is at least 1.

    Raises:
        JobDefinitionError: it is less than 1.
    """
    if number is not None and number < 1:
        raise JobDefinitionError(f"{name} is {number}: it must be at least 1")
    return number


def between_zero_and_one(number: float, name: str) -> float:
    """The parameter, after a check that it is between 0 and 1, both excluded.

    Raises:
        JobDefinitionError: it is not greater than 0 and less than 1.
    """
    if not 0 < number < 1:
        raise JobDefinitionError(f"{name} is {number}: it must be greater than 0 and less than 1")
    return number


def require_an_end(
    name: str, max_iterations: int | None, convergence_threshold: float | None
) -> None:
    """Check that an iterative algorithm has a limit or a threshold that ends it.

    Raises:
        JobDefinitionError: there is neither a limit nor a threshold, or the threshold is not
            positive.
    """
    if max_iterations is None and convergence_threshold is None:
        raise JobDefinitionError(
            f"{name} has no end: set max_iterations, convergence_threshold, or both"
        )
    if convergence_threshold is not None and not convergence_threshold > 0:
        raise JobDefinitionError(
            f"convergence_threshold is {convergence_threshold}: it must be greater than 0"
        )
