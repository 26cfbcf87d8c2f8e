"""PartitionBuilder: makes a task's GraphPartition from the vertices and edges that it receives.

Ids stay in Arrow's memory, whatever their type: each becomes a slot by one look-up in a hash table.
Which ghosts a task has is agreed once with their owners, so that values travel without ids.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobExecutionError
from millrace.runtime.supersteps.graph_exchange import TaskExchange
from millrace.runtime.supersteps.graph_partition import Array, GraphPartition
from millrace.runtime.supersteps.task_transport import TaskTransport

__all__ = ["PartitionBuilder"]

_SLOT_BITS = 32


class PartitionBuilder:
    """Collects vertices and edges in chunks.

    Args:
        transport: connections to the other tasks.
        id_type: `pyarrow.DataType` of ids.
        vertex_type: type of the vertices' values; None if they have none.
        edge_type: type of the edges' values; None if they have none.
    """

    def __init__(
        self, transport: TaskTransport, id_type: Any, vertex_type: Any = None, edge_type: Any = None
    ) -> None:
        self._transport = transport
        self._id_type = id_type
        self._vertex_type = vertex_type
        self._edge_type = edge_type
        self._ids: list[Any] = []
        self._vertex_values: list[Any] = []
        self._sources: list[Any] = []
        self._targets: list[Any] = []
        self._owners: list[npt.NDArray[np.int32]] = []
        self._edge_values: list[Any] = []

    def add_vertices(self, ids: Any, values: Any = None) -> None:
        """Add vertices of this task.

        Args:
            ids: `pyarrow.Array` of ids.
            values: `pyarrow.Array` of values; None if vertices have no values.
        """
        self._ids.append(ids)
        if self._vertex_type is not None:
            self._vertex_values.append(values)

    def add_edges(self, sources: Any, targets: Any, owners: Array, values: Any = None) -> None:
        """Add edges whose sources are vertices of this task.

        Args:
            sources: `pyarrow.Array` of ids.
            targets: `pyarrow.Array` of ids.
            owners: number of the task that has each target.
            values: `pyarrow.Array` of values; None if edges have no values.
        """
        self._sources.append(sources)
        self._targets.append(targets)
        self._owners.append(owners.astype(np.int32, copy=False))
        if self._edge_type is not None:
            self._edge_values.append(values)

    def build(self) -> GraphPartition:
        """The partition. All tasks call this at the same time.

        Raises:
            JobExecutionError: an id is null, occurs twice, or an edge leads to no vertex.
        """
        exchange = TaskExchange(self._transport)
        ids, vertex_values = self._sorted_vertices()
        sources = _indexes(_taken_chunks(self._sources, self._id_type), ids, "source")
        target_ids = _taken_chunks(self._targets, self._id_type)
        if target_ids.null_count:
            raise JobExecutionError("the target of an edge is null: filter the edges")
        owners = np.concatenate(self._owners) if self._owners else np.empty(0, np.int32)
        self._owners.clear()
        targets, ghost_ids, ghost_offsets = self._targets_of(target_ids, owners, ids)
        del target_ids, owners
        mirrors = self._agree(exchange, ghost_ids, ghost_offsets, ids)
        edge_values = None
        if self._edge_type is not None:
            edge_values = _taken_chunks(self._edge_values, self._edge_type)
        offsets, targets, edge_values = _by_source(sources, targets, edge_values, len(ids))
        totals = exchange.all_reduce(np.array([len(ids), len(targets)], np.int64))
        return GraphPartition(
            self._transport.index,
            self._transport.parallelism,
            ids,
            vertex_values,
            offsets,
            targets,
            edge_values,
            ghost_ids,
            ghost_offsets,
            mirrors,
            int(totals[0]),
            int(totals[1]),
        )

    def _sorted_vertices(self) -> tuple[Any, Any]:
        ids = _taken_chunks(self._ids, self._id_type)
        if ids.null_count:
            raise JobExecutionError("the id of a vertex is null: filter the vertices")
        order = pc.sort_indices(ids)
        ids = ids.take(order)
        if len(ids) > 1:
            same = pc.equal(ids[1:], ids[:-1])
            if pc.any(same).as_py():
                twice = ids[pc.index(same, True).as_py()].as_py()
                raise JobExecutionError(
                    f"vertex {twice!r} occurs more than once: give each vertex one row"
                )
        if self._vertex_type is None:
            return ids, None
        values = _taken_chunks(self._vertex_values, self._vertex_type).take(order)
        return ids, values

    def _targets_of(self, target_ids: Any, owners: Array, ids: Any) -> tuple[Array, Any, Array]:
        """Slots of targets, ids of ghosts, and the number of ghosts before each task."""
        encoded = target_ids.dictionary_encode()
        codes = _numpy(encoded.indices)
        distinct = encoded.dictionary
        owner_of_code = np.empty(len(distinct), np.int32)
        owner_of_code[codes] = owners
        own, parallelism = self._transport.index, self._transport.parallelism
        slot_of_code = np.empty(len(distinct), np.int32)
        here = np.flatnonzero(owner_of_code == own)
        slot_of_code[here] = _indexes(distinct.take(pa.array(here)), ids, "target")
        ghosts, counts, count = [], np.zeros(parallelism + 1, np.int64), len(ids)
        for task in range(parallelism):
            there = np.flatnonzero(owner_of_code == task) if task != own else here[:0]
            ghost_ids = distinct.take(pa.array(there))
            order = _numpy(pc.sort_indices(ghost_ids))
            slot_of_code[there[order]] = np.arange(count, count + len(there), dtype=np.int32)
            ghosts.append(ghost_ids.take(pa.array(order)))
            count += len(there)
            counts[task + 1] = counts[task] + len(there)
        return slot_of_code[codes], pa.concat_arrays(ghosts), counts

    def _agree(
        self, exchange: TaskExchange, ghost_ids: Any, ghost_offsets: Array, ids: Any
    ) -> tuple[npt.NDArray[np.int32], ...]:
        """Own vertices that are ghosts of each other task."""
        bounds = [int(bound) for bound in ghost_offsets]
        wanted = [[ghost_ids[low:high]] for low, high in pairwise(bounds)]
        received = exchange.swap_parts("ghosts", wanted)
        return tuple(_indexes(part[0], ids, "target") for part in received)


def _by_source(
    sources: Array, targets: Array, values: Any, vertices: int
) -> tuple[Array, Array, Any]:
    """Edges in the order of sources, then targets: offsets, targets and values."""
    counts = np.bincount(sources, minlength=vertices)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    keys = sources.astype(np.int64)
    keys <<= _SLOT_BITS
    keys |= targets
    if values is None:
        keys.sort()
    else:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        values = values.take(pa.array(order))
    return offsets, (keys & (2**_SLOT_BITS - 1)).astype(np.int32), values


def _indexes(wanted: Any, ids: Any, end: str) -> npt.NDArray[np.int32]:
    """Positions of ids among those of the own vertices."""
    indexes = pc.index_in(wanted, value_set=ids)
    if indexes.null_count:
        missing = wanted[pc.index(pc.is_null(indexes), True).as_py()].as_py()
        raise JobExecutionError(
            f"{missing!r} is the {end} of an edge, but no vertex: add the vertex, or remove the "
            "edge (`Graph.validate` finds them all)"
        )
    return _numpy(indexes)


def _numpy(array: Any) -> Array:
    converted: Array = array.to_numpy(zero_copy_only=False)
    return converted


def _taken_chunks(chunks: list[Any], column_type: Any) -> Any:
    """The chunks as one array. They are removed from the list, so that their memory is free."""
    flat = [
        part
        for chunk in chunks
        for part in (chunk.chunks if isinstance(chunk, pa.ChunkedArray) else [chunk])
    ]
    chunks.clear()
    if any(part.type != column_type for part in flat):
        flat = [part.cast(column_type) for part in flat]
    return pa.concat_arrays(flat) if flat else pa.array([], column_type)
