"""GSAConfiguration: settings of a gather-sum-apply iteration."""

from __future__ import annotations

from typing import Any

from millrace.graph.elements import EdgeDirection
from millrace.graph.iterations.iteration_configuration import IterationConfiguration

__all__ = ["GSAConfiguration"]


class GSAConfiguration(IterationConfiguration):
    """Settings of a gather-sum-apply iteration. Gelly: ``GSAConfiguration``."""

    def __init__(self) -> None:
        super().__init__()
        self._gather: dict[str, Any] = {}
        self._sum: dict[str, Any] = {}
        self._apply: dict[str, Any] = {}
        self._direction = EdgeDirection.OUT

    def add_broadcast_set_for_gather_function(self, name: str, data: Any) -> None:
        """Let the gather function read all elements of a `DataSet`, DataFrame or collection."""
        self._gather[name] = data

    def add_broadcast_set_for_sum_function(self, name: str, data: Any) -> None:
        """Let the sum function read all elements of a `DataSet`, DataFrame or collection."""
        self._sum[name] = data

    def add_broadcast_set_for_apply_function(self, name: str, data: Any) -> None:
        """Let the apply function read all elements of a `DataSet`, DataFrame or collection."""
        self._apply[name] = data

    def get_gather_bcast_vars(self) -> dict[str, Any]:
        """The broadcast sets of the gather function by name."""
        return self._gather

    def get_sum_bcast_vars(self) -> dict[str, Any]:
        """The broadcast sets of the sum function by name."""
        return self._sum

    def get_apply_bcast_vars(self) -> dict[str, Any]:
        """The broadcast sets of the apply function by name."""
        return self._apply

    def set_direction(self, direction: EdgeDirection) -> None:
        """Set the neighbours from which a vertex gathers: by default (``OUT``), the sources of
        the edges that end at it, so that values go along edges; with ``IN``, the targets of the
        edges that begin at it."""
        self._direction = direction

    def get_direction(self) -> EdgeDirection:
        """The direction of edges along which values go."""
        return self._direction
