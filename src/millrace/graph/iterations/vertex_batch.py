"""Vertices, edges and messages of a task as columns, for functions on whole batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace.common.errors import JobExecutionError
from millrace.graph.kernels.segments import entries
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import (
    Array,
    Combine,
    GraphPartition,
    combining,
)

__all__ = ["BatchMessages", "CombinedMessages", "EdgeBatch", "VertexBatch", "fitting"]

Mask = npt.NDArray[np.bool_]


class VertexBatch:
    """The vertices of a task, in the order of their ids.

    Args:
        partition: vertices and edges of the task.
        values: value of each vertex.
    """

    def __init__(self, partition: GraphPartition, values: Array) -> None:
        self.ids = partition.ids
        """`pyarrow.Array` of the vertices' ids."""
        self.values = values
        """NumPy array of the vertices' values. `set_new_values` changes them, not an assignment to
        elements."""
        self.out_degrees = partition.out_degrees
        """Number of edges of each vertex in the direction of messages."""
        self.changed: Mask = np.zeros(len(values), bool)
        """Whether `set_new_values` has set the value of each vertex in this superstep."""

    def __len__(self) -> int:
        return len(self.values)

    def set_new_values(self, values: Array, changed: Mask | None = None) -> None:
        """Set values of vertices.

        Args:
            values: a value for each vertex.
            changed: whether each vertex gets its value; None for all.

        Raises:
            JobExecutionError: there is another number of values, or they do not fit the type of
                the graph's vertices, for example fractions among whole numbers.
        """
        values = np.asarray(values)
        self._require_length("values", values)
        if changed is None:
            self.values = fitting(values, self.values.dtype, self.ids)
            self.changed = np.ones(len(values), bool)
            return
        changed = np.asarray(changed, bool)
        self._require_length("changed", changed)
        new = self.values.copy()
        new[changed] = fitting(values[changed], new.dtype, self.ids, changed)
        self.values = new
        self.changed = self.changed | changed

    def _require_length(self, name: str, array: Array) -> None:
        if array.shape[:1] != (len(self.values),):
            raise JobExecutionError(
                f"set_new_values got {name} of shape {array.shape} for {len(self.values)} "
                "vertices: give one for each vertex"
            )


@dataclass(frozen=True, slots=True)
class EdgeBatch:
    """The edges of a task's vertices in the direction of messages, in the order of vertices."""

    sources: npt.NDArray[np.int32]
    """Position, in the `VertexBatch`, of the vertex from which a message along the edge goes."""
    values: Array | None
    """NumPy array of the edges' values; None if edges have none."""


@dataclass(frozen=True, slots=True)
class CombinedMessages:
    """The combined message of each vertex."""

    values: Array
    """A value for each vertex. It means nothing where ``received`` is False."""
    received: Mask
    """Whether each vertex has received messages."""


