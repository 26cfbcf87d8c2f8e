"""When and how a job makes checkpoints (Flink docs, "Checkpointing")."""

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
    """How often a record counts in state after a failure."""

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
        """Whether the checkpoints of a cancelled job are deleted."""
        return self is not ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION

    @property
    def discards_when_failed(self) -> bool:
        """Whether the checkpoints of a failed job are deleted."""
        return self is ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    @property
    def discards_when_finished(self) -> bool:
        """Whether the checkpoints of a finished job are deleted."""
        return self is ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS


class CheckpointConfig:
    """Settings of checkpoints. All times in milliseconds.

    They live in the configuration it was made with. An epoch is
    a consistent cut by itself, so there is nothing to align, and one checkpoint at a time: the
    settings about alignment and concurrency are kept and returned, and change nothing.

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
        """Make a checkpoint this often; with 0, after every epoch."""
        require("checkpoint_interval", checkpoint_interval, 0)
        interval = Duration.of_millis(checkpoint_interval)
        self._configuration.set(options.CHECKPOINTING_INTERVAL, interval)
        return self

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """How often a record counts in state after a failure."""
        return CheckpointingMode[self._configuration.get(options.CHECKPOINTING_MODE)]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Exactly once (the default) or at least once; an epoch gives the former in any case."""
        self._configuration.set(options.CHECKPOINTING_MODE, checkpointing_mode.name)
        return self

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """How many checkpoints in a row may fail before the job does."""
        return self._configuration.get(options.TOLERABLE_FAILED_CHECKPOINTS)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Let so many checkpoints in a row fail before the job does."""
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
        """Fail the job with its first failed checkpoint, or never because of one."""
        limit = 0 if fail_on_checkpointing_errors else NO_LIMIT
        return self.set_tolerable_checkpoint_failure_number(limit)

    def get_checkpoint_timeout(self) -> int:
        """After how long a checkpoint has failed."""
        return self._configuration.get(flink_options.CHECKPOINTING_TIMEOUT).to_millis()

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Give up a checkpoint after this long."""
        require("checkpoint_timeout", checkpoint_timeout, 10)
        timeout = Duration.of_millis(checkpoint_timeout)
        self._configuration.set(flink_options.CHECKPOINTING_TIMEOUT, timeout)
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        """Least time from the end of one checkpoint to the start of the next."""
        return self._configuration.get(flink_options.CHECKPOINTING_MIN_PAUSE).to_millis()

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: int
    ) -> CheckpointConfig:
        """Leave at least this much time between checkpoints."""
        require("min_pause_between_checkpoints", min_pause_between_checkpoints, 0)
        pause = Duration.of_millis(min_pause_between_checkpoints)
        self._configuration.set(flink_options.CHECKPOINTING_MIN_PAUSE, pause)
        return self

    def get_max_concurrent_checkpoints(self) -> int:
        """The number that was set; there is one at a time in any case."""
        return self._configuration.get(flink_options.CHECKPOINTING_CONCURRENT)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Kept and returned only: there is one checkpoint at a time."""
        require("max_concurrent_checkpoints", max_concurrent_checkpoints, 1)
        self._configuration.set(flink_options.CHECKPOINTING_CONCURRENT, max_concurrent_checkpoints)
        return self

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Whether the checkpoints of a job that has ended are kept; they are unless set."""
        name = self._configuration.get(options.EXTERNALIZED_CHECKPOINT_RETENTION)
        return ExternalizedCheckpointRetention[name]

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Keep or delete the checkpoints of a job that has ended."""
        self._configuration.set(options.EXTERNALIZED_CHECKPOINT_RETENTION, retention_mode.name)
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether checkpoints outlive the job in some case."""
        retention = self.get_externalized_checkpoint_retention()
        return retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def set_checkpoint_storage(self, storage: FileSystemCheckpointStorage) -> CheckpointConfig:
        """Keep checkpoints there.

        Raises:
            ConfigurationError: it is no `FileSystemCheckpointStorage`.
        """
        if not isinstance(storage, FileSystemCheckpointStorage):
            raise ConfigurationError(
                f"checkpoints are kept in a FileSystemCheckpointStorage, got {storage!r}; for a "
                "directory, use set_checkpoint_storage_dir"
            )
        storage.configure(self._configuration)
        return self

    def get_checkpoint_storage(self) -> FileSystemCheckpointStorage | None:
        """Where checkpoints are kept; None: nowhere."""
        directory = self.get_checkpoint_storage_dir()
        return None if directory is None else FileSystemCheckpointStorage(directory)

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Keep checkpoints below this directory (``execution.checkpointing.dir``)."""
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    def get_checkpoint_storage_dir(self) -> str | None:
        """The directory below which checkpoints are kept; None: none."""
        return self._configuration.get(options.CHECKPOINTING_DIR)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether they were asked for."""
        return self._configuration.get(flink_options.UNALIGNED)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Kept and returned only: epochs have nothing to align."""
        self._configuration.set(flink_options.UNALIGNED, enabled)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Kept and returned only: epochs have nothing to align."""
        return self.enable_unaligned_checkpoints(False)

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether they were asked for."""
        return self._configuration.get(flink_options.UNALIGNED_FORCED)

    def set_force_unaligned_checkpoints(
        self, force_unaligned_checkpoints: bool = True
    ) -> CheckpointConfig:
        """Kept and returned only: epochs have nothing to align."""
        self._configuration.set(flink_options.UNALIGNED_FORCED, force_unaligned_checkpoints)
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """The time that was set."""
        return self._configuration.get(flink_options.ALIGNED_TIMEOUT)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Kept and returned only: epochs have nothing to align."""
        self._configuration.set(flink_options.ALIGNED_TIMEOUT, alignment_timeout)
        return self

    def get_alignment_timeout(self) -> Duration:
        """Older name of `get_aligned_checkpoint_timeout`."""
        return self.get_aligned_checkpoint_timeout()

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Older name of `set_aligned_checkpoint_timeout`."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)


def require(name: str, value: int, minimum: int) -> int:
    """The value; `ConfigurationError` if it is below its bound."""
    if value < minimum:
        raise ConfigurationError(f"{name} must be at least {minimum}, got {value}")
    return value
