"""VertexCentricConfiguration: settings of a vertex-centric iteration."""

from __future__ import annotations

from typing import Any

from millrace.graph.iterations.iteration_configuration import IterationConfiguration

__all__ = ["VertexCentricConfiguration"]


class VertexCentricConfiguration(IterationConfiguration):
    """Settings of a vertex-centric iteration. Gelly: ``VertexCentricConfiguration``."""

    def __init__(self) -> None:
        super().__init__()
        self._broadcasts: dict[str, Any] = {}

    def add_broadcast_set(self, name: str, data: Any) -> None:
        """Let the compute function read all elements of a `DataSet`, DataFrame or collection."""
        self._broadcasts[name] = data

    def get_bcast_vars(self) -> dict[str, Any]:
        """The broadcast sets by name."""
        return self._broadcasts
