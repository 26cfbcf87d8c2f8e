"""SuperstepCheckpoints: snapshots of all tasks in a directory, between two supersteps.

A checkpoint is a directory ``superstep-00000012`` with a file of each task. It counts once its file
``complete`` is there, which task 0 writes after all others have written theirs. Snapshots are
pickled: a person who can write to the directory can run code in the job.
"""

from __future__ import annotations

import json
import pickle
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.errors import JobExecutionError
from millrace.filesystem.file_system import FileSystem
from millrace.filesystem.location import located
from millrace.filesystem.registry import file_system_of, resolved
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.runtime.supersteps.packed_columns import array_bytes
from millrace.state.serialization.payload import dump_pickle

__all__ = ["CheckpointPolicy", "SuperstepCheckpoints", "delete_checkpoints"]

_PREFIX = "superstep-"
_COMPLETE = "complete"
_CONTENTS = {"content": "other ids or edges", "values": "other values of vertices or edges"}


@dataclass(frozen=True, slots=True)
class CheckpointPolicy:
    """Place and times of checkpoints between supersteps.

    Args:
        directory: path or URI that all workers reach. A run that is repeated, or a program that is
            started again, goes on from the newest checkpoint in it.
        supersteps: number of supersteps after which a checkpoint is made. None for any number.
        seconds: seconds after which a checkpoint is made. None for any time.
        parameters: parameters of the program. Checkpoints of others are refused.
    """

    directory: str
    supersteps: int | None = None
    seconds: float | None = 10.0
    parameters: str = ""


class SuperstepCheckpoints:
    """The checkpoints of one task.

    Args:
        policy: place and times.
        name: name of the program.
        partition: the task's part of the graph.
        run: name of this run and its repetitions. They alone may go on from a checkpoint if values
            differ: Spark may compute an average of floats a little differently the next time.
    """

    def __init__(
        self, policy: CheckpointPolicy, name: str, partition: GraphPartition, run: str = ""
    ) -> None:
        self._policy = policy
        self._name = name
        self._partition = partition
        self._run = run
        self._directory = resolved(policy.directory)
        self._files: FileSystem = file_system_of(policy.directory)
        self._last = time.monotonic()

    def is_due(self, number: int) -> bool:
        """Whether this task wants a checkpoint after the superstep."""
        policy = self._policy
        if policy.supersteps is not None and number % policy.supersteps == 0:
            return True
        return policy.seconds is not None and time.monotonic() - self._last >= policy.seconds

    def write(self, number: int, snapshot: Mapping[str, Any], exchange: GraphExchange) -> None:
        """Write a checkpoint; older ones are deleted."""
        place = located(self._directory, f"{_PREFIX}{number:08}")
        data = dump_pickle(dict(snapshot))
        self._files.publish(located(place, f"task-{exchange.index}"), [data])
        identity = self._identity(exchange)  # a reduction: all tasks have written their files
        if exchange.index == 0:
            self._files.publish(located(place, _COMPLETE), [json.dumps(identity).encode()])
            for older in self._numbers():
                if older < number:
                    self._files.delete_directory(located(self._directory, f"{_PREFIX}{older:08}"))
        self._last = time.monotonic()

    def newest(self, exchange: GraphExchange) -> tuple[int, Mapping[str, Any]] | None:
        """Number of the newest complete checkpoint, and this task's snapshot; None if there is
        none.

        Raises:
            JobExecutionError: the checkpoint is of another graph or program.
        """
        identity = self._identity(exchange)
        seen = self._newest_complete() if exchange.index == 0 else None
        number, stored = exchange.all_gather(seen)[0] or (0, None)
        if stored is None:
            return None
        if not _is_same_run(stored, identity):
            raise JobExecutionError(
                f"the checkpoints in {self._directory!r} are those of another run "
                f"({_differences(stored, identity)}): give each run a directory of its own, or "
                "delete the directory to begin anew"
            )
        place = located(self._directory, f"{_PREFIX}{number:08}/task-{exchange.index}")
        return number, pickle.loads(self._files.read(place))

    def _newest_complete(self) -> tuple[int, Any] | None:
        for number in sorted(self._numbers(), reverse=True):
            place = located(self._directory, f"{_PREFIX}{number:08}/{_COMPLETE}")
            if self._files.status(place) is not None:
                return number, json.loads(self._files.read(place))
        return None

    def _numbers(self) -> list[int]:
        names = self._files.directories(self._directory)
        return [int(name.removeprefix(_PREFIX)) for name in names if name.startswith(_PREFIX)]

    def _identity(self, exchange: GraphExchange) -> dict[str, Any]:
        """Properties of the run that a checkpoint belongs to. All tasks call this at the same
        time."""
        partition = self._partition
        contents = exchange.all_reduce(self._checksums, "sum")
        return {
            "run": self._run,
            "program": self._name,
            "parameters": self._policy.parameters,
            "parallelism": exchange.parallelism,
            "vertices": partition.total_vertices,
            "edges": partition.total_edges,
            "content": int(contents[0]),
            "values": int(contents[1]),
        }

    @cached_property
    def _checksums(self) -> npt.NDArray[np.uint64]:
        """Checksums of the task's ids and edges, and of their values."""
        partition = self._partition
        content = _crc_of(partition.ids, zlib.crc32(array_bytes(partition.targets)))
        values = _crc_of(partition.vertex_values)
        if partition.edge_values is not None:
            single = pa.array(_single_edges(partition))
            values = _crc_of(partition.edge_values.filter(single), values)
        return np.array([content, values], np.uint64)


