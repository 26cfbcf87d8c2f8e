"""Checkpoint settings of a job (Flink docs, "Checkpointing")."""

from __future__ import annotations

from enum import Enum

from millrace.common.config import flink_options, options
from millrace.common.config.checkpoint_storage import FileSystemCheckpointStorage
from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.common.time.amounts import Duration

__all__ = ["CheckpointConfig", "CheckpointingMode", "ExternalizedCheckpointRetention"]

DISABLED = -1
NO_LIMIT = 2**31 - 1


class CheckpointingMode(Enum):
    """Guarantee of state after a failure: each record counts exactly once or at least once."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1


class ExternalizedCheckpointRetention(Enum):
    """Whether the checkpoints of a job that has ended are kept (Flink docs, "Checkpoints", Retained
    Checkpoints).

    A job that is killed, or stopped to be resumed, keeps them in any case.
    """

    DELETE_ON_CANCELLATION = 0
    """They are deleted when the job is cancelled, not when it fails or finishes."""
    RETAIN_ON_CANCELLATION = 1
    """They stay. The default here, for ``--resume`` goes on from them."""
    NO_EXTERNALIZED_CHECKPOINTS = 2
    """They are deleted when the job is cancelled, fails for good or finishes."""

    @property
    def discards_when_cancelled(self) -> bool:
        """Whether the checkpoints of a job are deleted when it is cancelled."""
        return self is not ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION

    @property
    def discards_when_failed(self) -> bool:
        """Whether the checkpoints of a job are deleted when it fails."""
        return self is ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    @property
    def discards_when_finished(self) -> bool:
        """Whether the checkpoints of a job are deleted when it finishes."""
        return self is ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS


class CheckpointConfig:
    """Settings of checkpoints. All times in milliseconds.

    They live in the configuration it was made with. Barriers are always aligned, if there are any,
    and there is one checkpoint at a time: the settings about alignment and concurrency are kept and
    returned, and change nothing.

    Example:
        >>> checkpoints = CheckpointConfig()
        >>> checkpoints.is_checkpointing_enabled()
        False
        >>> checkpoints.set_checkpoint_interval(10_000).get_checkpoint_interval()
        10000
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def is_checkpointing_enabled(self) -> bool:
        """Whether an interval is set."""
        return self.get_checkpoint_interval() != DISABLED

    def get_checkpoint_interval(self) -> int:
        """Time from one checkpoint to the next; -1 if there are none."""
        interval = self._configuration.get(options.CHECKPOINTING_INTERVAL)
        return DISABLED if interval is None else interval.to_millis()

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Set the interval of checkpoints in ms; with 0 there is one after every epoch."""
        require("checkpoint_interval", checkpoint_interval, 0)
        interval = Duration.of_millis(checkpoint_interval)
        self._configuration.set(options.CHECKPOINTING_INTERVAL, interval)
        return self

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Guarantee of state after a failure."""
        return CheckpointingMode[self._configuration.get(options.CHECKPOINTING_MODE)]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Set exactly once (the default) or at least once; epochs give exactly once in any case."""
        self._configuration.set(options.CHECKPOINTING_MODE, checkpointing_mode.name)
        return self

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Consecutive checkpoint failures before the job fails."""
        return self._configuration.get(options.TOLERABLE_FAILED_CHECKPOINTS)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Set the consecutive checkpoint failures before the job fails."""
        self._configuration.set(
            options.TOLERABLE_FAILED_CHECKPOINTS, tolerable_checkpoint_failure_number
        )
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Whether the first failed checkpoint fails the job."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(
        self, fail_on_checkpointing_errors: bool
    ) -> CheckpointConfig:
        """Choose whether the first failed checkpoint fails the job, or no failed checkpoint
        does."""
        limit = 0 if fail_on_checkpointing_errors else NO_LIMIT
        return self.set_tolerable_checkpoint_failure_number(limit)

    def get_checkpoint_timeout(self) -> int:
        """Milliseconds after which a checkpoint fails."""
        return self._configuration.get(flink_options.CHECKPOINTING_TIMEOUT).to_millis()

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Set the milliseconds after which a checkpoint fails."""
        require("checkpoint_timeout", checkpoint_timeout, 10)
        timeout = Duration.of_millis(checkpoint_timeout)
        self._configuration.set(flink_options.CHECKPOINTING_TIMEOUT, timeout)
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        """Minimum time from the end of one checkpoint to the start of the next, in ms."""
        return self._configuration.get(flink_options.CHECKPOINTING_MIN_PAUSE).to_millis()

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: int
    ) -> CheckpointConfig:
        """Set the minimum time between checkpoints, in ms."""
        require("min_pause_between_checkpoints", min_pause_between_checkpoints, 0)
        pause = Duration.of_millis(min_pause_between_checkpoints)
        self._configuration.set(flink_options.CHECKPOINTING_MIN_PAUSE, pause)
        return self

    def get_max_concurrent_checkpoints(self) -> int:
        """The configured number of concurrent checkpoints; in fact there is only one at a time."""
        return self._configuration.get(flink_options.CHECKPOINTING_CONCURRENT)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Store a value that has no effect, because there is only one checkpoint at a time. The
        getter returns it."""
        require("max_concurrent_checkpoints", max_concurrent_checkpoints, 1)
        self._configuration.set(flink_options.CHECKPOINTING_CONCURRENT, max_concurrent_checkpoints)
        return self

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Whether the checkpoints of an ended job are kept, which is the default."""
        name = self._configuration.get(options.EXTERNALIZED_CHECKPOINT_RETENTION)
        return ExternalizedCheckpointRetention[name]

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Keep or delete the checkpoints of an ended job."""
        self._configuration.set(options.EXTERNALIZED_CHECKPOINT_RETENTION, retention_mode.name)
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether checkpoints are kept after the end of the job, however it ends."""
        retention = self.get_externalized_checkpoint_retention()
        return retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def set_checkpoint_storage(self, storage: FileSystemCheckpointStorage) -> CheckpointConfig:
        """Set the storage of checkpoints.

        Raises:
            ConfigurationError: the argument is not a `FileSystemCheckpointStorage`.
        """
        if not isinstance(storage, FileSystemCheckpointStorage):
            raise ConfigurationError(
                f"checkpoints are kept in a FileSystemCheckpointStorage, got {storage!r}; for a "
                "directory, use set_checkpoint_storage_dir"
            )
        storage.configure(self._configuration)
        return self

    def get_checkpoint_storage(self) -> FileSystemCheckpointStorage | None:
        """The storage of checkpoints; None if there is none."""
        directory = self.get_checkpoint_storage_dir()
        return None if directory is None else FileSystemCheckpointStorage(directory)

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Set the parent directory of checkpoints (``execution.checkpointing.dir``)."""
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    def get_checkpoint_storage_dir(self) -> str | None:
        """The parent directory of checkpoints; None if there is none."""
        return self._configuration.get(options.CHECKPOINTING_DIR)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether the program enabled unaligned checkpoints; the setting has no effect."""
        return self._configuration.get(flink_options.UNALIGNED)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Store a setting that has no effect, because epochs have no barriers to align. The
        getter returns it."""
        self._configuration.set(flink_options.UNALIGNED, enabled)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Store a setting that has no effect, because epochs have no barriers to align. The
        getter returns it."""
        return self.enable_unaligned_checkpoints(False)

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether the program forced unaligned checkpoints; the setting has no effect."""
        return self._configuration.get(flink_options.UNALIGNED_FORCED)

    def set_force_unaligned_checkpoints(
        self, force_unaligned_checkpoints: bool = True
    ) -> CheckpointConfig:
        """Store a setting that has no effect, because epochs have no barriers to align. The
        getter returns it."""
        self._configuration.set(flink_options.UNALIGNED_FORCED, force_unaligned_checkpoints)
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """The configured timeout, which has no effect."""
        return self._configuration.get(flink_options.ALIGNED_TIMEOUT)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Store a value that has no effect, because epochs have no barriers to align. The getter
        returns it."""
        self._configuration.set(flink_options.ALIGNED_TIMEOUT, alignment_timeout)
        return self

    def get_alignment_timeout(self) -> Duration:
        """Older name of `get_aligned_checkpoint_timeout`."""
        return self.get_aligned_checkpoint_timeout()

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Older name of `set_aligned_checkpoint_timeout`."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)


def require(name: str, value: int, minimum: int) -> int:
    """The value itself; raises `ConfigurationError` if it is below the given bound."""
    if value < minimum:
        raise ConfigurationError(f"{name} must be at least {minimum}, got {value}")
    return value
