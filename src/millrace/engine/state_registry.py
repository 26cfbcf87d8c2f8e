"""Which version the state of every subtask is at, and the layers that make it up."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, takewhile

from millrace.engine.state_assignment import StateAssignment, SubtaskId
from millrace.runtime.epoch import Ack, RestoreAssignment
from millrace.state.layer import Layer, live

RECENT_LAYERS = 3
RECENT_BYTES = 64 * 1024
"""What a plan carries of recent layers per subtask, for a worker that missed an epoch."""


class StateRegistry:
    """The accepted layers of all subtasks."""

    def __init__(self) -> None:
        self._versions: dict[SubtaskId, str] = {}
        self._layers: dict[SubtaskId, dict[str, Layer]] = {}
        """Live layers by version, oldest first."""
        self._floors: dict[SubtaskId, int] = {}
        self._unsaved: dict[SubtaskId, dict[str, Layer]] = {}
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
        for subtask, (version, layers) in assignment.unchanged.items():
            self._versions[subtask] = version
            self._layers[subtask] = {layer.version: layer for layer in live(layers)}
        for subtask, (version, handles) in assignment.redistributed.items():
            self._versions[subtask] = version
            self._redistributed[subtask] = handles
        return {*assignment.unchanged, *assignment.redistributed}

    @property
    def restoring(self) -> bool:
        """Whether a subtask has yet to restore its state from others': it is in no layer."""
        return bool(self._redistributed)

    def assignment(self, subtask: SubtaskId) -> RestoreAssignment | None:
        """What a subtask restores that has no layers of its own yet."""
        return self._redistributed.get(subtask)

    def accept(self, ack: Ack) -> None:
        """An epoch has been accepted."""
        self.stateful.update(ack.stateful)
        if ack.layer is None:
            return
        subtask = (ack.stage, ack.subtask)
        self._redistributed.pop(subtask, None)  # its first layer holds everything
        self._versions[subtask] = ack.version
        kept = self._layers.setdefault(subtask, {})
        kept[ack.version] = ack.layer
        if ack.layer.floor > self._floors.get(subtask, 0):
            self._floors[subtask] = ack.layer.floor
            _drop_dead(kept, ack.layer.floor)
            _drop_dead(self._unsaved.get(subtask, {}), ack.layer.floor)
        self._unsaved.setdefault(subtask, {})[ack.version] = ack.layer

    def recent(self, subtask: SubtaskId) -> tuple[Layer, ...]:
        """The last layers, as far as they are small enough to travel with a plan."""
        chosen: list[Layer] = []
        size = 0
        for layer in islice(reversed(self._layers.get(subtask, {}).values()), RECENT_LAYERS):
            if isinstance(layer.data, bytes):
                size += len(layer.data)
                if size > RECENT_BYTES:
                    break
            chosen.append(layer)
        return tuple(reversed(chosen))

    def all_layers(self, subtask: SubtaskId) -> tuple[Layer, ...]:
        """Everything a worker without anything needs."""
        return tuple(self._layers.get(subtask, {}).values())

    def unsaved(self) -> list[tuple[SubtaskId, Layer]]:
        """Live layers that no checkpoint has yet."""
        return [(s, layer) for s, kept in self._unsaved.items() for layer in kept.values()]

    def saved(self, layers: Iterable[tuple[SubtaskId, Layer]]) -> None:
        """A checkpoint has them now: keep only where their bytes are."""
        self._unsaved.clear()
        for subtask, layer in layers:
            kept = self._layers.get(subtask, {})
            if layer.version in kept:
                kept[layer.version] = layer


def _drop_dead(kept: dict[str, Layer], floor: int) -> None:
    dead = takewhile(lambda version: kept[version].epoch < floor, list(kept))
    for version in dead:
        del kept[version]
