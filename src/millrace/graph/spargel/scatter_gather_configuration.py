"""ScatterGatherConfiguration: settings of a scatter-gather iteration."""

from __future__ import annotations

from typing import Any

from millrace.graph.elements import EdgeDirection
from millrace.graph.iterations.iteration_configuration import IterationConfiguration

__all__ = ["ScatterGatherConfiguration"]


class ScatterGatherConfiguration(IterationConfiguration):
    """Settings of a scatter-gather iteration. Gelly: ``ScatterGatherConfiguration``."""

    def __init__(self) -> None:
        super().__init__()
        self._scatter: dict[str, Any] = {}
        self._gather: dict[str, Any] = {}
        self._degrees = False
        self._direction = EdgeDirection.OUT

    def add_broadcast_set_for_scatter_function(self, name: str, data: Any) -> None:
        """Let the scatter function read all elements of a `DataSet`, DataFrame or collection."""
        self._scatter[name] = data

    def add_broadcast_set_for_gather_function(self, name: str, data: Any) -> None:
        """Let the gather function read all elements of a `DataSet`, DataFrame or collection."""
        self._gather[name] = data

    def get_scatter_bcast_vars(self) -> dict[str, Any]:
        """The broadcast sets of the scatter function by name."""
        return self._scatter

    def get_gather_bcast_vars(self) -> dict[str, Any]:
        """The broadcast sets of the gather function by name."""
        return self._gather

    def set_opt_degrees(self, opt_degrees: bool) -> None:
        """Set whether functions learn the degrees of their vertices."""
        self._degrees = opt_degrees

    def is_opt_degrees(self) -> bool:
        """Whether functions learn the degrees of their vertices."""
        return self._degrees

    def set_direction(self, direction: EdgeDirection) -> None:
        """Set the edges along which messages go: out-edges by default; with ``IN``, from the target
        of an edge to its source."""
        self._direction = direction

    def get_direction(self) -> EdgeDirection:
        """The direction of edges along which messages go."""
        return self._direction
