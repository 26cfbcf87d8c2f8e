"""`StateRegistry`: the driver's record of each subtask's state version and live deltas.

A delta is live as long as a restore needs it, until incremental compaction has replaced it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice, takewhile

from millrace.engine.state_assignment import StateAssignment, SubtaskId
from millrace.runtime.epoch import (
    Ack,
    AssignedStart,
    FreshStart,
    LiveStart,
    RestoreAssignment,
    RestoredStart,
    SubtaskStart,
)
from millrace.state.state_delta import FileRef, StateDelta, live
from millrace.state.store import EMPTY

RECENT_DELTAS = 3
RECENT_BYTES = 64 * 1024
"""Limits for the deltas, and their bytes, that a plan carries per subtask. With them, a Python
worker whose copy of the state is a few epochs old catches up without a restore."""


class StateRegistry:
    """Holds the state version and the live deltas of every subtask, as of the last accepted
    epoch."""

    def __init__(self) -> None:
        self._versions: dict[SubtaskId, str] = {}
        self._deltas: dict[SubtaskId, dict[str, StateDelta]] = {}
        """Live deltas by the version they lead to, oldest first."""
        self._low_epochs: dict[SubtaskId, int] = {}
        self._sizes: dict[SubtaskId, int] = {}
        """Bytes of the live deltas."""
        self._unsaved: dict[SubtaskId, dict[str, StateDelta]] = {}
        """Live deltas that are in no checkpoint yet."""
        self._assignments: dict[SubtaskId, RestoreAssignment] = {}
        """Assignments of subtasks that restore, and have no deltas of their own yet."""
        self.stateful: set[str] = set()
        """Uids of the operators that have state."""

    def version(self, subtask: SubtaskId) -> str:
        """Version of a subtask's state; "" if it never had state."""
        return self._versions.get(subtask, "")

    def versions(self) -> dict[SubtaskId, str]:
        """Versions of all subtasks with state."""
        return dict(self._versions)

    def restore(self, assignment: StateAssignment) -> set[SubtaskId]:
        """Record the state with which subtasks start; returns the subtasks that have to restore
        it."""
        for subtask, (version, deltas) in assignment.unchanged.items():
            self._versions[subtask] = version
            self._deltas[subtask] = {delta.version: delta for delta in live(deltas)}
            self._sizes[subtask] = sum(delta.size() for delta in self._deltas[subtask].values())
        for subtask, (version, handles) in assignment.redistributed.items():
            self._versions[subtask] = version
            self._assignments[subtask] = handles
        return {*assignment.unchanged, *assignment.redistributed}

    @property
    def restores_pending(self) -> bool:
        """Whether a subtask has yet to restore redistributed state. A checkpoint made before that
        would lack this state.
        """
        return bool(self._assignments)

    def start(self, subtask: SubtaskId, whole: bool) -> SubtaskStart:
        """Instruction that tells a subtask how to get its state. If ``whole``, it suits a worker
        that holds none of the state."""
        version = self.version(subtask)
        if version == EMPTY:
            return FreshStart()
        if not whole:
            return LiveStart(version, self.recent_deltas(subtask))
        assignment = self._assignments.get(subtask)
        if assignment is not None:
            return AssignedStart(version, assignment)
        return RestoredStart(version, self.all_deltas(subtask))

    def accept(self, ack: Ack) -> None:
        """Record a subtask's acknowledgement of an accepted epoch."""
        self.stateful.update(ack.state.stateful)
        if ack.state.delta is None:
            return
        subtask = (ack.stage, ack.subtask)
        # its first delta holds all of its state, or follows the parts that it has restored
        assignment = self._assignments.pop(subtask, None)
        self._versions[subtask] = ack.state.version
        if assignment is not None and ack.state.follows_parts:
            for part in assignment.rows:
                # as of this epoch: former ones belong to another subtask of the same number
                epoch = ack.state.delta.epoch
                self._add(subtask, replace(part, epoch=epoch, low_epoch=epoch))
        self._add(subtask, ack.state.delta)
        if ack.state.delta.low_epoch > self._low_epochs.get(subtask, 0):
            self._low_epochs[subtask] = ack.state.delta.low_epoch
            self._sizes[subtask] -= _drop_before(self._deltas[subtask], ack.state.delta.low_epoch)
            _drop_before(self._unsaved.get(subtask, {}), ack.state.delta.low_epoch)

    def _add(self, subtask: SubtaskId, delta: StateDelta) -> None:
        """Add a delta to the live ones."""
        self._deltas.setdefault(subtask, {})[delta.version] = delta
        self._unsaved.setdefault(subtask, {})[delta.version] = delta
        self._sizes[subtask] = self._sizes.get(subtask, 0) + delta.size()

    def files(self) -> set[str]:
        """Files with live deltas, relative to the job's directory."""
        live_deltas = (delta for deltas in self._deltas.values() for delta in deltas.values())
        return {delta.data.path for delta in live_deltas if isinstance(delta.data, FileRef)}

    def size(self, subtask: SubtaskId) -> int:
        """Bytes of a subtask's live deltas, which hold its state and recent former values."""
        return self._sizes.get(subtask, 0)

    def unsaved_size(self, subtask: SubtaskId) -> int:
        """Bytes of a subtask's live deltas that are in no checkpoint yet."""
        return sum(delta.size() for delta in self._unsaved.get(subtask, {}).values())

    def recent_deltas(self, subtask: SubtaskId) -> tuple[StateDelta, ...]:
        """Newest deltas, oldest first, within the size limit of a plan."""
        chosen: list[StateDelta] = []
        size = 0
        for delta in islice(reversed(self._deltas.get(subtask, {}).values()), RECENT_DELTAS):
            if isinstance(delta.data, bytes):
                size += len(delta.data)
                if size > RECENT_BYTES:
                    break
            chosen.append(delta)
        return tuple(reversed(chosen))

    def all_deltas(self, subtask: SubtaskId) -> tuple[StateDelta, ...]:
        """All live deltas, for a Python worker without the subtask's state."""
        return tuple(self._deltas.get(subtask, {}).values())

    def unsaved(self) -> list[tuple[SubtaskId, StateDelta]]:
        """Live deltas that are in no checkpoint yet."""
        return [(s, delta) for s, deltas in self._unsaved.items() for delta in deltas.values()]

    def mark_saved(self, saved: Iterable[tuple[SubtaskId, StateDelta]]) -> None:
        """Record that a checkpoint holds the deltas in ``saved``.

        The deltas in ``saved`` refer to the checkpoint's files. They replace the deltas with bytes
        in memory.
        """
        self._unsaved.clear()
        for subtask, delta in saved:
            deltas = self._deltas.get(subtask, {})
            if delta.version in deltas:
                deltas[delta.version] = delta


def _drop_before(deltas: dict[str, StateDelta], low_epoch: int) -> int:
    """Remove the deltas of epochs before ``low_epoch``, which are no longer live; returns their
    bytes."""
    old_versions = takewhile(lambda version: deltas[version].epoch < low_epoch, list(deltas))
    return sum(deltas.pop(version).size() for version in old_versions)
