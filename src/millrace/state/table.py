"""Keyed state: tables that track the changes of the open epoch.

A table is a dict plus an undo log. While an epoch is open, the first touch of an entry notes its
former value. `changes` makes the epoch's table delta from the log, `seal` clears the log once the
epoch has been accepted, and `roll_back` undoes the epoch. A table delta that is applied in another
worker leads to the same table there.

While an epoch waits for its acceptance, the next one may be open (`begin_next`). Each of the two
has an undo log: `accept` forgets the log of the waiting epoch, and the roll-back of both epochs
applies the log of the open epoch first.

The dicts are public to the operators of this package on purpose. Operators may read them, and write
entries that a method of the table has noted (`touch`, `writable`). Only the methods of tables write
undo logs, a batch at a time (`writable`, `upsert_many`, `append_many`): one missing entry would
corrupt the state after an abort.
"""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from millrace.state.budget import Budget
from millrace.state.frozen import MISSING, Frozen, thaw

KeyFilter = Callable[[Any], bool]
TableDelta = dict[str, Any]


MANY_UNITS = 100_000
"""Number of keys from which it pays to hide them from the garbage collector."""


class Scan(NamedTuple):
    """Result of one step of a scan through a table."""

    table_delta: TableDelta
    size: int
    """Number of entries in the table delta, or of entries examined if that is more."""
    cursor: Any
    """Cursor of the next step; None after the last one."""


class StateTable(ABC):
    """One named state of one operator in one subtask."""

    spills = False
    """Whether entries may be outside of memory, so that `prefetch` is useful."""

    @property
    def entry_schemas(self) -> tuple[str, str, str] | None:
        """Schemas of key, inner key and value, if an operator has declared the table's columns;
        else None."""
        return None

    @abstractmethod
    def changes(self) -> TableDelta | None:
        """Delta of the open epoch; None if nothing changed. The epoch stays open."""

    @abstractmethod
    def changes_by(self, budget: Budget) -> Iterator[tuple[TableDelta, int]]:
        """Delta of the open epoch in several table deltas of about ``budget`` entries, with
        their sizes."""

    @abstractmethod
    def change_count(self) -> int:
        """Number of entries that the open epoch touched."""

    @abstractmethod
    def seal(self) -> None:
        """Accept the open epoch and start the next."""

    @abstractmethod
    def roll_back(self) -> None:
        """Undo the open epoch."""

    @abstractmethod
    def begin_next(self) -> None:
        """Open the next epoch. The epoch before it waits: it can no longer be sealed or rolled
        back, but only accepted (`accept`) or undone (`roll_back_waiting`). At most one epoch waits.
        """

    @abstractmethod
    def accept(self) -> None:
        """Accept the waiting epoch, if there is one. The open epoch stays open."""

    @abstractmethod
    def roll_back_waiting(self) -> None:
        """Undo the waiting epoch, if there is one. The open epoch must have been rolled back
        before.
        """

    @abstractmethod
    def former_entries(self) -> TableDelta:
        """The entries as they were before the open epoch, as a table delta."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all entries and the undo logs."""

    @abstractmethod
    def apply(self, table_delta: TableDelta, keep: KeyFilter | None = None) -> None:
        """Apply a table delta made by `changes` or `scan`, for the keys that ``keep`` admits."""

    @abstractmethod
    def entry_count(self) -> int:
        """Number of entries. Approximate for a table that is not in memory, but 0 only if it is
        empty."""

    @abstractmethod
    def scan(self, cursor: Any, budget: int) -> Scan:
        """Read about ``budget`` of the present entries as a table delta. Returns also the cursor
        for the next step.

        ``cursor`` is None in the first step. Epochs may pass between two steps. All entries of the
        time of the first step are included, unless a later epoch changed them.
        """

    def everything(self, budget: Budget) -> Iterator[Scan]:
        """All present entries, step by step."""
        step = self.scan(None, budget.entries)
        yield step
        while step.cursor is not None:
            step = self.scan(step.cursor, budget.entries)
            yield step

    def prefetch(self, keys: Iterable[Any]) -> None:
        """Fetch the entries of keys that are about to be used, all in one request. For a nested
        table, the keys are outer keys."""


class _Listed(NamedTuple):
    """Position in a list of units for `dump`, which is written step by step."""

    units: list[Any]
    entries_per_unit: int
    position: int


class MemoryTable(StateTable):
    """Table with all entries in memory."""

    entries_per_unit = 1
    """Approximate number of entries per unit of the last `dump_units`."""

    @abstractmethod
    def dump_units(self) -> list[Any]:
        """Snapshot of the outer keys, which can be passed to `dump` in any order."""

    @abstractmethod
    def dump(self, units: Iterable[Any]) -> tuple[TableDelta, int]:
        """Table delta with the present entries of ``units``, and their number."""

    def scan(self, cursor: Any, budget: int) -> Scan:
        listed = self._list() if cursor is None else cursor
        start = listed.position
        end = start + max(1, budget // listed.entries_per_unit)
        table_delta, count = self.dump(listed.units[start:end])
        through = end >= len(listed.units)
        return Scan(
            table_delta, max(count, end - start), None if through else listed._replace(position=end)
        )

    def _list(self) -> _Listed:
        units = self.dump_units()
        if len(units) >= MANY_UNITS:
            # at the epoch's end the collector would look at each key, and take longer than it
            gc.freeze()
        return _Listed(units, self.entries_per_unit, 0)


def differs(old: Any, now: Any) -> bool:
    """Whether ``now`` differs from ``old``, a value in an undo log."""
    if type(old) is Frozen:
        return old.differs_from(now)
    return old is not now


def restore(data: dict[Any, Any], undo: dict[Any, Any]) -> None:
    """Put back the old values that an undo log holds."""
    for key, old in undo.items():
        if old is MISSING:
            data.pop(key, None)
        else:
            data[key] = thaw(old)


def before(
    data: dict[Any, Any], touched: Iterable[Any], former: Callable[[Any], Any]
) -> dict[Any, Any]:
    """Copy of ``data`` in which the keys in ``touched`` have their former values."""
    copied = dict(data.items())
    for key in touched:
        old = former(key)
        if old is MISSING:
            copied.pop(key, None)
        else:
            copied[key] = old
    return copied
