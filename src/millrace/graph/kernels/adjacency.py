"""Views of a partition with edges other than its out-edges: the edges that end at its vertices, or
the distinct neighbours in either direction. A view is a `GraphPartition` with its own ghosts.

A vertex has a *number* that is unique in the graph: its index on its task times the parallelism,
plus the number of the task.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobDefinitionError
from millrace.graph.kernels.segments import Array, offsets_of, runs
from millrace.runtime.supersteps.graph_exchange import GraphExchange, taken
from millrace.runtime.supersteps.graph_partition import GraphPartition

OUT, IN = 1, 2
"""Bits of the directions in which edges between two vertices lead."""
_BITS = 32


class AdjacencyView:
    """A task's vertices with edges other than their out-edges, and the exchange with the tasks that
    have the other ends.

    Args:
        partition: the vertices.
        exchange: of the partition.
        vertices: own vertex of each edge.
        numbers: number of the vertex at the edge's other end.
        values: a value for each edge, or None.
    """

    def __init__(
        self,
        partition: GraphPartition,
        exchange: GraphExchange,
        vertices: Array,
        numbers: Array,
        values: Array | None,
    ) -> None:
        own, parallelism = partition.vertex_count, partition.parallelism
        ghosts, tasks, indexes = _ghosts(numbers, partition.index, parallelism)
        received = exchange.swap_parts("view", [[known] for known in ghosts])
        bounds = offsets_of(np.array([len(known) for known in ghosts]))
        slots = _slots(tasks, indexes, ghosts, bounds, own, partition.index)
        keys = vertices.astype(np.int64) << _BITS | slots
        if values is None:
            keys.sort()
        else:
            order = np.argsort(keys, kind="stable")
            keys, values = keys[order], values[order]
        self.partition = GraphPartition(
            partition.index,
            parallelism,
            partition.ids,
            partition.vertex_values,
            offsets_of(np.bincount(vertices, minlength=own)),
            (keys & (1 << _BITS) - 1).astype(np.int32),
            values,
            None,
            bounds,
            tuple(mirror.astype(np.int32) for (mirror,) in received),
            partition.total_vertices,
            partition.total_edges,
        )
        self.exchange = exchange.for_partition(self.partition)

    @property
    def edge_values(self) -> Array:
        """Value of each edge of the view."""
        values: Array = self.partition.edge_values
        return values

    def pull_column(self, column: Any) -> Any:
        """Arrow array of the values of all slots."""
        parts = [[column.take(pa.array(mirror))] for mirror in self.partition.mirrors]
        received = self.exchange.swap_parts("pull_column", parts)
        return pa.concat_arrays([column, *(part for (part,) in received)])


def numbers_of(partition: GraphPartition) -> npt.NDArray[np.int64]:
    """Numbers of the vertices that a task owns."""
    return numbered(partition.vertex_count, partition)


def numbered(count: int, partition: GraphPartition) -> npt.NDArray[np.int64]:
    """Numbers, unique in the graph, for ``count`` objects of a task, such as its vertices."""
    return np.arange(count) * partition.parallelism + partition.index


def in_edges(
    partition: GraphPartition,
    exchange: GraphExchange,
    values: Array | None = None,
    both: bool = False,
) -> AdjacencyView:
    """View with the edges that end at own vertices, parallel edges one by one.

    Args:
        values: a value for each out-edge of the partition, which its reverse has in the view.
        both: whether the view has the out-edges, too.
    """
    numbers = numbers_of(partition)
    columns = [partition.to_edges(numbers), *([] if values is None else [values])]
    vertices, others, *rest = exchange.send(partition.targets, *columns)
    if both:
        vertices = np.concatenate([vertices, partition.sources])
        others = np.concatenate([others, exchange.pull(numbers)[partition.targets]])
        rest = [np.concatenate([column, values]) for column in rest if values is not None]
    return AdjacencyView(partition, exchange, vertices, others, rest[0] if rest else None)


def distinct_neighbours(partition: GraphPartition, exchange: GraphExchange) -> AdjacencyView:
    """View with an edge to each distinct neighbour in either direction, and no self-loops. Values
    are the bits ``OUT`` and ``IN``.
    """
    numbers = numbers_of(partition)
    targets = exchange.pull(numbers)[partition.targets]
    out_keys = _flagged(partition.sources, targets, OUT, numbers)
    vertices, others = exchange.send(partition.targets, partition.to_edges(numbers))
    keys = np.concatenate([out_keys, _flagged(vertices, others, IN, numbers)])
    keys.sort()
    starts = runs(keys >> 2)
    bits = (keys & 3).astype(np.uint8)
    if len(starts):
        bits = np.bitwise_or.reduceat(bits, starts)
    keys = keys[starts] >> 2
    return AdjacencyView(partition, exchange, keys >> _BITS, keys & (1 << _BITS) - 1, bits)


def edge_weights(
    partition: GraphPartition, algorithm: str, *, negative: bool = True, infinite: bool = False
) -> npt.NDArray[np.float64]:
    """Values of edges as numbers; 1 for each if edges have none.

    Args:
        algorithm: name of the algorithm in messages.
        negative: whether numbers below 0 are allowed.
        infinite: whether a value may be infinite.

    Raises:
        JobDefinitionError: values are no numbers, or one of them is missing, NaN or not allowed.
    """
    column = partition.edge_values
    if column is None or pa.types.is_null(column.type):
        return np.ones(partition.edge_count)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise JobDefinitionError(
            f"{algorithm} adds up the values of edges, but these are of type {kind}: map the edges "
            "to numbers first (`graph.map_edges`)"
        )
    if column.null_count:
        raise JobDefinitionError(
            f"{algorithm} adds up the values of edges, but one of them is None: replace it first"
        )
    weights = np.asarray(pc.cast(column, pa.float64()), dtype=np.float64)
    is_refused = np.isnan(weights) | np.isneginf(weights)
    if not infinite:
        is_refused |= np.isposinf(weights)
    if not negative:
        is_refused |= weights < 0
    if is_refused.any():
        edge = int(np.argmax(is_refused))
        source = partition.ids[int(partition.sources[edge])].as_py()
        target = partition.slot_ids[int(partition.targets[edge])].as_py()
        raise JobDefinitionError(
            f"{algorithm} cannot work with the value {weights[edge]} of the edge from {source!r} "
            f"to {target!r}: remove such edges with a filter, or map them to other values "
            "(`graph.map_edges`)"
        )
    return weights


def fetch(numbers: Array, columns: list[Any], exchange: GraphExchange) -> list[Any]:
    """Values of vertices of all tasks, by number.

    Args:
        numbers: of the vertices, with repetitions.
        columns: arrays of NumPy or Arrow with a value for each own vertex.

    Returns:
        the columns with a value for each number.
    """
    parallelism = exchange.parallelism
    wanted, places = np.unique(numbers, return_inverse=True)
    order = np.argsort(wanted % parallelism, kind="stable")
    asked = wanted[order]
    bounds = np.searchsorted(asked % parallelism, np.arange(parallelism + 1))
    requests = exchange.swap_parts(
        "fetch",
        [[asked[low:high] // parallelism] for low, high in itertools.pairwise(bounds)],
    )
    replies = exchange.swap_columns(
        "fetched", [[taken(column, indexes) for column in columns] for (indexes,) in requests]
    )
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    return [taken(column, back[places]) for column in replies]


def _ghosts(numbers: Array, index: int, parallelism: int) -> tuple[list[Array], Array, Array]:
    """Ascending indexes of the vertices of each other task among these numbers; and the task and
    the index of each number."""
    if parallelism == 1:
        return [np.zeros(0, dtype=np.int64)], np.zeros(0, dtype=np.int64), numbers
    indexes = numbers // parallelism
    tasks = numbers - indexes * parallelism
    ghosts = []
    for task in range(parallelism):
        is_known = np.zeros(int(indexes.max(initial=-1)) + 1, dtype=bool)
        if task != index:
            is_known[indexes[tasks == task]] = True
        ghosts.append(np.flatnonzero(is_known))
    return ghosts, tasks, indexes


def _slots(
    tasks: Array, indexes: Array, ghosts: list[Array], bounds: Array, own: int, index: int
) -> Array:
    """The slot of each vertex, by its task and its index there."""
    if len(ghosts) == 1:
        return indexes
    slots = np.empty(len(indexes), dtype=np.int64)
    for task, known in enumerate(ghosts):
        here = np.flatnonzero(tasks == task)
        if task == index:
            slots[here] = indexes[here]
        elif len(here):
            slot_of_index = np.empty(int(known[-1]) + 1, dtype=np.int64)
            slot_of_index[known] = np.arange(len(known)) + own + bounds[task]
            slots[here] = slot_of_index[indexes[here]]
    return slots


def _flagged(vertices: Array, others: Array, bit: int, numbers: Array) -> npt.NDArray[np.int64]:
    """Sortable keys of vertex, neighbour and direction, without self-loops."""
    is_other = others != numbers[vertices]
    keys = vertices[is_other].astype(np.int64) << _BITS | others[is_other]
    return np.asarray(keys << 2 | bit)
