"""The rolling copy of a subtask's state: a little of everything in each epoch.

A pass goes once through all entries, a few in each epoch, in proportion to what the epoch changed.
A table's keys are listed when its turn comes; entries that come after the start of the pass are in
the deltas anyway.
"""

from __future__ import annotations

import gc
from typing import Any, NamedTuple

from millrace.state.table import Delta, Table

ENTRIES_PER_CHANGE = 1.0
"""How many entries a pass copies per changed entry: a pass over n entries then takes as many
epochs as it takes to change n entries, and all bytes written stay near twice those changed."""
MINIMUM_ENTRIES = 16
MANY_UNITS = 100_000
"""So many keys are worth hiding from the garbage collector."""


class _Position(NamedTuple):
    """How far a pass has come."""

    started: int | None = None
    """The epoch in which it began; None: there is none under way."""
    todo: tuple[str, ...] = ()
    """Tables still to be copied; the last one first."""
    units: list[Any] | None = None
    """What there is of the present table; None: not listed yet."""
    cursor: int = 0


class RollingPass:
    """Where the copying stands."""

    def __init__(self, tables: dict[str, Table]) -> None:
        self._tables = tables
        self._floor = 0
        self._at = _Position()
        self._before: tuple[int, _Position] | None = None

    def advance(self, epoch: int, changed: int) -> tuple[dict[str, Delta], int]:
        """Copy the next entries; returns them per table, and the floor as of now."""
        self._remember()
        if self._at.started is None:
            self._at = _Position(epoch, tuple(self._tables))
        budget = max(MINIMUM_ENTRIES, int(changed * ENTRIES_PER_CHANGE))
        copied: dict[str, Delta] = {}
        while budget > 0 and self._at.todo and self._at.todo[-1] not in copied:
            name = self._at.todo[-1]
            copied[name], count = self._copy(self._tables[name], budget)
            budget -= count
        if not self._at.todo:
            self._finish()
        return copied, self._floor

    def _copy(self, table: Table, budget: int) -> tuple[Delta, int]:
        """Dump the next units of the present table, about ``budget`` entries."""
        started, todo, units, cursor = self._at
        if units is None:
            units = _listed(table)
        end = cursor + max(1, budget // table.entries_per_unit)
        delta, count = table.dump(units[cursor:end])
        if end < len(units):
            self._at = _Position(started, todo, units, end)
        else:
            self._at = _Position(started, todo[:-1])
        return delta, max(count, end - cursor)

    def restart(self) -> None:
        """Everything has just been written at once; begin anew with the next epoch."""
        self._remember()
        self._at = _Position()

    def seal(self) -> None:
        """The epoch has been accepted."""
        self._before = None

    def roll_back(self) -> None:
        """The epoch has been aborted: what it copied is lost, so copy it again."""
        if self._before is not None:
            self._floor, self._at = self._before
            self._before = None

    def _remember(self) -> None:
        self._before = self._floor, self._at

    def _finish(self) -> None:
        assert self._at.started is not None
        self._floor = self._at.started
        self._at = _Position()


def _listed(table: Table) -> list[Any]:
    units = table.dump_units()
    if len(units) >= MANY_UNITS:
        # at the epoch's end the collector would look at each key, and take longer than the epoch
        gc.freeze()
    return units
