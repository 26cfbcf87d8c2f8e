"""IterationConfiguration: the settings that the three models of iteration share.

Flink docs: Gelly, "Iterative Graph Processing".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.graph.data_set import DataSet
from millrace.graph.iterations.aggregators import Aggregator

__all__ = ["IterationConfiguration", "broadcast_rows", "checked_checkpoints"]


class IterationConfiguration:
    """Settings of an iteration on a graph. Gelly: ``IterationConfiguration``."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._parallelism = -1
        self._aggregators: dict[str, Aggregator[Any]] = {}
        self._unmanaged = False
        self._number_of_vertices = False
        self._checkpoints: tuple[str, int | None, float | None] | None = None
        self._restarts = 10

    def set_name(self, name: str) -> None:
        """Set the name for messages and Spark's pages."""
        self._name = name

    def get_name(self, default_name: str) -> str:
        """The name; ``default_name`` if none has been set."""
        return default_name if self._name is None else self._name

    def set_parallelism(self, parallelism: int) -> None:
        """Set the number of tasks, all of which must find a slot; -1 for one per core.

        Raises:
            JobDefinitionError: it is neither positive nor -1.
        """
        if parallelism < 1 and parallelism != -1:
            raise JobDefinitionError(
                f"the parallelism of an iteration is at least one, or -1 for one task per core, "
                f"not {parallelism}"
            )
        self._parallelism = parallelism

    def get_parallelism(self) -> int:
        """Number of tasks; -1 if none has been set."""
        return self._parallelism

    def set_solution_set_unmanaged_memory(self, unmanaged: bool) -> None:
        """Accepted for programs of Gelly: the vertices of a task are in its memory anyway."""
        self._unmanaged = unmanaged

    def is_solution_set_unmanaged_memory(self) -> bool:
        """Whether the program has asked for unmanaged memory. It changes nothing."""
        return self._unmanaged

    def set_opt_num_vertices(self, opt_num_vertices: bool) -> None:
        """Set whether functions learn the number of vertices (`get_number_of_vertices`)."""
        self._number_of_vertices = opt_num_vertices

    def is_opt_num_vertices(self) -> bool:
        """Whether functions learn the number of vertices."""
        return self._number_of_vertices

    def register_aggregator(self, name: str, aggregator: Aggregator[Any]) -> None:
        """Register an aggregator, to which functions add values by its name."""
        self._aggregators[name] = aggregator

    def get_aggregators(self) -> dict[str, Aggregator[Any]]:
        """The registered aggregators by name."""
        return self._aggregators

    def enable_checkpoints(
        self, directory: str, supersteps: int | None = None, seconds: float | None = 10.0
    ) -> None:
        """Make checkpoints between supersteps. If a process is lost, or the program is started
        again with the same graph, the iteration continues from the newest checkpoint.

        Args:
            directory: path or URI that the driver and all workers reach, for this run alone.
            supersteps: number of supersteps between two checkpoints. None for any number.
            seconds: seconds between two checkpoints. None for any time.

        Raises:
            JobDefinitionError: both are None, or one is not positive.
        """
        self._checkpoints = checked_checkpoints(directory, supersteps, seconds)

    def get_checkpoints(self) -> tuple[str, int | None, float | None] | None:
        """Directory, supersteps and seconds of checkpoints; None if there are none."""
        return self._checkpoints

    def set_restarts(self, restarts: int) -> None:
        """Set the maximum number of repetitions after the loss of a process; 10 by default."""
        self._restarts = restarts

    def get_restarts(self) -> int:
        """Number of repetitions after the loss of a process."""
        return self._restarts


def checked_checkpoints(
    directory: str, supersteps: int | None, seconds: float | None
) -> tuple[str, int | None, float | None]:
    """Directory, supersteps and seconds of checkpoints.

    Raises:
        JobDefinitionError: both numbers are None, or one is not positive.
    """
    if supersteps is None and seconds is None:
        raise JobDefinitionError("checkpoints need a number of supersteps or of seconds")
    if (supersteps is not None and supersteps < 1) or (seconds is not None and seconds <= 0):
        raise JobDefinitionError(
            f"supersteps ({supersteps}) and seconds ({seconds}) between checkpoints must be "
            "positive"
        )
    return directory, supersteps, seconds


def broadcast_rows(data: Any) -> list[Any]:
    """The elements of a broadcast set: of a `DataSet`, of a Spark DataFrame (tuples of its rows),
    or of a collection."""
    if isinstance(data, DataSet):
        return data.collect()
    if hasattr(data, "toArrow"):
        return DataSet(data, tuple).collect()
    if isinstance(data, Iterable):
        return list(data)
    raise JobDefinitionError(
        f"a broadcast set is a DataSet, a DataFrame or a collection, not {type(data).__name__}"
    )
