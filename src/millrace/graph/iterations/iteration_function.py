"""IterationFunction: values and methods that functions of all models have in a superstep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.graph.iterations.aggregators import Aggregator

__all__ = ["IterationFunction", "SuperstepContext"]


@dataclass
class SuperstepContext:
    """Values of the running superstep in a task."""

    number: int = 0
    """Number of the superstep, from 1."""
    number_of_vertices: int = -1
    """Number of vertices of the graph; -1 unless the configuration asks for it."""
    aggregators: Mapping[str, Aggregator[Any]] = field(default_factory=dict)
    previous: dict[str, Any] = field(default_factory=dict)
    """Aggregates of the superstep before, by name."""
    broadcasts: Mapping[str, list[Any]] = field(default_factory=dict)


class IterationFunction:
    """Base of the functions of an iteration. Each task has its own copy of a function. Values
    that a function keeps in its fields between supersteps are not part of checkpoints, so they
    belong in vertices or aggregators."""

    _context = SuperstepContext()

    def pre_superstep(self) -> None:
        """Called in each task before the vertices of a superstep."""

    def post_superstep(self) -> None:
        """Called in each task after the vertices of a superstep."""

    def get_superstep_number(self) -> int:
        """Number of the superstep, from 1."""
        return self._context.number

    def get_number_of_vertices(self) -> int:
        """Number of vertices of the graph; -1 unless `set_opt_num_vertices` is set."""
        return self._context.number_of_vertices

    def get_iteration_aggregator(self, name: str) -> Any:
        """The aggregator that is registered under the given name, to add values; None if there is
        none."""
        return self._context.aggregators.get(name)

    def get_previous_iteration_aggregate(self, name: str) -> Any:
        """The aggregate of all vertices in the previous superstep; None in the first superstep."""
        return self._context.previous.get(name)

    def get_broadcast_set(self, name: str) -> list[Any]:
        """The elements of a broadcast set.

        Raises:
            KeyError: no set has this name.
        """
        try:
            return self._context.broadcasts[name]
        except KeyError:
            names = ", ".join(map(repr, self._context.broadcasts)) or "none"
            raise KeyError(
                f"there is no broadcast set {name!r} for this function; there are: {names}"
            ) from None
