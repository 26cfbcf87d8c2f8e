"""The registry of state versions: the version of each subtask, and the deltas it consists of."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, takewhile

from millrace.engine.state_assignment import StateAssignment, SubtaskId
from millrace.runtime.epoch import Ack, RestoreAssignment
from millrace.state.state_delta import StateDelta, live

RECENT_DELTAS = 3
RECENT_BYTES = 64 * 1024
"""What a plan carries of recent deltas per subtask, for a worker that missed an epoch."""


class StateRegistry:
    """The accepted deltas of all subtasks."""

    def __init__(self) -> None:
        self._versions: dict[SubtaskId, str] = {}
        self._deltas: dict[SubtaskId, dict[str, StateDelta]] = {}
        """Live deltas by version, oldest first."""
        self._low_epochs: dict[SubtaskId, int] = {}
        self._unsaved: dict[SubtaskId, dict[str, StateDelta]] = {}
        """Those of them that no checkpoint has yet."""
        self._redistributed: dict[SubtaskId, RestoreAssignment] = {}
        self.stateful: set[str] = set()
        """Uids of the operators that have state."""

    def version(self, subtask: SubtaskId) -> str:
        """The version of a subtask's state; "" when it never had any."""
        return self._versions.get(subtask, "")

    def versions(self) -> dict[SubtaskId, str]:
        """All the versions."""
        return dict(self._versions)

    def restore(self, assignment: StateAssignment) -> set[SubtaskId]:
        """Note what subtasks start from; returns which these are."""
        for subtask, (version, deltas) in assignment.unchanged.items():
            self._versions[subtask] = version
            self._deltas[subtask] = {delta.version: delta for delta in live(deltas)}
        for subtask, (version, handles) in assignment.redistributed.items():
            self._versions[subtask] = version
            self._redistributed[subtask] = handles
        return {*assignment.unchanged, *assignment.redistributed}

    @property
    def restoring(self) -> bool:
        """Whether a subtask has yet to restore its state from others': it is in no delta."""
        return bool(self._redistributed)

    def assignment(self, subtask: SubtaskId) -> RestoreAssignment | None:
        """What a subtask restores that has no deltas of its own yet."""
        return self._redistributed.get(subtask)

    def accept(self, ack: Ack) -> None:
        """An epoch has been accepted."""
        self.stateful.update(ack.stateful)
        if ack.delta is None:
            return
        subtask = (ack.stage, ack.subtask)
        self._redistributed.pop(subtask, None)  # its first delta holds everything
        self._versions[subtask] = ack.version
        kept = self._deltas.setdefault(subtask, {})
        kept[ack.version] = ack.delta
        if ack.delta.low_epoch > self._low_epochs.get(subtask, 0):
            self._low_epochs[subtask] = ack.delta.low_epoch
            _drop_dead(kept, ack.delta.low_epoch)
            _drop_dead(self._unsaved.get(subtask, {}), ack.delta.low_epoch)
        self._unsaved.setdefault(subtask, {})[ack.version] = ack.delta

    def recent(self, subtask: SubtaskId) -> tuple[StateDelta, ...]:
        """The last deltas, as far as they are small enough to travel with a plan."""
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
        """Everything a worker without anything needs."""
        return tuple(self._deltas.get(subtask, {}).values())

    def unsaved(self) -> list[tuple[SubtaskId, StateDelta]]:
        """Live deltas that no checkpoint has yet."""
        return [(s, delta) for s, kept in self._unsaved.items() for delta in kept.values()]

    def saved(self, deltas: Iterable[tuple[SubtaskId, StateDelta]]) -> None:
        """A checkpoint has them now: keep only where their bytes are."""
        self._unsaved.clear()
        for subtask, delta in deltas:
            kept = self._deltas.get(subtask, {})
            if delta.version in kept:
                kept[delta.version] = delta


def _drop_dead(kept: dict[str, StateDelta], low_epoch: int) -> None:
    dead = takewhile(lambda version: kept[version].epoch < low_epoch, list(kept))
    for version in dead:
        del kept[version]
