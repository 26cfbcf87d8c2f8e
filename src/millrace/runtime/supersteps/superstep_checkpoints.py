"""SuperstepCheckpoints: snapshots of all tasks in a directory, between two supersteps.

A checkpoint is a directory ``superstep-00000012-5f3a91c2`` with a file of each task. It counts once
its file ``complete`` is there, which task 0 writes after all others have written theirs. Snapshots
are pickled: a person who can write to the directory can run code in the job.

The last part is the name of the attempt to run the program. The driver claims the directory for
each attempt, in the file ``attempt``. Tasks of earlier attempts, which outlive a killed driver or a
cut network, end when they would write the next checkpoint.
"""

from __future__ import annotations

import json
import pickle
import secrets
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
from millrace.filesystem.file_system import FileSystem, Version
from millrace.filesystem.location import located
from millrace.filesystem.registry import file_system_of, resolved
from millrace.runtime.supersteps.graph_exchange import GraphExchange
from millrace.runtime.supersteps.graph_partition import GraphPartition
from millrace.runtime.supersteps.packed_columns import array_bytes
from millrace.runtime.supersteps.task_transport import PeerLostError
from millrace.state.serialization.pickles import dump_pickle

__all__ = ["CheckpointPolicy", "SuperstepCheckpoints", "claim_checkpoints", "delete_checkpoints"]

_PREFIX = "superstep-"
_COMPLETE = "complete"
_ATTEMPT = "attempt"
"""File with the name of the attempt that may write to the directory."""
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
        attempt: name of the attempt, from `claim_checkpoints`. None if the directory is not
            claimed.
    """

    def __init__(
        self,
        policy: CheckpointPolicy,
        name: str,
        partition: GraphPartition,
        run: str = "",
        attempt: str | None = None,
    ) -> None:
        self._policy = policy
        self._attempt = attempt
        self._name = name
        self._partition = partition
        self._run = run
        self._directory = resolved(policy.directory)
        self._files: FileSystem = file_system_of(policy.directory)
        self._last = time.monotonic()

    def is_due(self, number: int) -> bool:
        """Whether this task wants a checkpoint after the given superstep."""
        policy = self._policy
        if policy.supersteps is not None and number % policy.supersteps == 0:
            return True
        return policy.seconds is not None and time.monotonic() - self._last >= policy.seconds

    def write(self, number: int, snapshot: Mapping[str, Any], exchange: GraphExchange) -> None:
        """Write a checkpoint; older ones are deleted.

        Raises:
            PeerLostError: a later attempt has the directory.
        """
        self._require_claim()
        place = located(self._directory, _name_of(number, self._attempt))
        data = dump_pickle(dict(snapshot))
        self._files.publish(located(place, f"task-{exchange.index}"), [data])
        identity = self._identity(exchange)  # a reduction: all tasks have written their files
        if exchange.index == 0:
            self._require_claim()
            self._files.publish(located(place, _COMPLETE), [json.dumps(identity).encode()])
            for older, name in _checkpoints_in(self._files, self._directory):
                if older < number:
                    self._files.delete_directory(located(self._directory, name))
        self._last = time.monotonic()

    def newest(self, exchange: GraphExchange) -> tuple[int, Mapping[str, Any]] | None:
        """Number of the newest complete checkpoint, and this task's snapshot; None if there is
        none.

        Raises:
            JobExecutionError: the checkpoint is of another graph or program.
        """
        identity = self._identity(exchange)
        seen = self._newest_complete() if exchange.index == 0 else None
        number, name, stored = exchange.all_gather(seen)[0] or (0, "", None)
        if stored is None:
            return None
        if not _is_same_run(stored, identity):
            raise JobExecutionError(
                f"the checkpoints in {self._directory!r} are those of another run "
                f"({_differences(stored, identity)}): give each run a directory of its own, or "
                "delete the directory to begin anew"
            )
        place = located(self._directory, f"{name}/task-{exchange.index}")
        try:
            return number, pickle.loads(self._files.read(place))
        except FileNotFoundError as error:
            raise PeerLostError(f"an earlier attempt of the run has deleted {place}") from error

    def _newest_complete(self) -> tuple[int, str, Any] | None:
        for number, name in sorted(_checkpoints_in(self._files, self._directory), reverse=True):
            place = located(self._directory, f"{name}/{_COMPLETE}")
            if self._files.status(place) is not None:
                return number, name, json.loads(self._files.read(place))
        return None

    def _require_claim(self) -> None:
        if self._attempt is None:
            return
        newest = _attempt_in(self._files, self._directory)[0]
        if newest != self._attempt:
            raise PeerLostError(
                f"attempt {self._attempt} to run {self._name} has been replaced, and must not "
                f"write to {self._directory!r} any more"
            )

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


def claim_checkpoints(directory: str, previous: str | None = None) -> str:
    """Name of a new attempt to run a program with checkpoints. Tasks of earlier attempts may no
    longer write to the directory.

    Args:
        directory: directory of the checkpoints.
        previous: name of the attempt that this one repeats; None for the first one of a driver.

    Raises:
        JobExecutionError: another driver has claimed the directory since the previous attempt.
    """
    files, place, attempt = file_system_of(directory), resolved(directory), secrets.token_hex(4)
    files.make_directory(place)
    while True:
        newest, version = _attempt_in(files, place)
        if previous is not None and newest != previous:
            raise JobExecutionError(
                f"another program has begun to run with the checkpoints in {directory!r}, so this "
                "one ends: give each run a directory of its own"
            )
        if files.write_if(located(place, _ATTEMPT), attempt.encode(), version) is not None:
            return attempt


def delete_checkpoints(directory: str, attempt: str | None = None) -> None:
    """Delete the checkpoints of a run that has ended.

    Args:
        attempt: name of the attempt that has ended. If another one has the directory meanwhile,
            nothing is deleted. None if the directory was not claimed.
    """
    files, place = file_system_of(directory), resolved(directory)
    if attempt is not None and _attempt_in(files, place)[0] != attempt:
        return
    files.delete(located(place, _ATTEMPT))  # from here on, tasks that are left over write nothing
    for _, name in _checkpoints_in(files, place):
        files.delete_directory(located(place, name))


def _attempt_in(files: FileSystem, place: str) -> tuple[str | None, Version | None]:
    """Name of the newest attempt, and the version of its file; None if there is none."""
    content = files.read_version(located(place, _ATTEMPT))
    return (None, None) if content is None else (content[0].decode(), content[1])


def _name_of(number: int, attempt: str | None) -> str:
    name = f"{_PREFIX}{number:08}"
    return name if attempt is None else f"{name}-{attempt}"


def _checkpoints_in(files: FileSystem, place: str) -> list[tuple[int, str]]:
    """Superstep and name of each checkpoint's directory."""
    return [
        (int(name.removeprefix(_PREFIX).partition("-")[0]), name)
        for name in files.directories(place)
        if name.startswith(_PREFIX)
    ]


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
