"""Programs of the three models of iteration with functions on whole batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.graph.column_type import ColumnType
from millrace.graph.iterations.iteration_contexts import IterationDescription, user_failure
from millrace.graph.iterations.iteration_function import IterationFunction
from millrace.graph.iterations.iteration_program import IterationProgram
from millrace.graph.iterations.vertex_batch import (
    BatchMessages,
    CombinedMessages,
    EdgeBatch,
    VertexBatch,
    fitting,
)
from millrace.graph.kernels.segments import entries
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import Array, Combine, GraphPartition

__all__ = ["BatchGatherSumApplyProgram", "BatchScatterGatherProgram", "BatchVertexCentricProgram"]

_COMPUTE, _SCATTER, _GATHER, _APPLY = "compute", "scatter", "gather", "apply"


class _BatchProgram(IterationProgram):
    """Base of these programs: values of vertices are a NumPy array, and messages are combined."""

    state: ClassVar[tuple[str, ...]] = ("values", "changed", "previous")
    values: Array
    changed: Array

    def __init__(
        self,
        description: IterationDescription,
        functions: Mapping[str, IterationFunction],
        combine: Combine,
    ) -> None:
        super().__init__(description, functions)
        self.combine: Combine = combine

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        if partition.vertex_values is None:
            self.values = np.zeros(partition.vertex_count, _number_type(self.description.values))
        else:
            values = _numbers(partition.vertex_values, "vertices")
            self.values = fitting(values, _number_type(self.description.values), partition.ids)
        self.changed = np.ones(partition.vertex_count, bool)
        self.edges = EdgeBatch(partition.sources, self._edge_values())
        self.messages = BatchMessages(partition, exchange, self.combine)
        self.contexts.start(partition)

    def _edge_values(self) -> Array | None:
        column = self.edge_value_column()
        return None if column is None else _numbers(column, "edges")

    def _call(self, number: int, name: str, method: str, *arguments: Any) -> Any:
        """Call a function of the user in a superstep."""
        function = self.functions[name]
        with self.contexts.superstep_of(number, name):
            try:
                return getattr(function, method)(*arguments)
            except Exception as error:
                place = f"the {len(self.values)} vertices of a task in superstep {number}"
                raise user_failure(error, function, method, place) from error

    def _update(self, call: Callable[[VertexBatch], None]) -> None:
        """Let a function set values."""
        batch = VertexBatch(self.partition, self.values)
        call(batch)
        self.values, self.changed = batch.values, batch.changed

    def result(self) -> Any:
        return {"id": self.partition.ids, "value": self.values}


class BatchVertexCentricProgram(_BatchProgram):
    """Calls a compute function with the vertices and their messages."""

    state = (*_BatchProgram.state, "inbox")

    def __init__(self, description: IterationDescription, function: Any) -> None:
        super().__init__(description, {_COMPUTE: function}, function.combine)

    def start(self, partition: GraphPartition, exchange: GraphExchange) -> None:
        super().start(partition, exchange)
        nothing = np.zeros(partition.vertex_count, bool)
        self.inbox: CombinedMessages | None = CombinedMessages(np.zeros_like(self.values), nothing)

    def superstep(self, number: int) -> bool:
        function = self.functions[_COMPUTE]
        function.edges, function._messages = self.edges, self.messages
        self._update(lambda batch: self._call(number, _COMPUTE, "compute", batch, self.inbox))
        self.inbox = self.messages.deliver()
        self.contexts.aggregate(self.exchange)
        return self.inbox is not None and number < self.description.max_iterations


class BatchScatterGatherProgram(_BatchProgram):
    """Calls a scatter function, then a gather function."""

    def __init__(self, description: IterationDescription, scatter: Any, gather: Any) -> None:
        super().__init__(description, {_SCATTER: scatter, _GATHER: gather}, scatter.combine)

    def superstep(self, number: int) -> bool:
        scatter = self.functions[_SCATTER]
        scatter.edges, scatter._messages = self.edges, self.messages
        batch = VertexBatch(self.partition, self.values)
        self._call(number, _SCATTER, "send_messages", batch, self.changed)
        inbox = self.messages.deliver()
        if inbox is None:
            self.changed = np.zeros(len(self.values), bool)
        else:
            received = inbox
            self._update(
                lambda batch: self._call(number, _GATHER, "update_vertices", batch, received)
            )
        self.contexts.aggregate(self.exchange)
        return bool(self.changed.any()) and number < self.description.max_iterations


class BatchGatherSumApplyProgram(_BatchProgram):
    """Calls a gather function for edges of changed vertices, then an apply function."""

    def __init__(
        self, description: IterationDescription, gather: Any, combine: Combine, apply: Any
    ) -> None:
        super().__init__(description, {_GATHER: gather, _APPLY: apply}, combine)

    def superstep(self, number: int) -> bool:
        edge_values = self.edges.values
        if self.changed.all():
            chosen: Any = slice(None)
        else:
            chosen, _ = entries(self.partition.offsets, np.flatnonzero(self.changed))
        neighbors = self.values[self.edges.sources[chosen]]
        weights = None if edge_values is None else edge_values[chosen]
        gathered = np.asarray(self._call(number, _GATHER, "gather", neighbors, weights))
        if gathered.shape != neighbors.shape:
            raise JobExecutionError(
                f"{type(self.functions[_GATHER]).__qualname__}.gather returned an array of shape "
                f"{gathered.shape} for {len(neighbors)} edges: return one value for each"
            )
        self.messages.to_targets(self.partition.targets[chosen], gathered)
        inbox = self.messages.deliver()
        if inbox is None:
            self.changed = np.zeros(len(self.values), bool)
        else:
            sums = inbox
            self._update(lambda batch: self._call(number, _APPLY, "apply", batch, sums))
        self.contexts.aggregate(self.exchange)
        return bool(self.changed.any()) and number < self.description.max_iterations


def _number_type(column_type: ColumnType) -> Any:
    """NumPy type of the vertices' values after the iteration.

    Raises:
        JobDefinitionError: values of the type are no numbers.
    """
    import pyarrow as pa

    kind = column_type.arrow
    if not pa.types.is_primitive(kind):
        raise JobDefinitionError(
            "functions on whole batches set values of vertices that are numbers, but these "
            f"would be of type {column_type}: set the parameter vertex_type to a type of "
            "numbers, for example vertex_type=float"
        )
    return pa.array([], kind).to_numpy(zero_copy_only=False).dtype


def _numbers(column: Any, things: str) -> Array:
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_primitive(kind) or pa.types.is_boolean(kind)) or column.null_count:
        actual = f"{column.null_count} nulls" if column.null_count else f"type {kind}"
        raise JobExecutionError(
            f"functions on whole batches need values of {things} that are numbers, but the "
            f"values are {actual}: map the values first, or use a function of single vertices"
        )
    numbers: Array = column.to_numpy(zero_copy_only=False)
    return numbers
