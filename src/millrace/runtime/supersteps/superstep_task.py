"""SuperstepTask: a task of a graph job from its input to its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from millrace.common.errors import MillraceError, UserFunctionError
from millrace.runtime.failure import describe_failure
from millrace.runtime.resident.control import WorkerAddress
from millrace.runtime.resident.listener import Listener
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.packed_rows import GraphTypes, unpacked
from millrace.runtime.supersteps.partition_builder import PartitionBuilder
from millrace.runtime.supersteps.socket_transport import connected_transport
from millrace.runtime.supersteps.superstep_checkpoints import (
    CheckpointPolicy,
    SuperstepCheckpoints,
)
from millrace.runtime.supersteps.superstep_loop import result_table, run_supersteps
from millrace.runtime.supersteps.superstep_program import SuperstepProgram
from millrace.runtime.supersteps.task_transport import (
    PeerFailedError,
    PeerLostError,
    TaskTransport,
)

__all__ = ["SuperstepTask"]

_ROWS = 1 << 16
"""Rows of a batch of results."""


@dataclass(frozen=True, slots=True)
class SuperstepTask:
    """The function of all tasks of a job.

    Args:
        program: makes the task's program.
        types: types of ids and values.
        schema: columns of the result.
        token: secret of the job.
        name: name of the job.
        checkpoints: place and times of checkpoints; None for none.
        run_id: name of the run and its repetitions.
        attempt: name of the attempt, if there are checkpoints.
    """

    program: Callable[[], SuperstepProgram]
    types: GraphTypes
    schema: Any
    token: bytes
    name: str
    checkpoints: CheckpointPolicy | None = None
    run_id: str = ""
    attempt: str | None = None

    def run(
        self,
        batches: Iterator[Any],
        index: int,
        tasks: int,
        host: str,
        gather: Callable[[str], Sequence[str]],
    ) -> Iterator[Any]:
        """The result as record batches. The column ``_error`` has reports of errors.

        Args:
            batches: the task's vertices and edges, in pieces (`packed_rows`).
            index: number of the task.
            tasks: number of tasks.
            host: address of this machine for other machines; empty if there are none.
            gather: function that takes a text of each task to all tasks.

        Raises:
            PeerLostError: another task is gone.
        """
        transport = self._connect(index, tasks, host, gather)
        try:
            table = self._result(batches, transport)
        except PeerLostError:
            raise
        except Exception as error:
            transport.abort()
            yield self._report(error, index)
            return
        finally:
            transport.close()
        errors = pa.nulls(table.num_rows, pa.string())
        table = table.append_column("_error", errors)
        yield from table.to_batches(max_chunksize=_ROWS)

    def _connect(
        self, index: int, tasks: int, host: str, gather: Callable[[str], Sequence[str]]
    ) -> TaskTransport:
        listener = Listener(host)
        try:
            told = gather(msgspec.json.encode(listener.place).decode())
            places = [msgspec.json.decode(place, type=WorkerAddress) for place in told]
            return connected_transport(index, listener, places, self.token, 0)
        finally:
            listener.close()

    def _result(self, batches: Iterator[Any], transport: TaskTransport) -> Any:
        partition = self._loaded(batches, transport).build()
        program, exchange = self.program(), GraphExchange(transport, partition)
        checkpoints = None
        if self.checkpoints is not None:
            checkpoints = SuperstepCheckpoints(
                self.checkpoints, self.name, partition, self.run_id, self.attempt
            )
        run_supersteps(program, partition, exchange, checkpoints)
        table = result_table(program)
        exchange.all_reduce(0)  # all have their results: no task fails the others any more
        return table.select(self.schema.names).cast(self.schema)

    def _loaded(self, batches: Iterator[Any], transport: TaskTransport) -> PartitionBuilder:
        types = self.types
        builder = PartitionBuilder(transport, types.ids, types.vertex_values, types.edge_values)
        for is_edge, rows in unpacked(batches, types):
            if is_edge:
                owners = rows.column("target_owner").to_numpy()
                ends = rows.column("source"), rows.column("target")
                builder.add_edges(*ends, owners, _value(rows))
            else:
                builder.add_vertices(rows.column("id"), _value(rows))
        return builder

    def _report(self, error: Exception, index: int) -> Any:
        """A batch with the report of an error."""
        report: dict[str, Any] = {"task": index, "operator": None, "record": None}
        report["follows"] = isinstance(error, PeerFailedError)
        if isinstance(error, UserFunctionError):
            report["operator"], report["record"] = error.operator, error.record
            report["message"] = error.user_traceback
        elif isinstance(error, MillraceError):
            report["message"] = str(error)
        else:
            failure = describe_failure(error, self.name)
            report["message"] = f"{self.name} failed\n{failure.user_traceback}"
        columns = [pa.nulls(1, field.type) for field in self.schema]
        names = [*self.schema.names, "_error"]
        return pa.RecordBatch.from_arrays([*columns, pa.array([json.dumps(report)])], names)


def _value(rows: Any) -> Any:
    return rows.column("value") if "value" in rows.schema.names else None
