"""IterationProgram: base of the programs of all models of iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.graph.elements import EdgeDirection
from millrace.graph.iterations.iteration_contexts import IterationContexts, IterationDescription
from millrace.graph.iterations.iteration_function import IterationFunction
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["IterationProgram"]


class IterationProgram(SuperstepProgram):
    """The functions of an iteration with their contexts, and the aggregators.

    Args:
        description: the iteration.
        functions: the user's functions by name; each task works with copies.
    """

    def __init__(
        self, description: IterationDescription, functions: Mapping[str, IterationFunction]
    ) -> None:
        self.description = description
        self.contexts = IterationContexts(description, functions)
        self.functions = self.contexts.functions

    @property
    def previous(self) -> dict[str, Any]:
        """Aggregates of the previous superstep."""
        return self.contexts.previous

    @previous.setter
    def previous(self, aggregates: dict[str, Any]) -> None:
        self.contexts.previous = aggregates

    def edge_value_column(self) -> Any:
        """Column of the edges' values; None if they have none."""
        column = self.partition.edge_values
        if column is None or self.description.direction != EdgeDirection.ALL:
            return column
        # both directions of each edge, with a mark (`iteration_run`)
        names = [field.name for field in column.type]
        return column.field("value") if "value" in names else None
