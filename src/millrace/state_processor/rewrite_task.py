"""What tasks do to take operators out of a stage, or to give them other uids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millrace.state.budget import Budget
from millrace.state.store import SubtaskState
from millrace.state.table_kinds import OPERATOR_TABLE, VALVE
from millrace.state_processor.state_source import StateSource
from millrace.state_processor.written_part import write_part

__all__ = ["RewriteTask", "rewritten"]


@dataclass(frozen=True, slots=True)
class RewriteTask:
    """Rewrites the state of the subtasks of one stage."""

    source: StateSource
    uids: dict[str, str | None]
    """What each operator of the stage is called from now on; None: it goes."""
    stage: str
    """What the stage is called from now on."""
    directory: str
    epoch: int

    def run(self, position: int) -> bytes:
        """Write one of the subtasks."""
        state = rewritten(self.source.restore(position), self.uids)
        subtasks = [self.source.subtasks[position]]
        part = write_part(self.directory, self.stage, subtasks, state, self.epoch)
        return b"" if part is None else part.encode()


def rewritten(state: SubtaskState, uids: Mapping[str, str | None]) -> SubtaskState:
    """The state with the operators' new uids. What is of none of them goes, too."""
    result = SubtaskState()
    budget = Budget()
    for name, table in state.tables.items():
        renamed = None if name == OPERATOR_TABLE else _renamed(name, uids)
        if renamed is not None:
            for step in table.everything(budget):
                result.table(renamed, state.kind(name)).apply(step.delta)
    own = result.operator_table()
    for key, value in state.operator_table().data.items():
        renamed = VALVE if key == VALVE else _renamed(key, uids)
        if renamed is not None:
            own.put(renamed, value)
    result.adopt("rewritten")
    return result


def _renamed(name: str, uids: Mapping[str, Any]) -> str | None:
    """A table's or value's name with the new uid; None: its operator goes."""
    owner = max((uid for uid in uids if name.startswith(f"{uid}/")), key=len, default=None)
    if owner is None or uids[owner] is None:
        return None
    return f"{uids[owner]}{name[len(owner) :]}"
