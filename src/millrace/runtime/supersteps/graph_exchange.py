"""GraphExchange: the methods by which the tasks of a superstep program send values to each other.

All tasks call the same methods in the same order, as in MPI. A call returns when the messages of
all other tasks have arrived, so there is no barrier besides. Values are combined in the order of
tasks: a program gives the same results each time, also with floats.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from millrace.runtime.supersteps.graph_partition import Array, Combine, GraphPartition, combining
from millrace.runtime.supersteps.packed_columns import array_bytes, pack_columns, unpack_columns
from millrace.runtime.supersteps.task_transport import TaskTransport
from millrace.state.serialization.pickles import dump_pickle

__all__ = ["GraphExchange", "TaskExchange"]


class TaskExchange:
    """Methods of an exchange between tasks that need no graph.

    Args:
        transport: connections to the other tasks.
    """

    def __init__(self, transport: TaskTransport) -> None:
        self._transport = transport
        self.index = transport.index
        """Number of this task."""
        self.parallelism = transport.parallelism
        """Number of tasks."""

    def all_reduce(self, values: Any, combine: Combine = "sum") -> Any:
        """Combine a number, or an array, over all tasks. All tasks get the same result.

        Args:
            values: number or array, with the same type and shape in all tasks.
        """
        own = np.asarray(values)
        if self.parallelism == 1:
            return own[()]
        content = array_bytes(own)
        received = self._transport.swap("all_reduce", self._to_all([content]))
        received[self.index] = content
        parts = [np.frombuffer(part, own.dtype).reshape(own.shape) for part in received]
        total = parts[0]
        for part in parts[1:]:
            total = combining(combine)(total, part)
        return total.astype(own.dtype, copy=False)[()]

    def all_gather(self, value: Any) -> list[Any]:
        """The objects of all tasks, in the order of the tasks. The objects are pickled, so they
        should be small.
        """
        data = dump_pickle(value)
        received = self._transport.swap("all_gather", self._to_all([data]))
        received[self.index] = memoryview(data)
        return [pickle.loads(part) for part in received]

    def route(self, tasks: Array, *columns: Any) -> list[Any]:
        """Send rows to tasks. Returns the columns of the rows that have arrived: first the rows of
        task 0, in the order that they had there, then the rows of task 1, and so on.

        Args:
            tasks: number of the task to which each row goes.
            columns: arrays of NumPy or Arrow with a value for each row.
        """
        if self.parallelism == 1:
            return list(columns)
        order = np.argsort(tasks, kind="stable")
        bounds = np.searchsorted(tasks[order], np.arange(self.parallelism + 1))
        parts = [
            [taken(column, order[bounds[task] : bounds[task + 1]]) for column in columns]
            for task in range(self.parallelism)
        ]
        return self.swap_columns("route", parts)

    def swap_columns(self, call: str, parts: Sequence[Sequence[Any]]) -> list[Any]:
        """Exchange columns with all tasks. Returns the columns that have arrived, one task after
        the other.
        """
        received = self.swap_parts(call, parts)
        return [joined(pieces) for pieces in zip(*received, strict=True)]

    def swap_parts(self, call: str, parts: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Exchange columns with all tasks. Returns the columns from each task."""
        outgoing = [
            pack_columns(part) if task != self.index else [] for task, part in enumerate(parts)
        ]
        received = self._transport.swap(call, outgoing)
        return [
            unpack_columns(content) if task != self.index else list(parts[task])
            for task, content in enumerate(received)
        ]

    def _to_all(self, parts: list[Any]) -> list[list[Any]]:
        return [parts] * self.parallelism


