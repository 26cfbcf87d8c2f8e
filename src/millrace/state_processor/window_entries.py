"""The windows of an operator, read from its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import StateError
from millrace.common.window import SlidingEventTimeWindows
from millrace.common.window.time_window import TimeWindow
from millrace.runtime.detached import detached
from millrace.runtime.window_logic import WindowLogic
from millrace.runtime.window_state import TABLES
from millrace.state.internal_tables import (
    ELEMENTS,
    PANE_ELEMENTS,
    PASSED,
    SLICE_ACCUMULATORS,
    SLICE_ELEMENTS,
    TIMED_ELEMENTS,
)
from millrace.state.kinds.state_shape import KeyedStateEntry
from millrace.state.snapshot_entries import entries_of
from millrace.state.snapshot_reader import SnapshotReader, StateInfo
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId

__all__ = ["WindowContents", "window_table"]

SLICES = (SLICE_ACCUMULATORS, SLICE_ELEMENTS)
ELEMENT_TABLES = (ELEMENTS, PANE_ELEMENTS, SLICE_ELEMENTS, TIMED_ELEMENTS)


def window_table(reader: SnapshotReader, uid: str) -> StateInfo:
    """The table that holds an operator's windows.

    Raises:
        StateError: the operator has no windows.
    """
    own = [info for info in reader.states() if uid in (info.uid, info.operator)]
    tables = [info for info in own if info.name in TABLES]
    if len(tables) == 1:
        return tables[0]
    names = ", ".join(sorted({info.name for info in own})) or "nothing"
    raise StateError(f"operator '{uid}' has no windows in this snapshot (it has: {names})")


@dataclass(frozen=True, slots=True)
class WindowContents:
    """Reader of an operator's windows: yields key, window and the input of the window's
    function."""

    name: str
    """Name of the table."""
    logic: WindowLogic
    """Conversion of accumulators to results; without one, accumulators are returned unchanged."""
    assigner: SlidingEventTimeWindows | None = None
    """Assigner of sliding windows, which are assembled from shared panes; if None, each pane is
    returned by itself."""

    @property
    def has_elements(self) -> bool:
        """Whether windows store their elements instead of one value."""
        return self.name in ELEMENT_TABLES

    def __call__(self, state: SubtaskState, uid: str) -> Iterator[KeyedStateEntry]:
        """The entries of a subtask."""
        table = TableId(uid, self.name)
        if table not in state.tables:
            return iter(())
        entries = entries_of(state, table)
        if self.assigner is not None and self.name in SLICES:
            entries = self._windows(entries, _passed(state, uid))
        return map(self._finished, entries)

    def _finished(self, entry: KeyedStateEntry) -> KeyedStateEntry:
        if not self.logic.incremental:
            return entry
        return entry._replace(value=self.logic.result_function()(entry.value))

    def _windows(self, panes: Iterator[KeyedStateEntry], passed: int) -> Iterator[KeyedStateEntry]:
        """The windows that have not fired, each assembled from its panes."""
        contents: dict[tuple[Any, TimeWindow], Any] = {}
        assigner = self.assigner
        assert assigner is not None
        merge = self._merge()
        for pane in sorted(panes, key=lambda entry: int(entry.window.start)):
            for window in assigner.assign_windows(None, pane.window.start):
                place = (pane.key, window)
                if window.max_timestamp() <= passed:
                    continue
                # merging may change an accumulator in place, and a pane is in several windows
                value = detached(pane.value)
                contents[place] = merge(contents[place], value) if place in contents else value
        for (key, window), value in contents.items():
            yield KeyedStateEntry(key, value, window)

    def _merge(self) -> Callable[[Any, Any], Any]:
        if self.name == SLICE_ELEMENTS:
            return lambda earlier, later: [*earlier, *later]
        if self.logic.incremental:
            return self.logic.merge_function()
        raise StateError(
            "sliding windows share panes of accumulators; define how the panes are merged "
            "with window(assigner).reduce(...) or .aggregate(...), or read the panes with "
            "window()"
        )


def _passed(state: SubtaskState, uid: str) -> int:
    """The watermark up to which sliding windows have fired."""
    table = TableId(uid, PASSED)
    if table not in state.tables:
        return -(2**63)
    return max((entry.value for entry in entries_of(state, table)), default=-(2**63))
