"""`IterationContexts`: the functions of an iteration in one task, and the superstep context of each
function."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from millrace.common.errors import UserFunctionError
from millrace.graph.column_type import ColumnType
from millrace.graph.elements import EdgeDirection
from millrace.graph.iterations.aggregators import Aggregator
from millrace.graph.iterations.iteration_function import IterationFunction, SuperstepContext
from millrace.runtime.failure import describe_failure
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition

__all__ = ["IterationContexts", "IterationDescription", "user_failure"]


@dataclass(frozen=True, slots=True)
class IterationDescription:
    """Description of an iteration that each task receives."""

    ids: ColumnType
    input_values: ColumnType
    """Type of the vertices' values before the iteration."""
    values: ColumnType
    """Type of the vertices' values after it."""
    edge_values: ColumnType
    max_iterations: int
    direction: EdgeDirection = EdgeDirection.OUT
    aggregators: Mapping[str, Aggregator[Any]] = field(default_factory=dict)
    broadcasts: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    """Broadcast sets of each function."""
    number_of_vertices: bool = False
    degrees: bool = False


class IterationContexts:
    """Copies of an iteration's functions, their contexts, and the aggregators.

    Args:
        description: the iteration.
        functions: the user's functions by name. They are copied, because tasks may be threads.
    """

    def __init__(
        self, description: IterationDescription, functions: Mapping[str, IterationFunction]
    ) -> None:
        self._description = description
        self.functions: Mapping[str, Any] = copy.deepcopy(dict(functions))
        self._aggregators = copy.deepcopy(dict(description.aggregators))
        for held in self._aggregators.values():
            held.reset()
        self.previous: dict[str, Any] = {}
        """Aggregates of the superstep before."""

    def start(self, partition: GraphPartition) -> None:
        """Give each function its context, before the first superstep."""
        description = self._description
        for name, function in self.functions.items():
            function._context = SuperstepContext(
                number_of_vertices=partition.total_vertices
                if description.number_of_vertices
                else -1,
                aggregators=self._aggregators,
                broadcasts=description.broadcasts.get(name, {}),
            )

    @contextmanager
    def superstep_of(self, number: int, name: str) -> Iterator[None]:
        """Run the block as a superstep of a function: `pre_superstep` is called before it, and
        `post_superstep` after it.
        """
        function = self.functions[name]
        context: SuperstepContext = function._context
        context.number, context.previous = number, self.previous
        self._call(function, "pre_superstep")
        yield
        self._call(function, "post_superstep")

    def _call(self, function: Any, method: str) -> None:
        try:
            getattr(function, method)()
        except Exception as error:
            place = f"superstep {function._context.number}"
            raise user_failure(error, function, method, place) from error

    def aggregate(self, exchange: GraphExchange) -> None:
        """Combine the aggregates of all tasks, for the next superstep. All tasks call this at the
        same time."""
        if not self._aggregators:
            return
        own = {name: held.get_aggregate() for name, held in self._aggregators.items()}
        gathered = exchange.all_gather(own)
        previous = {}
        for name, held in self._aggregators.items():
            held.reset()
            for part in gathered:
                held.aggregate(part[name])
            previous[name] = held.get_aggregate()
            held.reset()
        self.previous = previous


def user_failure(error: Exception, function: object, method: str, place: str) -> UserFunctionError:
    """Error of a user's function, with the vertex and the superstep in which it failed.

    Args:
        place: text that names the vertex and the superstep.
    """
    if isinstance(error, UserFunctionError):
        return error
    operator = f"{type(function).__qualname__}.{method}"
    return UserFunctionError(operator, place, describe_failure(error, operator).user_traceback)
