"""Neighbourhoods of vertices per window of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.functions.base import WindowFunction
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.typeinfo import TypeInformation
from millrace.datastream.stream import DataStream
from millrace.datastream.windowed_stream import WindowedStream
from millrace.graph.elements import EdgeDirection
from millrace.graph.streams.edge_columns import SOURCE, TARGET, VALUE, changes_of
from millrace.runtime.operator import Operator

__all__ = ["EdgeWindows", "NeighboursOperator"]


class NeighboursOperator(Operator):
    """Makes tuples (vertex, neighbour, value) of added edges.

    Args:
        direction: edges that belong to a vertex.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, direction: EdgeDirection) -> None:
        self._direction = direction

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        added = batch.filter(pa.array(changes_of(batch) > 0))
        if not len(added):
            return
        data, times = added.data, added.timestamps
        has_value = VALUE in data.schema.names
        value = data.column(VALUE) if has_value else pa.nulls(len(data))
        parts = []
        if self._direction is not EdgeDirection.IN:
            parts.append([data.column(SOURCE), data.column(TARGET), value])
        if self._direction is not EdgeDirection.OUT:
            parts.append([data.column(TARGET), data.column(SOURCE), value])
        columns = [pa.concat_arrays(pieces) for pieces in zip(*parts, strict=True)]
        made = pa.RecordBatch.from_arrays(columns, ["f0", "f1", "f2"])
        if times is not None:
            times = pa.concat_arrays([times] * len(parts))
        if len(parts) == 2:  # both ends of an edge beside each other, in the order of time
            order = pa.array(np.arange(2 * len(data)).reshape(2, -1).T.reshape(-1))
            made = made.take(order)
            times = None if times is None else times.take(order)
        self.output.emit(ColumnBatch(made, times, None, "tuple"))


class EdgeWindows:
    """Edges that are added in a window of time, by vertex. A removal has no effect, because a
    window shows the additions within it.

    Made by `GraphStream.slice`. Gelly-streaming calls it ``SnapshotStream``.
    """

    def __init__(self, windows: WindowedStream[Any, Any, Any]) -> None:
        self._windows = windows

    def reduce_on_edges(
        self,
        func: Callable[[Any, Any], Any],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Tuples (vertex, value): values of a vertex' edges, combined two by two."""
        reduced = self._windows.reduce(partial(_combined, func))
        return reduced.map(_without_neighbour, output_type)

    def fold_neighbors(
        self,
        initial: Any,
        func: Callable[[Any, Any, Any, Any], Any],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Tuples (vertex, accumulator), with ``func(accumulator, vertex, neighbour, value)`` called
        for each edge, beginning with a copy of ``initial``."""
        return self._windows.apply(_Fold(initial, func), output_type)

    def apply_on_neighbors(
        self,
        func: Callable[[Any, list[tuple[Any, Any]]], Iterable[Any] | None],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Records that ``func(vertex, neighbours)`` returns or yields for each vertex; neighbours
        are pairs (neighbour, value)."""
        return self._windows.apply(_Apply(func), output_type)


def _combined(func: Callable[[Any, Any], Any], one: Any, two: Any) -> Any:
    return one[0], one[1], func(one[2], two[2])


def _without_neighbour(edge: Any) -> Any:
    return edge[0], edge[2]


class _Fold(WindowFunction[Any, Any, Any, Any]):
    def __init__(self, initial: Any, func: Callable[[Any, Any, Any, Any], Any]) -> None:
        self._initial, self._func = initial, func

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        accumulator = deepcopy(self._initial)
        for edge in inputs:
            accumulator = self._func(accumulator, *edge)
        return [(key, accumulator)]


class _Apply(WindowFunction[Any, Any, Any, Any]):
    def __init__(self, func: Callable[[Any, list[tuple[Any, Any]]], Iterable[Any] | None]) -> None:
        self._func = func

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any] | None:
        return self._func(key, [(edge[1], edge[2]) for edge in inputs])
