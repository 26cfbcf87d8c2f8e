"""State with a time-to-live (Flink docs, "Working with State", section State Time-To-Live)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import Enum
from typing import ClassVar

from millrace.common.errors import StateError
from millrace.common.time.amounts import Duration, Time, millis

__all__ = ["StateTtlConfig"]

Amount = Time | Duration | timedelta | int
DEFAULT_CLEANUP_SIZE = 5
"""Entries that are looked at for each access to the state, to delete expired ones."""


DEFAULT_QUERY_ENTRIES = 1_000
DEFAULT_COMPACTION_TIME = Duration.of_days(30)
"""Flink's setting for RocksDB's compaction filter, which is not used here."""


@dataclass(frozen=True, slots=True)
class IncrementalCleanupStrategy:
    """Cleanup of state in memory. Each access checks some entries."""

    cleanup_size: int
    per_record: bool

    def get_cleanup_size(self) -> int:
        """Entries checked per access."""
        return self.cleanup_size

    def run_cleanup_for_every_record(self) -> bool:
        """Whether each record counts as an access."""
        return self.per_record


@dataclass(frozen=True, slots=True)
class RocksdbCompactFilterCleanupStrategy:
    """Cleanup of tables on disk. Its two numbers are stored, but have no effect."""

    query_time_after_num_entries: int
    periodic_compaction_time: Duration = DEFAULT_COMPACTION_TIME

    def get_query_time_after_num_entries(self) -> int:
        """Configured number of entries between two readings of the time; it has no effect."""
        return self.query_time_after_num_entries

    def get_periodic_compaction_time(self) -> Duration:
        """Age at which files would be compacted."""
        return self.periodic_compaction_time


@dataclass(frozen=True, slots=True)
class CleanupStrategies:
    """Cleanup of expired entries that nobody reads.

    In the background, which is the default: of state in memory a few entries are looked at with
    each access; a table of the rocksdb backend is gone through with the incremental compaction of
    the state. What was set explicitly holds even if the background is switched off.
    """

    background: bool = True
    size: int | None = None
    """Entries looked at per access, if it was set."""
    per_record: bool = False
    full_snapshot: bool = False
    compaction: RocksdbCompactFilterCleanupStrategy | None = None

    def is_cleanup_in_background(self) -> bool:
        """Whether expired entries that nobody reads are deleted."""
        return self.background

    def in_full_snapshot(self) -> bool:
        """Whether expired entries are left out when the state is copied."""
        return self.full_snapshot

    def in_rocksdb_compact_filter(self) -> bool:
        """Whether tables on disk are searched for expired entries."""
        return self.compaction is not None or self.background

    def cleanup_size(self) -> int:
        """Entries checked per access to state in memory; 0 if none."""
        if self.size is not None:
            return self.size
        return DEFAULT_CLEANUP_SIZE if self.background else 0

    def run_cleanup_for_every_record(self) -> bool:
        """Whether each record counts as an access."""
        return self.per_record

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        """Cleanup of state in memory; None if there is none."""
        size = self.cleanup_size()
        return IncrementalCleanupStrategy(size, self.per_record) if size else None

    def get_rocksdb_compact_filter_cleanup_strategy(
        self,
    ) -> RocksdbCompactFilterCleanupStrategy | None:
        """Cleanup of state on disk; None if there is none."""
        if self.compaction is None and self.background:
            return RocksdbCompactFilterCleanupStrategy(DEFAULT_QUERY_ENTRIES)
        return self.compaction

    IncrementalCleanupStrategy: ClassVar = IncrementalCleanupStrategy
    RocksdbCompactFilterCleanupStrategy: ClassVar = RocksdbCompactFilterCleanupStrategy


class UpdateType(Enum):
    """Accesses that restart the time-to-live."""

    Disabled = 0
    OnCreateAndWrite = 1
    OnReadAndWrite = 2


class StateVisibility(Enum):
    """Whether an expired value may still be returned."""

    ReturnExpiredIfNotCleanedUp = 0
    NeverReturnExpired = 1


class TtlTimeCharacteristic(Enum):
    """Clock of the time-to-live."""

    ProcessingTime = 0


@dataclass(frozen=True, slots=True)
class StateTtlConfig:
    """Time-to-live of state. A descriptor takes it with ``enable_time_to_live``.

    Example:
        >>> builder = StateTtlConfig.new_builder(Time.hours(1))
        >>> config = builder.update_ttl_on_read_and_write().build()
        >>> config.get_ttl().to_milliseconds(), config.get_update_type().name
        (3600000, 'OnReadAndWrite')
    """

    ttl_ms: int
    update_type: UpdateType = UpdateType.OnCreateAndWrite
    visibility: StateVisibility = StateVisibility.NeverReturnExpired
    cleanup: CleanupStrategies = field(default_factory=CleanupStrategies)

    @staticmethod
    def new_builder(ttl: Amount) -> StateTtlConfigBuilder:
        """A builder with a time-to-live; raises StateError unless it is positive."""
        return StateTtlConfigBuilder(ttl)

    def get_ttl(self) -> Time:
        """The time to live."""
        return Time.milliseconds(self.ttl_ms)

    def get_update_type(self) -> UpdateType:
        """Accesses that restart the time-to-live."""
        return self.update_type

    def get_state_visibility(self) -> StateVisibility:
        """Whether an expired value may still be returned."""
        return self.visibility

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """Processing time."""
        return TtlTimeCharacteristic.ProcessingTime

    def get_cleanup_strategies(self) -> CleanupStrategies:
        """Cleanup of expired entries that nobody reads."""
        return self.cleanup

    def is_enabled(self) -> bool:
        """Whether entries expire."""
        return self.update_type is not UpdateType.Disabled

    UpdateType: ClassVar = UpdateType
    StateVisibility: ClassVar = StateVisibility
    TtlTimeCharacteristic: ClassVar = TtlTimeCharacteristic
    CleanupStrategies: ClassVar = CleanupStrategies


class StateTtlConfigBuilder:
    """Builds a `StateTtlConfig`."""

    def __init__(self, ttl: Amount) -> None:
        self._config = StateTtlConfig(_positive(ttl))

    def set_ttl(self, ttl: Amount) -> StateTtlConfigBuilder:
        """Set the time-to-live."""
        return self._with(ttl_ms=_positive(ttl))

    def set_update_type(self, update_type: UpdateType) -> StateTtlConfigBuilder:
        """Set the accesses that restart the time-to-live."""
        return self._with(update_type=update_type)

    def update_ttl_on_create_and_write(self) -> StateTtlConfigBuilder:
        """Restart the time-to-live with each write."""
        return self.set_update_type(UpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> StateTtlConfigBuilder:
        """Restart the time-to-live with each write and read."""
        return self.set_update_type(UpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: StateVisibility) -> StateTtlConfigBuilder:
        """Set whether an expired value may still be returned."""
        return self._with(visibility=state_visibility)

    def return_expired_if_not_cleaned_up(self) -> StateTtlConfigBuilder:
        """Allow expired values to be returned as long as they still exist."""
        return self.set_state_visibility(StateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> StateTtlConfigBuilder:
        """Never return an expired value."""
        return self.set_state_visibility(StateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(
        self, ttl_time_characteristic: TtlTimeCharacteristic
    ) -> StateTtlConfigBuilder:
        """Set processing time, the only supported clock."""
        return self

    def use_processing_time(self) -> StateTtlConfigBuilder:
        """Set processing time, the only supported clock."""
        return self

    def cleanup_full_snapshot(self) -> StateTtlConfigBuilder:
        """Leave expired entries out when the state is copied into a checkpoint; the worker keeps
        them. This is the default unless background cleanup is disabled."""
        return self._with(cleanup=replace(self._config.cleanup, full_snapshot=True))

    def cleanup_incrementally(
        self, cleanup_size: int, run_cleanup_for_every_record: bool = False
    ) -> StateTtlConfigBuilder:
        """Check some entries of state in memory with each access and, on request, with each record
        of an epoch.

        Raises:
            StateError: the size is not above 0.
        """
        if cleanup_size <= 0:
            raise StateError(f"cleanup_incrementally() takes a size above 0, got {cleanup_size}")
        per_record = run_cleanup_for_every_record
        cleanup = replace(self._config.cleanup, size=cleanup_size, per_record=per_record)
        return self._with(cleanup=cleanup)

    def cleanup_in_rocksdb_compact_filter(
        self, query_time_after_num_entries: int, periodic_compaction_time: Amount | None = None
    ) -> StateTtlConfigBuilder:
        """Clean up tables of the rocksdb backend during millrace's incremental compaction, not
        RocksDB's own. The time is read once per epoch, so both numbers have no effect."""
        amount = periodic_compaction_time
        # as in Flink, 0 is no amount; a Duration of 0 is
        time = _duration(amount) if amount else DEFAULT_COMPACTION_TIME
        compaction = RocksdbCompactFilterCleanupStrategy(query_time_after_num_entries, time)
        return self._with(cleanup=replace(self._config.cleanup, compaction=compaction))

    def disable_cleanup_in_background(self) -> StateTtlConfigBuilder:
        """Delete expired entries only when they are read."""
        return self._with(cleanup=replace(self._config.cleanup, background=False))

    def build(self) -> StateTtlConfig:
        """The configuration with all settings made so far."""
        return self._config

    def _with(self, **changes: object) -> StateTtlConfigBuilder:
        self._config = replace(self._config, **changes)  # type: ignore[arg-type]
        return self


def _positive(ttl: Amount) -> int:
    milliseconds = millis(ttl)
    if milliseconds <= 0:
        raise StateError(f"a time to live must be above 0 ms, got {milliseconds}")
    return milliseconds


def _duration(amount: Amount) -> Duration:
    return amount if isinstance(amount, Duration) else Duration.of_millis(millis(amount))
