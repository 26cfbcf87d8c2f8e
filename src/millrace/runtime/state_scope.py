"""Whose keyed states of an operator: its function's, its windows' or their triggers'."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.state.kinds.table_kind import TableKind
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT, LIST, MAP, WINDOW_FLAT, WINDOW_LIST, WINDOW_MAP

__all__ = ["FUNCTION", "TRIGGER", "WINDOW", "StateScope"]


@dataclass(frozen=True, slots=True)
class StateScope:
    """Keeps states of one name apart that an operator has for different purposes."""

    place: str = ""
    """What the names of the tables begin with."""
    windowed: bool = False
    """Whether states are kept per window and key."""

    def table(self, uid: str, name: str) -> TableId:
        """The table of the state called ``name`` of operator ``uid``."""
        return TableId(uid, f"{self.place}{name}")

    def kind(self, kind: TableKind) -> TableKind:
        """The kind of table that states of that kind have here."""
        return _PER_WINDOW[kind] if self.windowed else kind


_PER_WINDOW = {FLAT: WINDOW_FLAT, LIST: WINDOW_LIST, MAP: WINDOW_MAP}

FUNCTION = StateScope()
WINDOW = StateScope("@window/", windowed=True)
TRIGGER = StateScope("@trigger/", windowed=True)
