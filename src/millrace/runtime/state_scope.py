"""Scope of an operator's keyed states: the function's states, the windows' states, or the
triggers' states."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.state.kinds.table_kind import TableKind
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT, LIST, MAP, WINDOW_FLAT, WINDOW_LIST, WINDOW_MAP

__all__ = ["FUNCTION", "TRIGGER", "WINDOW", "StateScope"]


@dataclass(frozen=True, slots=True)
class StateScope:
    """Separates states of the same name that an operator has for different purposes."""

    place: str = ""
    """Prefix of the names of the tables."""
    windowed: bool = False
    """Whether states are kept per window and key."""

    def table(self, uid: str, name: str) -> TableId:
        """Table of the state ``name`` of operator ``uid``."""
        return TableId(uid, f"{self.place}{name}")

    def kind(self, kind: TableKind) -> TableKind:
        """Kind of the table that keeps states of a kind in this scope."""
        return _PER_WINDOW[kind] if self.windowed else kind


_PER_WINDOW = {FLAT: WINDOW_FLAT, LIST: WINDOW_LIST, MAP: WINDOW_MAP}

FUNCTION = StateScope()
WINDOW = StateScope("@window/", windowed=True)
TRIGGER = StateScope("@trigger/", windowed=True)
