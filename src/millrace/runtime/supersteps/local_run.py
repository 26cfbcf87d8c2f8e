"""`run_local`: runs a superstep program on a graph in this process, without Spark and sockets.
Messages pass between threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobExecutionError
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import Array, GraphPartition
from millrace.runtime.supersteps.partition_builder import PartitionBuilder
from millrace.runtime.supersteps.superstep_checkpoints import SuperstepCheckpoints
from millrace.runtime.supersteps.superstep_loop import result_table, run_supersteps
from millrace.runtime.supersteps.superstep_program import SuperstepProgram
from millrace.runtime.supersteps.task_transport import (
    Parts,
    PeerFailedError,
    TaskTransport,
    require_same_call,
)

__all__ = ["LocalTransport", "graph_tables", "local_partition", "run_local", "run_tasks"]


def run_local(
    program: Callable[[], SuperstepProgram],
    vertices: Any,
    edges: Any,
    parallelism: int = 1,
    checkpoints: Callable[[int], SuperstepCheckpoints] | None = None,
) -> Any:
    """The result of a program, as a `pyarrow.Table`: the rows of task 0, then those of task 1...

    Args:
        program: makes the program of each task, such as its class.
        vertices: `pyarrow.Table` with a column ``id``, and perhaps ``value``.
        edges: `pyarrow.Table` with columns ``source`` and ``target``, and perhaps ``value``.
        parallelism: number of tasks, which are threads.
        checkpoints: makes the storage of a task's snapshots; None for none.
    """
    owners = _Owners(vertices["id"], parallelism)

    def task(transport: TaskTransport) -> Any:
        partition = local_partition(transport, vertices, edges, owners)
        running, exchange = program(), GraphExchange(transport, partition)
        storage = checkpoints(transport.index) if checkpoints is not None else None
        run_supersteps(running, partition, exchange, storage)
        return result_table(running)

    return pa.concat_tables(run_tasks(task, LocalTransport.of_tasks(parallelism)))


def run_tasks(
    task: Callable[[TaskTransport], Any], transports: Sequence[TaskTransport]
) -> list[Any]:
    """Call a function for each transport, in threads at the same time; returns the results.

    Raises:
        BaseException: the first error of a task.
    """
    results: list[Any] = [None] * len(transports)
    errors: list[BaseException] = []

    def run(transport: TaskTransport) -> None:
        try:
            results[transport.index] = task(transport)
        except BaseException as error:
            errors.append(error)
        finally:
            transport.abort()  # a task that waits for one that has ended waits for ever

    threads = [Thread(target=run, args=(transport,), daemon=True) for transport in transports[1:]]
    for thread in threads:
        thread.start()
    run(transports[0])
    for thread in threads:
        thread.join()
    errors.sort(key=lambda error: isinstance(error, PeerFailedError))
    if errors:
        raise errors[0]
    return results


class _Owners:
    """The task that owns each vertex: vertices in the order of their ids go to the tasks in
    turn."""

    def __init__(self, ids: Any, parallelism: int) -> None:
        distinct = pc.unique(ids)
        self._ids = distinct.take(pc.sort_indices(distinct))
        self._parallelism = parallelism

    def of(self, ids: Any) -> Array:
        """Number of the task that owns each vertex. An unknown vertex counts as one of task 0."""
        positions = pc.fill_null(pc.index_in(ids, value_set=self._ids), 0)
        owners: Array = positions.to_numpy().astype(np.int32) % self._parallelism
        return owners


def local_partition(
    transport: TaskTransport, vertices: Any, edges: Any, owners: _Owners | None = None
) -> GraphPartition:
    """A task's partition of a graph that is in this process. All tasks call this at the same
    time."""
    owners = owners or _Owners(vertices["id"], transport.parallelism)
    vertices = vertices.filter(pa.array(owners.of(vertices["id"]) == transport.index))
    edges = edges.filter(pa.array(owners.of(edges["source"]) == transport.index))
    types = [
        table.schema.field("value").type if "value" in table.column_names else None
        for table in (vertices, edges)
    ]
    builder = PartitionBuilder(transport, vertices.schema.field("id").type, *types)
    builder.add_vertices(vertices["id"], _values(vertices))
    owners_of_targets = owners.of(edges["target"])
    builder.add_edges(edges["source"], edges["target"], owners_of_targets, _values(edges))
    return builder.build()


def _values(table: Any) -> Any:
    return table["value"] if "value" in table.column_names else None


def graph_tables(edges: Sequence[tuple[Any, ...]], vertices: Sequence[Any] = ()) -> tuple[Any, Any]:
    """The tables of a small graph. Vertices are the ends of edges and those in ``vertices``.

    Args:
        edges: pairs of ids, or triples with a value.
        vertices: ids of further vertices.

    Raises:
        JobExecutionError: some edges have a value, and others have none.
    """
    widths = {len(edge) for edge in edges}
    if len(widths) > 1:
        raise JobExecutionError("some edges have a value, and others have none")
    ids = dict.fromkeys([*vertices, *(end for edge in edges for end in edge[:2])])
    id_column = pa.array(list(ids)) if ids else pa.array([], pa.int64())
    columns = {
        "source": pa.array([edge[0] for edge in edges], id_column.type),
        "target": pa.array([edge[1] for edge in edges], id_column.type),
    }
    if widths == {3}:
        columns["value"] = pa.array([edge[2] for edge in edges])
    return pa.table({"id": id_column}), pa.table(columns)


_Message = tuple[str, bytes] | None
"""Call and content; None if the sender has ended."""


class LocalTransport:
    """Messages between threads. Messages are copied, because the sender reuses its arrays.

    Args:
        index: number of the task.
        queues: queue from each task (first index) to each task (second index).
    """

    def __init__(self, index: int, queues: Sequence[Sequence[SimpleQueue[_Message]]]) -> None:
        self.index = index
        self.parallelism = len(queues)
        self._queues = queues

    @classmethod
    def of_tasks(cls, parallelism: int) -> list[LocalTransport]:
        """Transports of ``parallelism`` tasks that reach each other."""
        queues: list[list[SimpleQueue[_Message]]] = [
            [SimpleQueue() for _ in range(parallelism)] for _ in range(parallelism)
        ]
        return [cls(index, queues) for index in range(parallelism)]

    def swap(
        self, call: str, outgoing: Sequence[Parts], incoming: Sequence[Any] | None = None
    ) -> list[memoryview]:
        """Send a message to each other task, and receive one from each."""
        for other in range(self.parallelism):
            if other != self.index:
                message = b"".join(memoryview(part).cast("B") for part in outgoing[other])
                self._queues[self.index][other].put((call, message))
        received = []
        for other in range(self.parallelism):
            if other == self.index:
                received.append(memoryview(b""))
                continue
            message_of_other = self._queues[other][self.index].get()
            if message_of_other is None:
                raise PeerFailedError(f"task {other} has failed, or ended before this one")
            other_call, content = message_of_other
            require_same_call(call, self.index, other_call, other)
            view = memoryview(content)
            if incoming is not None:
                memoryview(incoming[other]).cast("B")[:] = view
            received.append(view)
        return received

    def abort(self) -> None:
        """Tell the other tasks that this task has ended."""
        for other in range(self.parallelism):
            self._queues[self.index][other].put(None)

    def close(self) -> None:
        """Do nothing: there are no connections."""