def delete_checkpoints(directory: str) -> None:
    """Delete the checkpoints of a run that has ended."""
    files, place = file_system_of(directory), resolved(directory)
    for name in list(files.directories(place)):
        if name.startswith(_PREFIX):
            files.delete_directory(located(place, name))


def _differences(stored: Mapping[str, Any], identity: Mapping[str, Any]) -> str:
    return ", ".join(
        _CONTENTS.get(key) or f"{key}: {stored.get(key)}, now {value}"
        for key, value in identity.items()
        if key != "run" and stored.get(key) != value
    )


def _is_same_run(stored: Mapping[str, Any], identity: Mapping[str, Any]) -> bool:
    same = {key for key, value in identity.items() if stored.get(key) == value}
    return not identity.keys() - same - ({"values", "run"} if "run" in same else {"run"})


def _single_edges(partition: GraphPartition) -> npt.NDArray[np.bool_]:
    """Whether each edge is the only one between its ends: parallel ones are in no certain
    order."""
    targets, single = partition.targets, np.ones(partition.edge_count, np.bool_)
    twins = targets[1:] == targets[:-1]
    firsts = partition.offsets[1:-1]
    twins[firsts[(firsts > 0) & (firsts < len(targets))] - 1] = False
    single[1:] &= ~twins
    single[:-1] &= ~twins
    return single


def _crc_of(column: Any, before: int = 0) -> int:
    """Checksum of the values of an Arrow array, whichever memory null values have."""
    if column is None:
        return before
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    before = zlib.crc32(valid.tobytes(), before)
    column = column.drop_null()
    kind = column.type
    if pa.types.is_struct(kind):
        for field in column.flatten():
            before = _crc_of(field, before)
        return before
    if pa.types.is_map(kind):
        column, kind = column.cast(pa.list_(kind.field(0))), pa.list_(kind.field(0))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        before = zlib.crc32(array_bytes(np.diff(column.offsets.to_numpy())), before)
        return _crc_of(column.flatten(), before)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    for buffer in column.take(pa.array(np.arange(len(column)))).buffers()[1:]:
        if buffer is not None:
            before = zlib.crc32(memoryview(buffer), before)
    return before
