"""Settings of a whole job but checkpoints (Flink docs, "Execution Configuration")."""

from __future__ import annotations

from typing import Any

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.time.amounts import Duration

__all__ = ["ExecutionConfig"]


class ExecutionConfig:
    """Settings of a job. All times in milliseconds.

    Parallelism, max parallelism, watermark interval and global parameters live in the
    configuration it was made with. What tunes Flink's JVM (closure cleaner, generic types, object
    reuse, snapshot compression, task cancellation) is kept and returned, and changes nothing:
    records are never copied between chained operators, and epochs end by themselves.

    Example:
        >>> ExecutionConfig().set_parallelism(4).get_parallelism()
        4
    """

    PARALLELISM_DEFAULT = -1
    """As a parallelism: the configured default."""
    PARALLELISM_UNKNOWN = -2
    """As a parallelism: leave it as it is."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration
        self._closure_cleaner = True
        self._generic_types = True
        self._auto_uids = True
        self._object_reuse = False
        self._snapshot_compression = False
        self._latency_tracking_interval = 0
        self._cancellation_interval = 30_000
        self._cancellation_timeout = 180_000

    def get_parallelism(self) -> int:
        """Parallelism of operators that set none."""
        return self._configuration.get(options.PARALLELISM)

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the parallelism of operators that set none.

        Raises:
            ConfigurationError: it is below 1 and not one of the two constants.
        """
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.remove_config(options.PARALLELISM.key)
        elif parallelism != self.PARALLELISM_UNKNOWN:
            self._configuration.set(options.PARALLELISM, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups."""
        return self._configuration.get(options.MAX_PARALLELISM)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups: the highest parallelism state can be rescaled to."""
        self._configuration.set(options.MAX_PARALLELISM, max_parallelism)
        return self

    def get_auto_watermark_interval(self) -> int:
        """What was set; without effect, for generators are asked after every batch."""
        return self._configuration.get(options.AUTO_WATERMARK_INTERVAL).to_millis()

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Note an interval in milliseconds; without effect, for generators are asked after every
        batch."""
        self._configuration.set(options.AUTO_WATERMARK_INTERVAL, Duration.of_millis(interval))
        return self

    def get_global_job_parameters(self) -> dict[str, str]:
        """Parameters of your own."""
        parameters = self._configuration.get(options.GLOBAL_JOB_PARAMETERS)
        return dict(parameters)

    def set_global_job_parameters(
        self, global_job_parameters_dict: dict[str, Any]
    ) -> ExecutionConfig:
        """Set parameters of your own; values become text."""
        texts = {str(key): str(value) for key, value in global_job_parameters_dict.items()}
        self._configuration.set(options.GLOBAL_JOB_PARAMETERS, texts)
        return self

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether operators may go without a uid of their own."""
        return self._auto_uids

    def enable_auto_generated_uids(self) -> None:
        """Let operators go without a uid of their own."""
        self._auto_uids = True

    def disable_auto_generated_uids(self) -> None:
        """Demand a uid of every operator, so that every savepoint fits the next program."""
        self._auto_uids = False

    def get_latency_tracking_interval(self) -> int:
        """How often latency is measured; 0: never."""
        return self._latency_tracking_interval

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Kept and returned only."""
        self._latency_tracking_interval = interval
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        """What was set."""
        return self._closure_cleaner

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Kept and returned only."""
        self._closure_cleaner = True
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Kept and returned only."""
        self._closure_cleaner = False
        return self

    def has_generic_types_disabled(self) -> bool:
        """What was set."""
        return not self._generic_types

    def enable_generic_types(self) -> None:
        """Kept and returned only."""
        self._generic_types = True

    def disable_generic_types(self) -> None:
        """Kept and returned only."""
        self._generic_types = False

    def is_object_reuse_enabled(self) -> bool:
        """What was set."""
        return self._object_reuse

    def enable_object_reuse(self) -> ExecutionConfig:
        """Kept and returned only: records are never copied between chained operators."""
        self._object_reuse = True
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        """Kept and returned only: records are never copied between chained operators."""
        self._object_reuse = False
        return self

    def is_use_snapshot_compression(self) -> bool:
        """What was set."""
        return self._snapshot_compression

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Kept and returned only."""
        self._snapshot_compression = use_snapshot_compression
        return self

    def get_task_cancellation_interval(self) -> int:
        """What was set."""
        return self._cancellation_interval

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Kept and returned only."""
        self._cancellation_interval = interval
        return self

    def get_task_cancellation_timeout(self) -> int:
        """What was set."""
        return self._cancellation_timeout

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Kept and returned only."""
        self._cancellation_timeout = timeout
        return self
