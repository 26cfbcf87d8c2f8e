"""The incremental compaction of a subtask's state: copies all live entries, a few per epoch, so
that older deltas are no longer needed.

How many entries an epoch copies follows what it changed. A table's keys are listed when its turn
comes; entries that are added after the start of the compaction are in later deltas anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from millrace.state.budget import Budget
from millrace.state.table import Scan, Table
from millrace.state.table_id import TableId

ENTRIES_PER_CHANGE = 1.0
"""How many entries are copied per changed entry: compacting n entries then takes as many epochs as
it takes to change n entries, and all bytes written stay near twice those changed."""
MINIMUM_ENTRIES = 16


class _Position(NamedTuple):
    """How far a compaction has come."""

    started: int | None = None
    """The epoch in which it started; None: none is under way."""
    todo: tuple[TableId, ...] = ()
    """Tables still to be copied; the last one first."""
    cursor: Any = None
    """How far the present table is copied; None: not started."""


class IncrementalCompaction:
    """Copies the entries of tables over many epochs, and keeps track of the deltas it replaces."""

    def __init__(self, tables: dict[TableId, Table]) -> None:
        self._tables = tables
        self.low_epoch = 0
        """Deltas of epochs before this one are not needed any more."""
        self._at = _Position()
        self._before: tuple[int, _Position] | None = None

    def advance(self, epoch: int, changed: int, budget: Budget) -> Iterator[tuple[TableId, Scan]]:
        """Copy the next entries, table by table, in steps of at most ``budget``. Once they are
        through, `low_epoch` is that of the epoch."""
        self._remember()
        if self._at.started is None:
            self._at = _Position(epoch, tuple(self._tables))
        left = max(MINIMUM_ENTRIES, int(changed * ENTRIES_PER_CHANGE))
        while left > 0 and self._at.todo:
            name = self._at.todo[-1]
            step = self._copy(self._tables[name], min(left, budget.entries))
            left -= step.size
            yield name, step
        if not self._at.todo:
            self._finish()

    def _copy(self, table: Table, entries: int) -> Scan:
        """Copy about so many more entries of the present table."""
        started, todo, cursor = self._at
        step = table.scan(cursor, entries)
        if step.cursor is not None:
            self._at = _Position(started, todo, step.cursor)
        else:
            self._at = _Position(started, todo[:-1])
        return step

    def restart(self) -> None:
        """Everything has just been written at once: start over with the next epoch."""
        self._remember()
        self._at = _Position()

    def seal(self) -> None:
        """The epoch has been accepted."""
        self._before = None

    def roll_back(self) -> None:
        """The epoch has been aborted: what it copied is lost, so copy it again."""
        if self._before is not None:
            self.low_epoch, self._at = self._before
            self._before = None

    def _remember(self) -> None:
        self._before = self.low_epoch, self._at

    def _finish(self) -> None:
        assert self._at.started is not None
        self.low_epoch = self._at.started
        self._at = _Position()
