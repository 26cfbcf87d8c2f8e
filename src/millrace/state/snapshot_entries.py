"""Entries of a table in one form, for all kinds of state and all ways of keeping it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from millrace.state.internal_tables import MERGING
from millrace.state.kinds.state_shape import KeyedStateEntry
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId

__all__ = ["entries_of"]


def entries_of(state: SubtaskState, table: TableId) -> Iterator[KeyedStateEntry]:
    """Entries of a table of one subtask, in the table's order."""
    kind = state.kind(table)
    merged = _merged_windows(state, TableId(table.uid, MERGING)) if kind.merges else {}
    return kind.entries(_content(state, table), merged)


def _content(state: SubtaskState, table: TableId) -> dict[Any, Any]:
    state_table = state.tables.get(table)
    return {} if state_table is None else state_table.scan(None, sys.maxsize).table_delta["put"]


def _merged_windows(state: SubtaskState, merging: TableId) -> dict[Any, Any]:
    """Map from (key, namespace of the contents) to the window, for windows that merge."""
    return {
        (key, kept): window
        for key, windows in _content(state, merging).items()
        for window, kept in windows.items()
    }
