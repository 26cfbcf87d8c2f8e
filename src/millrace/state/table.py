"""Keyed state in memory: tables that know what the open epoch changed.

A table is a dict plus an undo log. While an epoch is open, the first touch of an entry notes what
it was; `changes` makes the epoch's delta from that, `seal` forgets the log once the epoch has been
accepted and `roll_back` takes the epoch back. A delta that is applied in another worker gives the
same table there.

The dicts are public to the operators of this package on purpose: their loops work on them directly
and follow the one rule that a touch is noted in ``undo`` first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from millrace.state.frozen import MISSING, Frozen, thaw

KeyFilter = Callable[[Any], bool]
Delta = dict[str, Any]


class Table(ABC):
    """One named state of one operator in one subtask."""

    entries_per_unit = 1
    """About how many entries one of the last `dump_units` stands for."""

    @abstractmethod
    def changes(self) -> Delta | None:
        """What the open epoch changed, or None; the epoch stays open."""

    @abstractmethod
    def change_count(self) -> int:
        """How many entries the open epoch touched."""

    @abstractmethod
    def seal(self) -> None:
        """Accept the open epoch and start the next."""

    @abstractmethod
    def roll_back(self) -> None:
        """Take the open epoch back."""

    @abstractmethod
    def clear(self) -> None:
        """Forget everything, undo log included."""

    @abstractmethod
    def apply(self, delta: Delta, keep: KeyFilter | None = None) -> None:
        """Replay a delta made by `changes` or `dump`, only for the keys that ``keep`` admits."""

    @abstractmethod
    def entry_count(self) -> int:
        """Entries held, as `dump` counts them."""

    @abstractmethod
    def dump_units(self) -> list[Any]:
        """What `dump` can be asked for, in any order: a snapshot of the outer keys."""

    @abstractmethod
    def dump(self, units: Iterable[Any]) -> tuple[Delta, int]:
        """The present entries of ``units`` as a delta, and how many they are."""


def differs(old: Any, now: Any) -> bool:
    """Whether ``now`` is not what ``old`` (as noted in an undo log) was."""
    if type(old) is Frozen:
        return old.differs_from(now)
    return old is not now


def restore(data: dict[Any, Any], undo: dict[Any, Any]) -> None:
    """Put back what an undo log noted."""
    for key, old in undo.items():
        if old is MISSING:
            data.pop(key, None)
        else:
            data[key] = thaw(old)