class GraphExchange(TaskExchange):
    """The methods of a task that has a partition of a graph. See `superstep_program`.

    Args:
        transport: connections to the other tasks.
        partition: vertices and edges of this task.
    """

    def __init__(self, transport: TaskTransport, partition: GraphPartition) -> None:
        super().__init__(transport)
        self._partition = partition
        self._own = partition.vertex_count
        self._bounds = partition.ghost_offsets + self._own
        """Slots of the ghosts of each task."""
        self._mirrors = partition.mirrors

    def for_partition(self, partition: GraphPartition) -> GraphExchange:
        """The exchange of the same tasks for another partition, which has other edges of the same
        vertices.

        Args:
            partition: vertices and edges of this task, with ghosts on which the tasks have agreed.
        """
        return GraphExchange(self._transport, partition)

    def pull(self, values: Array) -> Array:
        """The values of all slots: a task's own values, and those of its ghosts, which are fetched
        from their owners.

        Args:
            values: a value (or a row) for each own vertex.
        """
        slots = np.empty((self._partition.slot_count, *values.shape[1:]), values.dtype)
        slots[: self._own] = values
        if self.parallelism > 1:
            outgoing = [[array_bytes(values[mirror])] for mirror in self._mirrors]
            incoming = [array_bytes(self._ghosts(slots, task)) for task in range(self.parallelism)]
            self._transport.swap("pull", outgoing, incoming)
        return slots

    def pull_changed(self, slots: Array, changed: Array) -> Array:
        """Bring the values of ghosts up to date, in place. Returns the slots of the ghosts whose
        values have changed. If only few values changed, only these are sent.

        Args:
            slots: a value for each slot, such as `pull` has returned; those of own vertices are
                up to date.
            changed: whether the value of each own vertex has changed.
        """
        if self.parallelism == 1:
            return np.empty(0, np.int64)
        parts = []
        for mirror in self._mirrors:
            positions = np.flatnonzero(changed[mirror]).astype(np.int32)
            parts.append((positions, slots[mirror[positions]]))
        received = self.swap_parts("pull_changed", parts)
        updated = []
        for task, (positions, values) in enumerate(received):
            if task != self.index and len(positions):
                at = self._bounds[task] + positions
                slots[at] = values
                updated.append(at)
        return np.concatenate(updated) if updated else np.empty(0, np.int64)

    def push(self, slots: Array, combine: Combine) -> Array:
        """Combine the values of slots at their owners: for each own vertex, the task's own value
        with the values that other tasks have for it.

        Args:
            slots: a value (or a row) for each slot, such as `GraphPartition.combine_at_targets`
                returns.
        """
        own = slots[: self._own].copy()
        if self.parallelism == 1:
            return own
        function = combining(combine)
        outgoing = [[array_bytes(self._ghosts(slots, task))] for task in range(self.parallelism)]
        received = self._transport.swap("push", outgoing)
        for task, content in enumerate(received):
            mirror = self._mirrors[task]
            if task != self.index and len(mirror):
                values = np.frombuffer(content, slots.dtype).reshape(-1, *slots.shape[1:])
                own[mirror] = function(own[mirror], values)
        return own

    def push_changed(self, slots: Array, changed: Array, combine: Combine) -> tuple[Array, Array]:
        """Like `push`, for values of some slots. If the slots are few, only their values are sent.

        Args:
            slots: a value for each slot.
            changed: whether the value of each slot counts.

        Returns:
            The combined value of each own vertex, and whether there is one. Where there is none,
            the value means nothing.
        """
        own, have = slots[: self._own].copy(), changed[: self._own].copy()
        if self.parallelism == 1:
            return own, have
        function = combining(combine)
        parts = []
        for task in range(self.parallelism):
            ghosts = self._ghosts(slots, task)
            positions = np.flatnonzero(self._ghosts(changed, task)).astype(np.int32)
            parts.append((positions, ghosts[positions]))
        for task, (positions, values) in enumerate(self.swap_parts("push_changed", parts)):
            if task == self.index or not len(positions):
                continue
            at = self._mirrors[task][positions]
            there = have[at]
            old = at[there]
            own[old] = function(own[old], values[there])
            own[at[~there]] = values[~there]
            have[at] = True
        return own, have

    def send(self, slots: Array, *columns: Any) -> list[Any]:
        """Send messages to the owners of slots; a slot may get any number of messages. Returns the
        own vertices that get messages, and the columns of these messages.

        Args:
            slots: slot to which each message goes.
            columns: arrays of NumPy or Arrow with a value for each message.
        """
        if self.parallelism == 1:
            return [slots, *columns]
        parts = [
            [places, *(taken(column, rows) for column in columns)]
            for rows, places in self.addressed(slots)
        ]
        received = self.swap_addressed("send", parts)
        return [joined(pieces) for pieces in zip(*received, strict=True)]

    def addressed(self, slots: Array) -> list[tuple[Array, Array]]:
        """The messages for each task: their positions in ``slots``, and their receivers' places at
        that task. `swap_addressed` sends them.
        """
        tasks = np.searchsorted(self._bounds[1:], slots, side="right")
        tasks[slots < self._own] = self.index
        order = np.argsort(tasks, kind="stable")
        bounds = np.searchsorted(tasks[order], np.arange(self.parallelism + 1))
        result = []
        for task in range(self.parallelism):
            rows = order[bounds[task] : bounds[task + 1]]
            first = 0 if task == self.index else self._bounds[task]
            result.append((rows, (slots[rows] - first).astype(np.int32)))
        return result

    def swap_addressed(self, call: str, parts: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Exchange columns with all tasks. The first column that is sent has the places of
        receivers (see `addressed`). In the result, it has own vertices instead.
        """
        received = self.swap_parts(call, parts)
        for task, part in enumerate(received):
            if task != self.index:
                part[0] = self._mirrors[task][part[0]]
        return received

    def _ghosts(self, slots: Array, task: int) -> Array:
        return slots[self._bounds[task] : self._bounds[task + 1]]


def taken(column: Any, rows: Array) -> Any:
    """The rows at some positions of a column of NumPy or Arrow."""
    if isinstance(column, np.ndarray):
        return column[rows]
    import pyarrow as pa

    return column.take(pa.array(rows))


def joined(pieces: Sequence[Any]) -> Any:
    """Columns of NumPy or Arrow, concatenated to one."""
    if isinstance(pieces[0], np.ndarray):
        return np.concatenate(pieces)
    import pyarrow as pa

    chunks = [chunk for piece in pieces for chunk in _chunks(piece)]
    return pa.chunked_array(chunks, pieces[0].type).combine_chunks()


def _chunks(column: Any) -> list[Any]:
    import pyarrow as pa

    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]