class BatchMessages:
    """Messages that are sent in a superstep, combined for each receiver.

    Args:
        partition: vertices and edges of the task.
        exchange: exchange with the other tasks.
        combine: how messages for the same vertex become one.
    """

    def __init__(
        self, partition: GraphPartition, exchange: GraphExchange, combine: Combine
    ) -> None:
        self._partition = partition
        self._exchange = exchange
        self._combine = combine
        self._slots: Array | None = None
        self._have: Mask = np.zeros(partition.slot_count, bool)

    def to_neighbors(self, values: Array, senders: Mask | None) -> None:
        """Send the value of each vertex along its edges."""
        graph = self._partition
        values = np.asarray(values)
        senders = None if senders is None else np.asarray(senders, bool)
        _require_count("send_to_all_neighbors", "vertices", values, graph.vertex_count)
        if senders is None or senders.all():
            self.to_targets(graph.targets, graph.to_edges(values))
            return
        _require_count("send_to_all_neighbors", "vertices", senders, graph.vertex_count)
        vertices = np.flatnonzero(senders)
        edges, counts = entries(graph.offsets, vertices)
        self.to_targets(graph.targets[edges], np.repeat(values[vertices], counts))

    def along_edges(self, values: Array, chosen: Mask | None) -> None:
        """Send a value along each edge."""
        graph = self._partition
        values = np.asarray(values)
        _require_count("send_along_edges", "edges", values, graph.edge_count)
        if chosen is None:
            self.to_targets(graph.targets, values)
            return
        chosen = np.asarray(chosen, bool)
        _require_count("send_along_edges", "edges", chosen, graph.edge_count)
        self.to_targets(graph.targets[chosen], values[chosen])

    def to_targets(self, targets: Array, values: Array) -> None:
        """Send values to slots, which may be own vertices or ghosts."""
        if not len(targets):
            return
        combining(self._combine).at(self._slots_for(values.dtype), targets, values)
        self._have[targets] = True

    def _slots_for(self, dtype: Any) -> Array:
        """Combined messages by slot, in a type that holds the earlier ones and those to come."""
        dtype = _combined_type(self._combine, dtype)
        earlier = self._slots
        if earlier is not None:
            dtype = np.result_type(earlier.dtype, dtype)
            if earlier.dtype == dtype:
                return earlier
        slots = np.full(self._partition.slot_count, _initial(self._combine, dtype), dtype)
        if earlier is not None:
            slots[self._have] = earlier[self._have]
        self._slots = slots
        return slots

    def deliver(self) -> CombinedMessages | None:
        """Send all messages. Returns the messages for the task's vertices, or None if no task has
        sent any. All tasks call this at the same time.
        """
        kinds = self._exchange.all_gather(None if self._slots is None else self._slots.dtype.str)
        sent = [kind for kind in kinds if kind is not None]
        if not sent:
            return None
        slots, have = self._slots, self._have
        common = np.result_type(*sent)
        if slots is None:
            slots = np.zeros(self._partition.slot_count, common)
        slots = slots.astype(common, copy=False)
        self._slots, self._have = None, np.zeros(self._partition.slot_count, bool)
        values, received = self._exchange.push_changed(slots, have, self._combine)
        return CombinedMessages(values, received)


def fitting(values: Array, dtype: Any, ids: Any, chosen: Mask | None = None) -> Array:
    """Values of vertices, converted to the type of the graph's vertices.

    Args:
        ids: `pyarrow.Array` of the vertices' ids.
        chosen: whether ``values`` has one for each vertex; None if it has one for all.

    Raises:
        JobExecutionError: a value does not fit the type.
    """
    if np.can_cast(values.dtype, dtype, "safe"):
        return values.astype(dtype)
    if np.can_cast(values.dtype, dtype, "same_kind"):
        cast: Array = values.astype(dtype)
        if dtype.kind not in "iu" or np.array_equal(cast, values):
            return cast
        first = int(np.argmax(cast != values))
    elif not len(values):
        return values.astype(dtype)
    else:
        first = 0
    place = first if chosen is None else int(np.flatnonzero(chosen)[first])
    raise JobExecutionError(
        f"the value {values[first]} ({values.dtype}) of the vertex {ids[place].as_py()!r} does not "
        f"fit the type of the graph's vertices ({dtype}): set values of this type, or name another "
        "in the parameter vertex_type"
    )


def _combined_type(combine: Combine, dtype: Any) -> Any:
    """Type of combined messages: sums of truth values and small integers need a wider one."""
    if combine == "sum" and dtype.kind in "biu":
        return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    return dtype


def _initial(combine: Combine, dtype: Any) -> Any:
    """Value that changes nothing when others combine with it."""
    if combine == "sum":
        return 0
    kind = np.dtype(dtype).kind
    if kind == "f":
        return np.inf if combine == "min" else -np.inf
    if kind == "b":
        return combine == "min"
    limits = np.iinfo(dtype)
    return limits.max if combine == "min" else limits.min


def _require_count(method: str, things: str, array: Array, count: int) -> None:
    if array.shape != (count,):
        raise JobExecutionError(
            f"{method} got an array of shape {array.shape} for {count} {things}: give one value "
            "for each"
        )
