"""GraphPartition: the vertices of one task and their out-edges, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Combine", "GraphPartition", "combining"]

Array = npt.NDArray[Any]
Combine = Literal["sum", "min", "max", "or", "and"]
"""Function that makes one value of all values for a vertex."""

_COMBINING: dict[str, np.ufunc] = {
    "sum": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "or": np.logical_or,
    "and": np.logical_and,
}


def combining(combine: Combine) -> np.ufunc:
    """The NumPy function for ``combine``, which combines two arrays."""
    return _COMBINING[combine]


@dataclass(frozen=True, eq=False)
class GraphPartition:
    """The vertices that one task owns, in the order of their ids, and their out-edges.

    An edge's target is a *slot*. Slots 0 to ``vertex_count - 1`` are the task's own vertices. The
    slots after them are its *ghosts*: vertices of other tasks to which its edges lead, in the
    order of their tasks and ids. An array *of slots* has a value for each of both.
    """

    index: int
    """Number of the task."""
    parallelism: int
    """Number of tasks."""
    ids: Any
    """`pyarrow.Array` of the ids of the own vertices, ascending."""
    vertex_values: Any
    """`pyarrow.Array` of the values of the own vertices. None if vertices have no values."""
    offsets: npt.NDArray[np.int64]
    """Position of the first out-edge of each own vertex, and the number of edges at the end."""
    targets: npt.NDArray[np.int32]
    """Slot of the target of each edge. Edges are in the order of sources, then targets."""
    edge_values: Any
    """`pyarrow.Array` of the values of the edges. None if edges have no values."""
    ghost_ids: Any
    """`pyarrow.Array` of the ids of the ghosts."""
    ghost_offsets: npt.NDArray[np.int64]
    """Number of ghosts that tasks before each task own, and the number of ghosts at the end."""
    mirrors: tuple[npt.NDArray[np.int32], ...]
    """For each other task, the own vertices that are its ghosts, in its order."""
    total_vertices: int
    """Number of vertices of all tasks."""
    total_edges: int
    """Number of edges of all tasks."""

    @property
    def vertex_count(self) -> int:
        """Number of own vertices."""
        return len(self.offsets) - 1

    @property
    def slot_count(self) -> int:
        """Number of slots: own vertices and ghosts."""
        return self.vertex_count + int(self.ghost_offsets[-1])

    @property
    def edge_count(self) -> int:
        """Number of out-edges of own vertices."""
        return len(self.targets)

    @cached_property
    def out_degrees(self) -> npt.NDArray[np.int64]:
        """Number of out-edges of each own vertex."""
        return np.diff(self.offsets)

    @cached_property
    def sources(self) -> npt.NDArray[np.int32]:
        """For each edge, the own vertex from which it leads."""
        return self.to_edges(np.arange(self.vertex_count, dtype=np.int32))

    @cached_property
    def slot_ids(self) -> Any:
        """`pyarrow.Array` of the ids of all slots."""
        import pyarrow as pa

        return pa.concat_arrays([self.ids, self.ghost_ids])

    def to_edges(self, values: Array) -> Array:
        """For each edge, the value of its source.

        Args:
            values: a value for each own vertex.
        """
        return np.repeat(values, self.out_degrees, axis=0)

    def combine_at_targets(self, values: Array, combine: Combine, initial: Any) -> Array:
        """The values of edges, combined for each slot over the edges that lead to it.
        `GraphExchange.push` passes the results for ghosts to their owners.

        Args:
            values: a value for each edge.
            initial: value of a slot to which no edge leads, and with which the others combine.
        """
        shape = (self.slot_count, *values.shape[1:])
        if combine == "sum" and values.dtype == np.float64 and values.ndim == 1:
            summed = np.bincount(self.targets, weights=values, minlength=self.slot_count)
            summed = summed.astype(np.float64, copy=False)  # without edges it is of integers
            return summed if initial == 0 else summed + initial
        combined = np.full(shape, initial, dtype=values.dtype)
        combining(combine).at(combined, self.targets, values)
        return combined

    def combine_at_sources(self, values: Array, combine: Combine, initial: Any) -> Array:
        """The values of edges, combined for each own vertex over the edges that lead from it.

        Args:
            values: a value for each edge.
            initial: value of a vertex without edges, and with which the others combine.
        """
        combined = np.full((self.vertex_count, *values.shape[1:]), initial, dtype=values.dtype)
        having = np.flatnonzero(self.out_degrees)
        if len(having):
            function = combining(combine)
            reduced = function.reduceat(values, self.offsets[having], axis=0)
            combined[having] = function(combined[having], reduced)
        return combined
