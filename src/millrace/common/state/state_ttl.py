"""State that expires (Flink docs, "Working with State", section State Time-To-Live)."""

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
    """Entries of state in memory are looked at as it is used."""

    cleanup_size: int
    per_record: bool

    def get_cleanup_size(self) -> int:
        """Entries per access."""
        return self.cleanup_size

    def run_cleanup_for_every_record(self) -> bool:
        """Whether each record counts like an access."""
        return self.per_record


@dataclass(frozen=True, slots=True)
class RocksdbCompactFilterCleanupStrategy:
    """Tables on disk are gone through; the numbers are kept, without effect."""

    query_time_after_num_entries: int
    periodic_compaction_time: Duration = DEFAULT_COMPACTION_TIME

    def get_query_time_after_num_entries(self) -> int:
        """After how many entries the time would be read again."""
        return self.query_time_after_num_entries

    def get_periodic_compaction_time(self) -> Duration:
        """After how long old files would be gone through."""
        return self.periodic_compaction_time


@dataclass(frozen=True, slots=True)
class CleanupStrategies:
    """How expired entries that nobody asks for are deleted.

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
        """Whether anything is deleted that is not asked for."""
        return self.background

    def in_full_snapshot(self) -> bool:
        """Whether expired entries are left out when the state is copied."""
        return self.full_snapshot

    def in_rocksdb_compact_filter(self) -> bool:
        """Whether tables on disk are gone through for expired entries."""
        return self.compaction is not None or self.background

    def cleanup_size(self) -> int:
        """Entries looked at per access to state in memory; 0: none."""
        if self.size is not None:
            return self.size
        return DEFAULT_CLEANUP_SIZE if self.background else 0

    def run_cleanup_for_every_record(self) -> bool:
        """Whether each record counts like an access."""
        return self.per_record

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        """How state in memory is cleaned up; None: not at all."""
        size = self.cleanup_size()
        return IncrementalCleanupStrategy(size, self.per_record) if size else None

    def get_rocksdb_compact_filter_cleanup_strategy(
        self,
    ) -> RocksdbCompactFilterCleanupStrategy | None:
        """How state on disk is cleaned up; None: not at all."""
        if self.compaction is None and self.background:
            return RocksdbCompactFilterCleanupStrategy(DEFAULT_QUERY_ENTRIES)
        return self.compaction

    IncrementalCleanupStrategy: ClassVar = IncrementalCleanupStrategy
    RocksdbCompactFilterCleanupStrategy: ClassVar = RocksdbCompactFilterCleanupStrategy


class UpdateType(Enum):
    """Which accesses restart the time to live."""

    Disabled = 0
    OnCreateAndWrite = 1
    OnReadAndWrite = 2


class StateVisibility(Enum):
    """Whether an expired value may still be seen."""

    ReturnExpiredIfNotCleanedUp = 0
    NeverReturnExpired = 1


class TtlTimeCharacteristic(Enum):
    """Whose clock it is."""

    ProcessingTime = 0


@dataclass(frozen=True, slots=True)
class StateTtlConfig:
    """How long state lives. Give it to a descriptor with ``enable_time_to_live``.

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
        """Begin with the time to live; raises StateError unless it is positive."""
        return StateTtlConfigBuilder(ttl)

    def get_ttl(self) -> Time:
        """The time to live."""
        return Time.milliseconds(self.ttl_ms)

    def get_update_type(self) -> UpdateType:
        """Which accesses restart it."""
        return self.update_type

    def get_state_visibility(self) -> StateVisibility:
        """Whether an expired value may still be seen."""
        return self.visibility

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """Processing time."""
        return TtlTimeCharacteristic.ProcessingTime

    def get_cleanup_strategies(self) -> CleanupStrategies:
        """How expired entries that nobody asks for are deleted."""
        return self.cleanup

    def is_enabled(self) -> bool:
        """Whether anything expires."""
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
        """The time to live."""
        return self._with(ttl_ms=_positive(ttl))

    def set_update_type(self, update_type: UpdateType) -> StateTtlConfigBuilder:
        """Which accesses restart the time to live."""
        return self._with(update_type=update_type)

    def update_ttl_on_create_and_write(self) -> StateTtlConfigBuilder:
        """Each write restarts it."""
        return self.set_update_type(UpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> StateTtlConfigBuilder:
        """Each read restarts it, too."""
        return self.set_update_type(UpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: StateVisibility) -> StateTtlConfigBuilder:
        """Whether an expired value may still be seen."""
        return self._with(visibility=state_visibility)

    def return_expired_if_not_cleaned_up(self) -> StateTtlConfigBuilder:
        """An expired value is given out once more if it is still there."""
        return self.set_state_visibility(StateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> StateTtlConfigBuilder:
        """An expired value is as good as gone."""
        return self.set_state_visibility(StateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(
        self, ttl_time_characteristic: TtlTimeCharacteristic
    ) -> StateTtlConfigBuilder:
        """Processing time, the only one there is."""
        return self

    def use_processing_time(self) -> StateTtlConfigBuilder:
        """Processing time, the only one there is."""
        return self

    def cleanup_full_snapshot(self) -> StateTtlConfigBuilder:
        """Leave expired entries out when the state is copied into a checkpoint; what is in the
        worker stays. That is so without asking unless the background is switched off."""
        return self._with(cleanup=replace(self._config.cleanup, full_snapshot=True))

    def cleanup_incrementally(
        self, cleanup_size: int, run_cleanup_for_every_record: bool = False
    ) -> StateTtlConfigBuilder:
        """Of state in memory, look at so many entries with each access, and for each record of an
        epoch if that is asked for.

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
        """Go through tables of the rocksdb backend with the incremental compaction of the state,
        not with RocksDB's own: the time is read once per epoch, so both numbers are without
        effect."""
        amount = periodic_compaction_time
        # as in Flink, 0 is no amount; a Duration of 0 is
        time = _duration(amount) if amount else DEFAULT_COMPACTION_TIME
        compaction = RocksdbCompactFilterCleanupStrategy(query_time_after_num_entries, time)
        return self._with(cleanup=replace(self._config.cleanup, compaction=compaction))

    def disable_cleanup_in_background(self) -> StateTtlConfigBuilder:
        """Delete expired entries only when they are asked for."""
        return self._with(cleanup=replace(self._config.cleanup, background=False))

    def build(self) -> StateTtlConfig:
        """The configuration."""
        return self._config

    def _with(self, **changes: object) -> StateTtlConfigBuilder:
        self._config = replace(self._config, **changes)  # type: ignore[arg-type]
        return self


def _positive(ttl: Amount) -> int:
    found = millis(ttl)
    if found <= 0:
        raise StateError(f"a time to live must be above 0 ms, got {found}")
    return found


def _duration(amount: Amount) -> Duration:
    return amount if isinstance(amount, Duration) else Duration.of_millis(millis(amount))
