"""Cleanup of expired state that is no longer read.

Semantics: Flink docs, "Working with State", Cleanup of Expired State. In memory a few entries are
looked at with each access. A table on disk is gone through a little in each epoch that changes it.
Either way what has expired is left out whenever state is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from millrace.common.state.state_ttl import StateTtlConfig, StateVisibility, UpdateType
from millrace.state.incremental_compaction import MINIMUM_ENTRIES
from millrace.state.kinds.time_stamps import Stamps
from millrace.state.table import StateTable, TableDelta

__all__ = ["Cleanup", "Lifetime", "Stamped", "without_expired"]

AT_ONCE = 4096
"""Number of entries of a table on disk that are fetched together."""
Stamped = tuple[Any, int]
"""A value, and the time (ms since the epoch) from which its time to live counts."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Time to live of a state, and the cleanup of its expired entries, from its configuration."""

    ttl: int
    renewed_by_reading: bool
    shows_expired: bool
    cleanup_size: int
    """Number of entries to check per access. 0 for none."""
    cleanup_per_record: bool
    """Whether each record counts as an access."""
    compacts: bool
    """Whether a table that is not in memory is cleaned up."""
    copies_all: bool
    """Whether copies contain expired entries."""
    clock: Callable[[], int]

    @staticmethod
    def of(config: StateTtlConfig, clock: Callable[[], int]) -> Lifetime:
        """Lifetime with the settings of a descriptor's time-to-live configuration."""
        cleanup = config.cleanup
        compacts = cleanup.in_rocksdb_compact_filter()
        return Lifetime(
            config.ttl_ms,
            config.update_type is UpdateType.OnReadAndWrite,
            config.visibility is StateVisibility.ReturnExpiredIfNotCleanedUp,
            cleanup.cleanup_size(),
            cleanup.run_cleanup_for_every_record(),
            compacts,
            not (compacts or cleanup.in_full_snapshot() or cleanup.cleanup_size() > 0),
            clock,
        )

    def expired(self, stamped: Stamped) -> bool:
        """Whether a value has expired."""
        return stamped[1] + self.ttl <= self.clock()

    def deadline(self) -> int:
        """Latest time of last use with which a value has expired now."""
        return self.clock() - self.ttl


class Cleanup:
    """Looks through one table for expired entries.

    Args:
        table: a FlatTable, ListTable or NestedTable of time-stamped values.
        sweep: function that deletes the expired entries of a key.
    """

    def __init__(self, table: Any, lifetime: Lifetime, sweep: Callable[[Any], None]) -> None:
        in_memory = type(table.data) is dict
        self._table: StateTable = table
        self._data: dict[Any, Any] = table.data
        self._sweep = sweep
        self.lifetime = lifetime
        self._size = lifetime.cleanup_size if in_memory else 0
        self._compacts = lifetime.compacts and not in_memory
        self._ahead: list[Any] = []
        self._cursor: Any = None

    def accessed(self, times: int = 1) -> None:
        """Check the next few keys for expired values, because the state was accessed."""
        for _ in range(times * self._size):
            if not self._ahead:
                if not self._data:
                    return
                self._ahead = list(self._data)
            self._sweep(self._ahead.pop())

    def end_epoch(self, records: int) -> None:
        """Do the cleanup of the epoch's end. ``records`` is the number of records of the epoch."""
        if self.lifetime.cleanup_per_record:
            self.accessed(records)
        if self._compacts:
            self._compact()

    def _compact(self) -> None:
        """Delete the expired values in the next part of the table: as many entries as the epoch
        changed, but at least `MINIMUM_ENTRIES`. Does nothing if the epoch changed none."""
        changed = self._table.change_count()
        left = max(MINIMUM_ENTRIES, changed) if changed else 0
        deadline = self.lifetime.deadline()
        while left > 0:
            step = self._table.scan(self._cursor, min(left, AT_ONCE))
            left = left - step.size if step.cursor is not None else 0
            self._cursor = step.cursor
            for key, value in step.table_delta["put"].items():
                if _oldest(value) <= deadline:
                    self._sweep(key)


def _oldest(value: Any) -> int:
    """Earliest time stamp in a value, list or map."""
    if type(value) is tuple:
        return int(value[1])
    stamped: Iterable[Stamped] = value.values() if isinstance(value, dict) else value
    return min((stamp for _, stamp in stamped), default=0)


def without_expired(stamps: Stamps, lifetime: Lifetime) -> Callable[[TableDelta], TableDelta]:
    """Function that removes expired entries from a copy of a table."""
    alive = stamps.alive

    def leave_out(table_delta: TableDelta) -> TableDelta:
        return {**table_delta, "put": alive(table_delta["put"], lifetime.deadline())}

    return leave_out
