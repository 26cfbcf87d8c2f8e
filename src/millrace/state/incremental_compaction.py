"""Incremental compaction of a subtask's state: copies all live entries, a few per epoch, so that
older deltas are no longer needed.

The number of entries that an epoch copies depends on the number that it changed. A table's keys are
listed at the start of its turn; entries added after the start of the compaction are in later deltas
anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from millrace.state.budget import Budget
from millrace.state.table import Scan, StateTable
from millrace.state.table_id import TableId

ENTRIES_PER_CHANGE = 1.0
"""Entries copied per changed entry. To compact n entries then takes as many epochs as it takes
to change n entries, and all bytes written stay near twice those changed."""
MINIMUM_ENTRIES = 16


class _CompactionProgress(NamedTuple):
    """Progress of a compaction: the position that it has reached."""

    started: int | None = None
    """Epoch in which the compaction started; None if none is running."""
    todo: tuple[TableId, ...] = ()
    """Tables still to be copied. The last one is copied first."""
    cursor: Any = None
    """Position in the present table; None if its copy has not begun."""


class IncrementalCompaction:
    """Copies the entries of tables over many epochs, and tracks the deltas that the copies
    replace."""

    def __init__(self, tables: dict[TableId, StateTable]) -> None:
        self._tables = tables
        self.low_epoch = 0
        """Deltas of epochs before this one are not needed any more."""
        self._at = _CompactionProgress()
        self._before: tuple[int, _CompactionProgress] | None = None

    def advance(self, epoch: int, changed: int, budget: Budget) -> Iterator[tuple[TableId, Scan]]:
        """Copy the next entries, table by table, in steps of at most ``budget``. After the last
        table, `low_epoch` becomes the epoch in which the compaction started."""
        self._remember()
        if self._at.started is None:
            self._at = _CompactionProgress(epoch, tuple(self._tables))
        left = max(MINIMUM_ENTRIES, int(changed * ENTRIES_PER_CHANGE))
        while left > 0 and self._at.todo:
            name = self._at.todo[-1]
            step = self._copy(self._tables[name], min(left, budget.entries))
            left -= step.size
            yield name, step
        if not self._at.todo:
            self._finish()

    def _copy(self, table: StateTable, entries: int) -> Scan:
        """Copy about ``entries`` more entries of the present table."""
        started, todo, cursor = self._at
        step = table.scan(cursor, entries)
        if step.cursor is not None:
            self._at = _CompactionProgress(started, todo, step.cursor)
        else:
            self._at = _CompactionProgress(started, todo[:-1])
        return step

    def restart(self) -> None:
        """Start over with the next epoch, because the current epoch has written all entries."""
        self._remember()
        self._at = _CompactionProgress()

    def seal(self) -> None:
        """Keep the progress made in an epoch that was accepted."""
        self._before = None

    def roll_back(self) -> None:
        """Undo the progress made in an epoch that was aborted, because its copies are lost."""
        if self._before is not None:
            self.low_epoch, self._at = self._before
            self._before = None

    def _remember(self) -> None:
        self._before = self.low_epoch, self._at

    def _finish(self) -> None:
        assert self._at.started is not None
        self.low_epoch = self._at.started
        self._at = _CompactionProgress()
