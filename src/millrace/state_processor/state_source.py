"""State of one subtask of a snapshot, for the Spark task that restores it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from millrace.runtime.main_classes import install_main_classes, main_classes
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.serialization.entry_types import StateOwner
from millrace.state.snapshot_reader import OnlyTables, SnapshotReader, StateInfo, tables_of
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState

__all__ = ["StateSource"]


@dataclass(frozen=True, slots=True)
class StateSource:
    """The deltas of some subtasks of one stage, sent to the tasks that read them."""

    directory: str
    parallelism: int
    subtasks: tuple[int, ...]
    deltas: tuple[tuple[StateDelta, ...], ...]
    """Deltas of each subtask."""
    classes: dict[str, type] = field(default_factory=dict)
    """Classes of the main module, of which values in state may be."""

    @staticmethod
    def of(reader: SnapshotReader, stage: str, subtasks: Sequence[int]) -> StateSource:
        """The source for some subtasks of a stage."""
        return StateSource(
            reader.snapshot.directory,
            reader.snapshot.manifest.stages[stage],
            tuple(subtasks),
            tuple(tuple(reader.deltas(stage, subtask)) for subtask in subtasks),
            main_classes(),
        )

    def restore(self, position: int, info: StateInfo) -> SubtaskState:
        """One state of the subtask at a position in `subtasks`, in display form: values of typed
        classes are rows.
        """
        only = OnlyTables(tables_of(info))
        return self._restored(position, SubtaskState(only, as_written=True))

    def restore_for(self, position: int, uid: str, owner: StateOwner) -> SubtaskState:
        """All states of a subtask, for functions whose state descriptors declare the types."""
        return self._restored(position, SubtaskState(owners={uid: owner}))

    def _restored(self, position: int, state: SubtaskState) -> SubtaskState:
        install_main_classes(self.classes)
        state.restore("snapshot", self.deltas[position], DeltaLoader(self.directory))
        return state
