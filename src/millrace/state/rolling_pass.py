"""The rolling copy of a subtask's state: a little of everything in each epoch.

A pass goes once through all entries, a few in each epoch, in proportion to what the epoch changed.
The keys are listed when the pass starts; entries that come later are in the deltas anyway.
"""

from __future__ import annotations

from typing import Any

from millrace.state.table import Delta, Table

ENTRIES_PER_CHANGE = 1.0
"""How many entries a pass copies per changed entry: a pass over n entries then takes as many
epochs as it takes to change n entries, and all bytes written stay near twice those changed."""
MINIMUM_ENTRIES = 16


class RollingPass:
    """Where the copying stands."""

    def __init__(self, tables: dict[str, Table]) -> None:
        self._tables = tables
        self._started: int | None = None
        self._floor = 0
        self._todo: list[tuple[str, list[Any]]] = []
        self._cursor = 0
        self._before: tuple[int | None, int, list[tuple[str, list[Any]]], int] | None = None

    def advance(self, epoch: int, changed: int) -> tuple[dict[str, Delta], int]:
        """Copy the next entries; returns them per table, and the floor as of now."""
        self._remember()
        if self._started is None:
            self._start(epoch)
        budget = max(MINIMUM_ENTRIES, int(changed * ENTRIES_PER_CHANGE))
        copied: dict[str, Delta] = {}
        while budget > 0 and self._todo:
            name, units = self._todo[-1]
            if name in copied:
                break
            delta, count, self._cursor = _take(self._tables[name], units, self._cursor, budget)
            copied[name] = delta
            budget -= count
            if self._cursor >= len(units):
                self._todo = self._todo[:-1]
                self._cursor = 0
        if not self._todo:
            self._finish()
        return copied, self._floor

    def restart(self) -> None:
        """Everything has just been written at once; begin anew with the next epoch."""
        self._remember()
        self._started, self._todo, self._cursor = None, [], 0

    def seal(self) -> None:
        """The epoch has been accepted."""
        self._before = None

    def roll_back(self) -> None:
        """The epoch has been aborted: what it copied is lost, so copy it again."""
        if self._before is not None:
            self._started, self._floor, self._todo, self._cursor = self._before
            self._before = None

    def _remember(self) -> None:
        self._before = (self._started, self._floor, self._todo, self._cursor)

    def _start(self, epoch: int) -> None:
        self._started = epoch
        self._todo = [(name, table.dump_units()) for name, table in self._tables.items()]
        self._cursor = 0

    def _finish(self) -> None:
        assert self._started is not None
        self._floor = self._started
        self._started = None


def _take(table: Table, units: list[Any], cursor: int, budget: int) -> tuple[Delta, int, int]:
    """Dump units from ``cursor`` on, about ``budget`` entries of them."""
    step = max(1, budget // table.entries_per_unit)
    delta, count = table.dump(units[cursor : cursor + step])
    return delta, max(count, step), cursor + step
